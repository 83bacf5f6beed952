/** A request for edits as a form: pictures are files, everything else is text. */
import { isUtf8 } from 'node:buffer'
import type { ParsedRequest } from '../dialect.ts'
import { refusal } from '../json/fields.ts'
import type { Fields } from '../json/value.ts'
import { multipartType, newBoundary, readBoundary } from './form/boundary.ts'
import { type Part, parseForm } from './form/parse.ts'
import { type Field, writeForm } from './form/write.ts'
import { READ_FIELDS, readHead } from './head.ts'
import { checkPicture, MAX_PICTURES, typeOfBytes } from './pictures.ts'

/** The form of a request, and how it is sent on. */
interface EditForm {
  parts: Part[]
  boundary: string
}

/** SDKs write a list as `image[]`, some clients as `image[0]` or by repeating `image`. */
const IMAGE = /^image(?:\[\d{0,3}\])?$/
const OTHER_FILES = ['mask', 'markup', 'markup[]']
const SINGLE: readonly string[] = [...READ_FIELDS, 'mask']
const NUMBERS = ['n', 'partial_images', 'output_compression']

const FORMS = new WeakMap<Buffer, EditForm>()

/** Throws GatewayError naming the field. */
export function parseEditForm(body: Buffer, contentType: string): ParsedRequest {
  const parts = parseForm(body, readBoundary(contentType))
  checkFields(parts, body)
  const boundary = newBoundary()
  const form = { parts, boundary }
  FORMS.set(body, form)
  const head = readHead(textsOf(body), parts.filter(isImage).length)
  return { head, body, contentType: multipartType(boundary), headers: {} }
}

/** The form under its new boundary and with another model; files are copied once. */
export function spliceForm({ body }: ParsedRequest, model: string): Buffer {
  const { parts, boundary } = formOf(body)
  const fields = parts.map(({ start, end, ...head }): Field => {
    return { ...head, content: head.name === 'model' ? model : body.subarray(start, end) }
  })
  return writeForm(fields, boundary)
}

/** The texts by their names, numbers and truth values read as such; of one that is repeated the last. */
export function textsOf(body: Buffer): Fields {
  const texts = formOf(body).parts.filter((part) => !isFile(part))
  return Object.fromEntries(
    texts.map(({ name, start, end }) => [name, readText(name, body.toString('utf8', start, end))]),
  )
}

/** The pictures to edit, the mask and whatever else is a file. */
export function filesOf(body: Buffer): { images: Buffer[]; mask?: Buffer; others: string[] } {
  const files = formOf(body).parts.filter(isFile)
  const bytes = ({ start, end }: Part) => body.subarray(start, end)
  const mask = files.find(({ name }) => name === 'mask')
  const others = files.filter((part) => !isImage(part) && part !== mask).map(({ name }) => name)
  return { images: files.filter(isImage).map(bytes), ...(mask && { mask: bytes(mask) }), others }
}

function formOf(body: Buffer): EditForm {
  const form = FORMS.get(body)
  if (form === undefined) throw new TypeError('the request is no form')
  return form
}

function checkFields(parts: readonly Part[], body: Buffer): void {
  const seen = new Set<string>()
  let pictures = 0
  for (const part of parts) {
    const { name, start, end } = part
    if (SINGLE.includes(name)) {
      if (seen.has(name)) throw refusal(name, 'stands twice in the form')
      seen.add(name)
      if (name !== 'mask' && part.filename !== undefined) throw refusal(name, 'must be a text, not a file')
    }
    const bytes = body.subarray(start, end)
    if (isImage(part) && ++pictures > MAX_PICTURES) {
      throw refusal('image', `must be at most ${MAX_PICTURES} pictures`)
    }
    if (isImage(part) || OTHER_FILES.includes(name)) {
      checkPicture(name, typeOfBytes(bytes), bytes.length)
    } else if (!isFile(part) && !isUtf8(bytes)) {
      throw refusal(fieldName(name), 'must be valid UTF-8')
    }
  }
  if (pictures === 0) throw refusal('image', 'must be a picture')
}

function isImage({ name }: Part): boolean {
  return IMAGE.test(name)
}

function isFile(part: Part): boolean {
  return part.filename !== undefined || isImage(part) || OTHER_FILES.includes(part.name)
}

/** Names of our own, and nothing else of what a client may have written. */
function fieldName(name: string): string {
  return /^\w{1,64}$/.test(name) ? name : 'A text field of the form'
}

function readText(name: string, text: string): unknown {
  if (NUMBERS.includes(name)) return /^\d{1,4}$/.test(text) ? Number(text) : text
  if (name !== 'stream') return text
  return text === 'true' ? true : text === 'false' ? false : text
}
