/** Bounds the bytes that many holders take together: beyond the bound the largest holder gives way. */

export interface Holder {
  readonly bytes: number
  /** Must lower its bytes and the pool's, or leave the pool. */
  giveWay(): void
}

export class BytePool<H extends Holder = Holder> {
  readonly #maxBytes: number
  readonly #holders = new Set<H>()
  #used = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** What all holders take, with those that cannot give way. */
  get used(): number {
    return this.#used
  }

  /** From now on the holder may have to give way. */
  add(holder: H): void {
    this.#holders.add(holder)
  }

  /** The bytes of a holder that leaves stay counted until it gives them back. */
  remove(holder: H): void {
    this.#holders.delete(holder)
  }

  /** Adds to what is used, or gives back. Evicts nothing. */
  count(bytes: number): void {
    this.#used += bytes
  }

  /**
   * Makes the largest holders give way until the bound is kept. `taker` gives way as well when no holder is larger,
   * even one that has left; then this returns.
   */
  shrink(taker?: H): void {
    while (this.#used > this.#maxBytes) {
      let largest = taker
      for (const holder of this.#holders) if (holder.bytes > (largest?.bytes ?? 0)) largest = holder
      largest?.giveWay()
      if (largest === taker) return
    }
  }
}
