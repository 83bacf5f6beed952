/** Reads a request for images as the neutral form: the user's prompt, and the tool of responses that makes images. */
import { GatewayError } from '../../../../errors.ts'
import { bodyOf } from '../../../core/json/body-value.ts'
import { refusal } from '../../../core/json/fields.ts'
import { type Fields, isRecord, isText, listOf, textOf } from '../../../core/json/value.ts'
import { dataUrl, parseDataUrl } from '../../../core/neutral/media.ts'
import type { ImagePart, Media, ModelRequest } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { filesOf, textsOf } from '../../edit-form.ts'
import { typeOfBytes } from '../../image-type.ts'
import type { ImagesOwn } from '../../own.ts'
import type * as wire from '../../wire.ts'
import { EDIT_OPTIONS } from './encode-request.ts'

/** Fields that the neutral form contains. */
const TYPED = [
  'model',
  'prompt',
  'n',
  'stream',
  'partial_images',
  'user',
  'safety_identifier',
  'images',
  'mask',
  ...EDIT_OPTIONS,
]
const TOOL = 'image_generation'

/** Throws GatewayError unsupported_parameter for more than one image: a call of the tool makes one. */
export function decodeRequest(request: ParsedRequest<ImagesOwn>): ModelRequest {
  const { head } = request
  const { value, images, mask, others } = read(request)
  if ((head.images ?? 1) > 1) {
    throw new GatewayError('unsupported_parameter', 'n must be 1 with this model.', { param: 'n' })
  }
  const user = value.safety_identifier ?? value.user
  const fields = Object.fromEntries([
    ...Object.entries(value).filter(([name, given]) => isLost(name, given)),
    ...others.map((name) => [name, true]),
  ])
  return {
    model: head.model,
    stream: head.stream,
    turns: [{ role: 'user', parts: [{ type: 'text', text: textOf(value.prompt) }, ...images] }],
    tools: [{ type: 'hosted', dialect: 'responses', name: TOOL, tool: toolOf(value, head.stream, mask) }],
    toolChoice: { type: 'hosted', dialect: 'responses', name: TOOL, choice: { type: TOOL } },
    ...(isText(user) && { user }),
    ...(Object.keys(fields).length > 0 && { ext: { dialect: 'images', at: '', fields } }),
  }
}

interface RequestContent {
  value: Fields
  images: ImagePart[]
  mask?: Media
  /** Names of fields with other files. */
  others: string[]
}

function read(request: ParsedRequest<ImagesOwn>): RequestContent {
  const { body, own } = request
  if (own.kind === 'form') {
    const { images, mask, others } = filesOf(body, own)
    const given = {
      value: textsOf(body, own),
      images: images.map((bytes) => imageOf(mediaOf(bytes))),
      others,
    }
    return mask === undefined ? given : { ...given, mask: mediaOf(mask) }
  }
  const value = bodyOf(request)
  const list = listOf(value.images)
  const given = { value, images: list.map((item, i) => imageOf(sourceOf(item, `images[${i}]`))), others: [] }
  if (value.mask === undefined || value.mask === null) return given
  return { ...given, mask: sourceOf(value.mask, 'mask') }
}

function imageOf(source: Media): ImagePart {
  return { type: 'image', source }
}

function mediaOf(bytes: Buffer): Media {
  const mediaType = typeOfBytes(bytes)?.mediaType ?? 'image/png'
  return { kind: 'data', mediaType, base64: bytes.toString('base64') }
}

function sourceOf(image: unknown, path: string): Media {
  const { image_url: url, file_id: id } = isRecord(image) ? image : {}
  if (typeof url !== 'string') return { kind: 'id', id: String(id), vendor: 'openai' }
  if (!/^data:/i.test(url)) return { kind: 'url', url }
  const media = parseDataUrl(url)
  if (media === undefined) throw refusal(`${path}.image_url`, 'must be a valid URL')
  return media
}

function toolOf(value: Fields, stream: boolean, mask: Media | undefined): wire.ImageTool {
  const tool: wire.ImageTool = { type: TOOL }
  for (const name of EDIT_OPTIONS) {
    if (value[name] !== undefined && value[name] !== null) tool[name] = value[name]
  }
  const partials = value.partial_images
  if (stream && typeof partials === 'number' && partials > 0) tool.partial_images = partials
  if (mask) tool.input_image_mask = maskOf(mask)
  return tool
}

function maskOf(mask: Media): wire.Mask {
  if (mask.kind === 'id') return { file_id: mask.id }
  return { image_url: mask.kind === 'url' ? mask.url : dataUrl(mask) }
}

/** The tool always returns base64, so a request for it is not a loss. */
function isLost(name: string, given: unknown): boolean {
  if (given === undefined || given === null || TYPED.includes(name)) return false
  return name !== 'response_format' || given !== 'b64_json'
}
