/** Checks the content of a part while it arrives. */
import { refusal } from '../../core/json/fields.ts'
import { fieldName, isFile, isImage } from '../fields.ts'
import type { PartHead } from '../form/part-head.ts'
import { checkImage, SNIFFED_BYTES, typeOfBytes } from '../image-type.ts'

/** Throws GatewayError naming the field. */
export interface ContentCheck {
  push(bytes: Buffer): void
  end(): void
}

/** Undefined for other files, which are not checked. */
export function contentCheck(part: PartHead): ContentCheck | undefined {
  if (isImage(part)) return new ImageCheck(part.name)
  return isFile(part) ? undefined : new TextCheck(part.name)
}

class ImageCheck implements ContentCheck {
  readonly #name: string
  #beginning = Buffer.alloc(0)

  constructor(name: string) {
    this.#name = name
  }

  push(bytes: Buffer): void {
    if (this.#beginning.length < SNIFFED_BYTES) {
      this.#beginning = Buffer.concat([
        this.#beginning,
        bytes.subarray(0, SNIFFED_BYTES - this.#beginning.length),
      ])
    }
    if (this.#beginning.length === SNIFFED_BYTES) this.end()
  }

  end(): void {
    checkImage(this.#name, typeOfBytes(this.#beginning))
  }
}

class TextCheck implements ContentCheck {
  readonly #name: string
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })

  constructor(name: string) {
    this.#name = name
  }

  push(bytes: Buffer): void {
    this.#decode(bytes, true)
  }

  end(): void {
    this.#decode(undefined, false)
  }

  #decode(bytes: Buffer | undefined, stream: boolean): void {
    try {
      this.#decoder.decode(bytes, { stream })
    } catch {
      throw refusal(fieldName(this.#name), 'must be valid UTF-8')
    }
  }
}
