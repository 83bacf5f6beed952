/** Reads a request for edits as a form: images are files, all other fields are texts. */
import { isUtf8 } from 'node:buffer'
import { refusal } from '../core/json/fields.ts'
import type { Fields } from '../core/json/value.ts'
import type { FormLimits, ParsedRequest } from '../core/request.ts'
import { FieldRules, fieldName, isFile, isImage, isSourceImage, readText } from './fields.ts'
import { multipartType, newBoundary, readBoundary } from './form/boundary.ts'
import { type Part, parseForm } from './form/parse.ts'
import { type Field, writeForm } from './form/write.ts'
import { readHead } from './head.ts'
import { checkImage, typeOfBytes } from './image-type.ts'
import type { EditForm } from './own.ts'

/** Throws GatewayError naming the field. */
export function parseEditForm(
  body: Buffer,
  contentType: string,
  limits: FormLimits,
): ParsedRequest<EditForm> {
  const parts = parseForm(body, readBoundary(contentType), limits.maxParts)
  const images = checkFields(parts, body, limits)
  const boundary = newBoundary()
  const own: EditForm = { kind: 'form', parts, boundary }
  const head = readHead(textsOf(body, own), images)
  return { head, body, contentType: multipartType(boundary), headers: {}, own }
}

/** The form with its new boundary and another model. Copies files once. */
export function spliceForm(body: Buffer, { parts, boundary }: EditForm, model: string): Buffer {
  const fields = parts.map(({ start, end, ...head }): Field => {
    return { ...head, content: head.name === 'model' ? model : body.subarray(start, end) }
  })
  return writeForm(fields, boundary)
}

/** The texts by name, with numbers and booleans converted; the last one of a repeated name. */
export function textsOf(body: Buffer, { parts }: EditForm): Fields {
  const texts = parts.filter((part) => !isFile(part))
  return Object.fromEntries(
    texts.map(({ name, start, end }) => [name, readText(name, body.toString('utf8', start, end))]),
  )
}

/** The images to edit, the mask, and the names of other files. */
export function filesOf(
  body: Buffer,
  { parts }: EditForm,
): { images: Buffer[]; mask?: Buffer; others: string[] } {
  const files = parts.filter(isFile)
  const bytes = ({ start, end }: Part) => body.subarray(start, end)
  const mask = files.find(({ name }) => name === 'mask')
  const others = files.filter((part) => !isSourceImage(part) && part !== mask).map(({ name }) => name)
  return { images: files.filter(isSourceImage).map(bytes), ...(mask && { mask: bytes(mask) }), others }
}

/** Returns the number of images to edit. */
function checkFields(parts: readonly Part[], body: Buffer, limits: FormLimits): number {
  const rules = new FieldRules(limits)
  for (const part of parts) {
    rules.begin(part)
    const bytes = body.subarray(part.start, part.end)
    rules.checkSize(part, bytes.length)
    if (isImage(part)) checkImage(part.name, typeOfBytes(bytes))
    else if (!isFile(part) && !isUtf8(bytes)) throw refusal(fieldName(part.name), 'must be valid UTF-8')
  }
  rules.end()
  return rules.images
}
