/** Classifies the fields of a form, and bounds them. */
import { GatewayError } from '../../errors.ts'
import type { FormLimits } from '../core/dialect.ts'
import { refusal } from '../core/json/fields.ts'
import type { PartHead } from './form/part-head.ts'
import { READ_FIELDS } from './head.ts'
import { MAX_PICTURES } from './pictures.ts'

/** SDKs write a list as `image[]`, some clients as `image[0]` or by repeating `image`. */
const IMAGE = /^image(?:\[\d{0,3}\])?$/
const OTHER_PICTURES = ['mask', 'markup', 'markup[]']
const READ: readonly string[] = READ_FIELDS
const SINGLE = [...READ, 'mask']
const NUMBERS = ['n', 'partial_images', 'output_compression']

/** An image to edit. */
export function isImage({ name }: PartHead): boolean {
  return IMAGE.test(name)
}

/** An image to edit, or one that shows how. */
export function isPicture(part: PartHead): boolean {
  return isImage(part) || OTHER_PICTURES.includes(part.name)
}

export function isFile(part: PartHead): boolean {
  return part.filename !== undefined || isPicture(part)
}

/** A text that the gateway reads. */
export function isRead({ name }: PartHead): boolean {
  return READ.includes(name)
}

/** Checks which parts a form may have, in their order. */
export class FieldRules {
  /** Number of images to edit. */
  pictures = 0
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
    if (isImage(part) && ++this.pictures > MAX_PICTURES) {
      throw refusal('image', `must be at most ${MAX_PICTURES} images`)
    }
  }

  /** `bytes`: size of the part's content so far. Throws GatewayError naming the field. */
  checkSize(part: PartHead, bytes: number): void {
    const max = isFile(part) ? this.#limits.maxFileBytes : this.#limits.maxFieldBytes
    if (bytes > max) throw tooManyBytes(fieldName(part.name), max)
  }

  /** Throws GatewayError for a form without an image. */
  end(): void {
    if (this.pictures === 0) throw refusal('image', 'must be an image')
  }
}

/** The name for messages: a known or harmless one. Other names of clients never get into a message. */
export function fieldName(name: string): string {
  return /^\w{1,64}$/.test(name) || IMAGE.test(name) || OTHER_PICTURES.includes(name)
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
