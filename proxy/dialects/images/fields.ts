/** What the fields of a form are, and which may be in it. */
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

/** A picture to edit. */
export function isImage({ name }: PartHead): boolean {
  return IMAGE.test(name)
}

/** A picture to edit, or one that says how. */
export function isPicture(part: PartHead): boolean {
  return isImage(part) || OTHER_PICTURES.includes(part.name)
}

export function isFile(part: PartHead): boolean {
  return part.filename !== undefined || isPicture(part)
}

/** A text on which the gateway acts. */
export function isRead({ name }: PartHead): boolean {
  return READ.includes(name)
}

/** Which parts a form may have, told one after the other. */
export class FieldRules {
  /** Of those to edit. */
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
      if (this.#seen.has(name)) throw refusal(name, 'stands twice in the form')
      this.#seen.add(name)
      if (isRead(part) && part.filename !== undefined) throw refusal(name, 'must be a text, not a file')
    }
    if (isFile(part) && ++this.#files > this.#limits.maxFiles) {
      throw refusal(fieldName(name), `is one file too many: a form may have ${this.#limits.maxFiles}`)
    }
    if (isImage(part) && ++this.pictures > MAX_PICTURES) {
      throw refusal('image', `must be at most ${MAX_PICTURES} pictures`)
    }
  }

  /** `bytes`: what of the part's content has come. Throws GatewayError naming the field. */
  checkSize(part: PartHead, bytes: number): void {
    const max = isFile(part) ? this.#limits.maxFileBytes : this.#limits.maxFieldBytes
    if (bytes > max) throw tooManyBytes(fieldName(part.name), max)
  }

  /** Throws GatewayError for a form that lacks a picture. */
  end(): void {
    if (this.pictures === 0) throw refusal('image', 'must be a picture')
  }
}

/** A name of our own, or one that says nothing odd; nothing else of what a client may have written. */
export function fieldName(name: string): string {
  return /^\w{1,64}$/.test(name) || IMAGE.test(name) || OTHER_PICTURES.includes(name)
    ? name
    : 'A field of the form'
}

export function tooManyBytes(field: string, max: number): GatewayError {
  return new GatewayError('request_too_large', `${field} must have at most ${max} bytes.`, { param: field })
}

/** Numbers and truth values as such. */
export function readText(name: string, text: string): unknown {
  if (NUMBERS.includes(name)) return /^\d{1,4}$/.test(text) ? Number(text) : text
  if (name !== 'stream') return text
  return text === 'true' ? true : text === 'false' ? false : text
}
