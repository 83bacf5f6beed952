import type { Soon } from '../../kit/soon.ts'

/** Collects the bytes of an answer. A short one has often arrived before anyone waits for it. */
export class WholeAnswer {
  #chunks: Buffer[] = []
  #size = 0
  #ended: Soon<Buffer> | undefined
  #waiting: { resolve(bytes: Buffer): void; reject(error: Error): void } | undefined

  /** Bytes so far. */
  add(chunk: Buffer): number {
    this.#size += chunk.length
    this.#chunks.push(chunk)
    return this.#size
  }

  end(): void {
    const [only, second] = this.#chunks
    const bytes = only !== undefined && second === undefined ? only : Buffer.concat(this.#chunks, this.#size)
    if (this.#waiting === undefined) this.#ended = bytes
    else this.#waiting.resolve(bytes)
  }

  fail(error: Error): void {
    this.#chunks = []
    if (this.#waiting === undefined) this.#ended = Promise.reject(error)
    else this.#waiting.reject(error)
  }

  bytes(): Soon<Buffer> {
    return (
      this.#ended ??
      new Promise((resolve, reject) => {
        this.#waiting = { resolve, reject }
      })
    )
  }
}
