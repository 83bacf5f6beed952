import { type Fields, isRecord, tryParse } from './value.ts'

/** The parsed body of a request, from its arrival until its first attempt. */
export class BodyValue {
  readonly #bytes: Buffer
  #value: Fields | undefined

  /** `value`: of the bytes. Absent: they are parsed when it is needed. */
  constructor(bytes: Buffer, value?: Fields) {
    this.#bytes = bytes
    this.#value = value
  }

  /** Not to be changed. Parses the bytes again after drop(). */
  get(): Fields {
    const value = this.#value ?? tryParse(this.#bytes.toString('utf8'))
    if (!isRecord(value)) throw new TypeError('the body is not a JSON object')
    return value
  }

  /** Frees the value. Without this, a large body is in memory twice while its answer streams. */
  drop(): void {
    this.#value = undefined
  }
}

/** The body of a request that is not a form. */
export function bodyOf({ value }: { value?: BodyValue }): Fields {
  if (value === undefined) throw new TypeError('the body is a form')
  return value.get()
}
