/** Writes the last turn of a conversation as a request for images. */
import type { EncodedRequest, EncodeTarget } from '../../../core/codec.ts'
import type { Losses } from '../../../core/neutral/losses.ts'
import { dataUrl } from '../../../core/neutral/media.ts'
import type { ImagePart, Media, ModelRequest, Tool, UserTurn } from '../../../core/neutral/types.ts'
import { shortUser } from '../../../openai/fields.ts'
import { multipartType, newBoundary } from '../../form/boundary.ts'
import { type Field, writeForm } from '../../form/write.ts'
import { MAX_IMAGES, typeOf } from '../../image-type.ts'
import type * as wire from '../../wire.ts'
import { loseSettings, unsupported } from './lose.ts'

/** Fields that the tool of responses has under the same name. */
const OPTIONS: wire.Option[] = [
  'size',
  'quality',
  'background',
  'output_format',
  'output_compression',
  'moderation',
]
export const EDIT_OPTIONS: wire.Option[] = [...OPTIONS, 'input_fidelity']
/** Fields of the tool that a request without them implies. */
const IMPLIED = ['type', 'action']
const EDITS = '/images/edits'

type File = Extract<Media, { kind: 'data' }>

/**
 * Images in the user's last turn are edited: as a form, or as JSON if one of them is a URL. Throws GatewayError
 * unsupported_parameter for a conversation that does not end with a user's text, and for images that cannot be edited.
 */
export function encodeRequest(request: ModelRequest, { model, losses }: EncodeTarget): EncodedRequest {
  const turn = lastTurn(request)
  const prompt = turn?.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n') ?? ''
  if (turn === undefined || prompt.trim() === '')
    throw unsupported(losses, 'turns', 'must end in a text with this model')
  const images = turn.parts.filter((part) => part.type === 'image')
  loseSettings(request, turn, losses)
  const start: wire.Request = { model, prompt: prompt.toWellFormed() }
  const fields = { ...start, ...toolFields(request, images.length > 0 ? EDIT_OPTIONS : OPTIONS, losses) }
  if (request.user !== undefined) fields.user = shortUser(request.user)
  if (images.length === 0) return { body: fields }
  const sources = images.map((image) => checked(image, losses))
  if (sources.length > MAX_IMAGES) {
    throw unsupported(losses, 'image', `must be at most ${MAX_IMAGES} images with this model`)
  }
  const files = sources.filter((source) => source.kind === 'data')
  if (files.length === sources.length) return { body: {}, form: formOf(fields, files), path: EDITS }
  const urls = sources.map((source): wire.ImageUrl => {
    return { image_url: source.kind === 'url' ? source.url : dataUrl(source) }
  })
  return { body: { ...fields, images: urls } satisfies wire.JsonEdit, path: EDITS }
}

/** The last turn, if it is the user's. */
function lastTurn({ turns }: ModelRequest): UserTurn | undefined {
  const last = turns.at(-1)
  return last?.role === 'user' ? last : undefined
}

function toolFields(request: ModelRequest, names: readonly wire.Option[], losses: Losses): wire.Options {
  const tool = request.tools.find(isImageTool)?.tool ?? {}
  const fields: wire.Options = {}
  for (const [name, value] of Object.entries(tool)) {
    const option = names.find((known) => known === name)
    const isPlain = typeof value === 'string' || typeof value === 'number'
    if (option !== undefined && isPlain) fields[option] = value
    else if (!IMPLIED.includes(name) && !asksForNothing(name, value)) losses.lose('tools')
  }
  return fields
}

/** True for a value that requests nothing. */
function asksForNothing(name: string, value: unknown): boolean {
  return value === null || (name === 'partial_images' && value === 0)
}

function isImageTool(tool: Tool): tool is Extract<Tool, { type: 'hosted' }> {
  return tool.type === 'hosted' && tool.dialect === 'responses' && tool.name === 'image_generation'
}

/** The image with the media type of its bytes, or its URL. */
function checked({ source }: ImagePart, losses: Losses): File | Extract<Media, { kind: 'url' }> {
  if (source.kind === 'url') return source
  const type = source.kind === 'data' ? typeOf(source.base64) : undefined
  if (source.kind !== 'data' || type === undefined) {
    throw unsupported(losses, 'image', 'must be a PNG, JPEG or WebP image with this model')
  }
  return { ...source, mediaType: type.mediaType }
}

function formOf(fields: wire.Request, files: readonly File[]): NonNullable<EncodedRequest['form']> {
  const texts = Object.entries(fields).map(([name, value]): Field => ({ name, content: String(value) }))
  const imageFields = files.map(({ base64, mediaType }, i): Field => {
    const filename = `image-${i + 1}.${typeOf(base64)?.extension ?? 'png'}`
    const name = files.length === 1 ? 'image' : 'image[]'
    return { name, filename, contentType: mediaType, content: Buffer.from(base64, 'base64') }
  })
  const boundary = newBoundary()
  return { contentType: multipartType(boundary), bytes: writeForm([...texts, ...imageFields], boundary) }
}
