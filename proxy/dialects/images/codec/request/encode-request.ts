/** The last word of a conversation as a request for pictures. */
import { GatewayError } from '../../../../errors.ts'
import type { EncodedRequest, EncodeTarget } from '../../../core/dialect.ts'
import type { Fields } from '../../../core/json/value.ts'
import type { Losses, TypedField } from '../../../core/neutral/losses.ts'
import { dataUrl } from '../../../core/neutral/media.ts'
import type { ImagePart, Media, ModelRequest, Tool, UserTurn } from '../../../core/neutral/types.ts'
import { shortUser } from '../../../openai/fields.ts'
import { multipartType, newBoundary } from '../../form/boundary.ts'
import { type Field, writeForm } from '../../form/write.ts'
import { MAX_PICTURES, typeOf } from '../../pictures.ts'
import { loseSettings } from './lose.ts'

/** What the tool of responses calls by the same name. */
const OPTIONS = ['size', 'quality', 'background', 'output_format', 'output_compression', 'moderation']
const EDIT_OPTIONS = [...OPTIONS, 'input_fidelity']
/** Of the tool what asks for nothing that a plain request does not give. */
const SILENT = ['type', 'action']
const EDITS = '/images/edits'

type File = Extract<Media, { kind: 'data' }>

/**
 * Pictures of the user's last turn are edited: as a form, or, when one of them is elsewhere, as JSON with URLs.
 * Throws GatewayError unsupported_parameter for a conversation that ends in no text of a user, and for pictures that
 * cannot be edited.
 */
export function encodeRequest(request: ModelRequest, { model, losses }: EncodeTarget): EncodedRequest {
  const turn = lastTurn(request)
  const prompt = turn?.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n') ?? ''
  if (turn === undefined || prompt.trim() === '') throw unsupported(losses, 'turns', 'must end in a text')
  const images = turn.parts.filter((part) => part.type === 'image')
  loseSettings(request, turn, losses)
  const fields = {
    model,
    prompt: prompt.toWellFormed(),
    ...toolFields(request, images.length > 0 ? EDIT_OPTIONS : OPTIONS, losses),
    ...(request.user !== undefined && { user: shortUser(request.user) }),
  }
  if (images.length === 0) return { body: fields }
  const sources = images.map((image) => checked(image, losses))
  if (sources.length > MAX_PICTURES) {
    throw unsupported(losses, 'image', `must be at most ${MAX_PICTURES} images`)
  }
  const files = sources.filter((source) => source.kind === 'data')
  if (files.length === sources.length) return { body: {}, form: formOf(fields, files), path: EDITS }
  const urls = sources.map((source) => ({ image_url: source.kind === 'url' ? source.url : dataUrl(source) }))
  return { body: { ...fields, images: urls }, path: EDITS }
}

/** The user's, with nothing behind it. */
function lastTurn({ turns }: ModelRequest): UserTurn | undefined {
  const last = turns.at(-1)
  return last?.role === 'user' ? last : undefined
}

function toolFields(request: ModelRequest, names: readonly string[], losses: Losses): Fields {
  const tool = request.tools.find(isPictureTool)?.tool ?? {}
  const fields: Fields = {}
  for (const [name, value] of Object.entries(tool)) {
    const isPlain = typeof value === 'string' || typeof value === 'number'
    if (names.includes(name) && isPlain) fields[name] = value
    else if (!SILENT.includes(name) && !isNothing(name, value)) losses.lose('tools')
  }
  return fields
}

/** No partial pictures are made; who asks for none misses nothing. */
function isNothing(name: string, value: unknown): boolean {
  return value === null || (name === 'partial_images' && value === 0)
}

export function isPictureTool(tool: Tool): tool is Extract<Tool, { type: 'hosted' }> {
  return tool.type === 'hosted' && tool.dialect === 'responses' && tool.name === 'image_generation'
}

/** A picture with the type that its bytes have, or where it is. */
function checked({ source }: ImagePart, losses: Losses): File | Extract<Media, { kind: 'url' }> {
  if (source.kind === 'url') return source
  const type = source.kind === 'data' ? typeOf(source.base64) : undefined
  if (source.kind !== 'data' || type === undefined) {
    throw unsupported(losses, 'image', 'must be a PNG, JPEG or WebP picture')
  }
  return { ...source, mediaType: type.mediaType }
}

function formOf(fields: Fields, files: readonly File[]): NonNullable<EncodedRequest['form']> {
  const texts = Object.entries(fields).map(([name, value]): Field => ({ name, content: String(value) }))
  const pictures = files.map(({ base64, mediaType }, i): Field => {
    const filename = `image-${i + 1}.${typeOf(base64)?.extension ?? 'png'}`
    const name = files.length === 1 ? 'image' : 'image[]'
    return { name, filename, contentType: mediaType, content: Buffer.from(base64, 'base64') }
  })
  const boundary = newBoundary()
  return { contentType: multipartType(boundary), bytes: writeForm([...texts, ...pictures], boundary) }
}

export function unsupported(losses: Losses, field: TypedField, problem: string): GatewayError {
  const param = losses.name(field)
  return new GatewayError('unsupported_parameter', `${param} ${problem} with this model.`, { param })
}
