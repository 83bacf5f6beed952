/** Reads requests for images. It checks the fields that the gateway uses; the upstream checks the others. */
import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../../errors.ts'
import type { RequestEdits } from '../core/byte-lane.ts'
import { type JsonObject, parseJsonObject } from '../core/json/body.ts'
import { BodyValue } from '../core/json/body-value.ts'
import { refusal } from '../core/json/fields.ts'
import { modelSpan, splice } from '../core/json/model-splice.ts'
import type { SentBody } from '../core/json/splice.ts'
import { isRecord, isText } from '../core/json/value.ts'
import { decodedLength } from '../core/json/weigh.ts'
import type { FormLimits, JsonLimits, ParsedRequest, ParsedUpload } from '../core/request.ts'
import { parseEditForm, spliceForm } from './edit-form.ts'
import { tooManyBytes } from './fields.ts'
import { isMultipart } from './form/boundary.ts'
import { READ_FIELDS, readHead } from './head.ts'
import { checkImage, MAX_IMAGE_BYTES, MAX_IMAGES, typeOf } from './image-type.ts'
import type { ImagesOwn } from './own.ts'
import { parseEditUpload, spliceBeginning } from './upload/upload.ts'

const GENERATION_KEYS: ReadonlySet<string> = new Set(READ_FIELDS)
const EDIT_KEYS: ReadonlySet<string> = new Set([...READ_FIELDS, 'images', 'mask'])
/** Characters before the comma of a data URL. */
const MAX_URL_HEADER = 1024

/** Reads a request to `/images/generations`. Throws GatewayError naming the field. */
export function parseGeneration(body: Buffer, limits: JsonLimits): ParsedRequest<ImagesOwn> {
  return parsedJson(body, parseJsonObject(body, limits, GENERATION_KEYS), 0)
}

/** Reads a request to `/images/edits`: a form, or JSON with images as URLs. Throws GatewayError naming the field. */
export function parseEdit(
  body: Buffer,
  limits: JsonLimits,
  headers: IncomingHttpHeaders,
): ParsedRequest<ImagesOwn> {
  const contentType = headers['content-type']
  if (isMultipart(contentType)) {
    if (limits.form === undefined) throw new GatewayError('unsupported_media_type', 'The body must be JSON.')
    return parseEditForm(body, contentType, limits.form)
  }
  const parsed = parseJsonObject(body, limits, EDIT_KEYS)
  const { value } = parsed
  const images = checkImageList(value.images)
  if (value.mask !== undefined && value.mask !== null) checkImageField(value.mask, 'mask')
  return parsedJson(body, parsed, images)
}

function parsedJson(body: Buffer, { value, members }: JsonObject, images: number): ParsedRequest<ImagesOwn> {
  const head = readHead(value, images)
  const own: ImagesOwn = { kind: 'json', ...modelSpan(members) }
  return { head, body, value: new BodyValue(body, value), headers: {}, own }
}

/** Reads a form for `/images/edits` that is too large for memory. Throws GatewayError naming the field. */
export function parseUpload(
  prefix: Buffer,
  limits: FormLimits,
  { 'content-type': type }: IncomingHttpHeaders,
): ParsedUpload<ImagesOwn> {
  if (!isMultipart(type))
    throw new GatewayError('unsupported_media_type', 'Only a multipart form may be this large.')
  return parseEditUpload(prefix, type, limits)
}

/** The request with another model. Forms always get a new boundary. */
export function spliceRequest(request: ParsedRequest<ImagesOwn>, edits: RequestEdits): SentBody {
  const { own } = request
  switch (own.kind) {
    case 'json':
      return splice({ ...request, own }, edits)
    case 'form':
      return spliceForm(request.body, own, edits.model)
    case 'upload':
      return spliceBeginning(own, edits.model)
  }
}

/** Returns the number of images. */
function checkImageList(images: unknown): number {
  if (!Array.isArray(images) || images.length === 0 || images.length > MAX_IMAGES) {
    throw refusal('images', `must be an array of 1 to ${MAX_IMAGES} images`)
  }
  images.forEach((image: unknown, i) => {
    checkImageField(image, `images[${i}]`)
  })
  return images.length
}

function checkImageField(image: unknown, path: string): void {
  if (!isRecord(image)) throw refusal(path, 'must be an object')
  const { image_url: url, file_id: id } = image
  if (isText(id) && (url === undefined || url === null)) return
  if (!isText(url)) throw refusal(`${path}.image_url`, 'must be a non-empty string')
  if (!/^data:/i.test(url)) return
  const comma = url.slice(0, MAX_URL_HEADER).indexOf(',')
  if (comma < 0 || !/;\s*base64\s*$/i.test(url.slice(0, comma))) {
    throw refusal(`${path}.image_url`, 'must be a valid URL')
  }
  checkImage(`${path}.image_url`, typeOf(url.slice(comma + 1, comma + 64)))
  if (decodedLength(url) > MAX_IMAGE_BYTES) throw tooManyBytes(`${path}.image_url`, MAX_IMAGE_BYTES)
}
