/** Classifies the fields of a form and limits them. */
import { GatewayError } from '../../errors.ts'
import { refusal } from '../core/json/fields.ts'
import type { FormLimits } from '../core/request.ts'
import type { PartHead } from './form/part-head.ts'
import { READ_FIELDS } from './head.ts'
import { MAX_IMAGES } from './image-type.ts'

/** SDKs write a list as `image[]`, some clients as `image[0]` or by repeating `image`. */
const IMAGE = /^image(?:\[\d{0,3}\])?$/
const OTHER_IMAGES = ['mask', 'markup', 'markup[]']
const READ: readonly string[] = READ_FIELDS
const SINGLE = [...READ, 'mask']
const NUMBERS = ['n', 'partial_images', 'output_compression']

export function isSourceImage({ name }: PartHead): boolean {
  return IMAGE.test(name)
}

/** An image to edit, or one that guides the edit. */
export function isImage(part: PartHead): boolean {
  return isSourceImage(part) || OTHER_IMAGES.includes(part.name)
}

export function isFile(part: PartHead): boolean {
  return part.filename !== undefined || isImage(part)
}

/** True for a text that the gateway reads. */
function isRead({ name }: PartHead): boolean {
  return READ.includes(name)
}

/** False for `quality`: where it is unknown, the price is that of the most expensive one. */
export function mustComeBeforeFiles(part: PartHead): boolean {
  return isRead(part) && part.name !== 'quality'
}

/** Checks the parts of a form in order. */
export class FieldRules {
  /** The number of images to edit. */
  images = 0
  #files = 0
  readonly #limits: FormLimits
  readonly #seen = new Set<string>()

  constructor(limits: FormLimits) {
    this.#limits = limits
  }

  /** Throws GatewayError naming the field. */
  begin(part: PartHead): void {
    const { name } = part
    if (SINGLE.includes(name)) {
      if (this.#seen.has(name)) throw refusal(name, 'appears twice in the form')
      this.#seen.add(name)
      if (isRead(part) && part.filename !== undefined) throw refusal(name, 'must be a text, not a file')
    }
    if (isFile(part) && ++this.#files > this.#limits.maxFiles) {
      throw refusal(fieldName(name), `is one file too many: a form may have ${this.#limits.maxFiles}`)
    }
    if (isSourceImage(part) && ++this.images > MAX_IMAGES) {
      throw refusal('image', `must be at most ${MAX_IMAGES} images`)
    }
  }

  /** `bytes`: the size of the part's content so far. Throws GatewayError naming the field. */
  checkSize(part: PartHead, bytes: number): void {
    const max = isFile(part) ? this.#limits.maxFileBytes : this.#limits.maxFieldBytes
    if (bytes > max) throw tooManyBytes(fieldName(part.name), max)
  }

  /** Throws GatewayError for a form without an image. */
  end(): void {
    if (this.images === 0) throw refusal('image', 'must be an image')
  }
}

/** The name of a field in error messages. A name that could contain a client's data is replaced. */
export function fieldName(name: string): string {
  return /^\w{1,64}$/.test(name) || IMAGE.test(name) || OTHER_IMAGES.includes(name)
    ? name
    : 'A field of the form'
}

export function tooManyBytes(field: string, max: number): GatewayError {
  return new GatewayError('request_too_large', `${field} must have at most ${max} bytes.`, { param: field })
}

/** Converts numbers and booleans. */
export function readText(name: string, text: string): unknown {
  if (NUMBERS.includes(name)) return /^\d{1,4}$/.test(text) ? Number(text) : text
  if (name !== 'stream') return text
  return text === 'true' ? true : text === 'false' ? false : text
}
