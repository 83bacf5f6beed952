/** Objects with larger bodies would be felt in the memory of an idle process. */
const MOST_BYTES = 65_536

/**
 * Keeps the objects of the last request of each kind alive, without a use for them. A collection throws compiled code away when no
 * object of a kind for which it was compiled is alive, and to compile it again costs more than the requests of the next second
 * (decision 24).
 */
export class Keepsake {
  readonly #objects = new Map<string, unknown>()

  /** `kind`: requests of one kind run through the same code. `bytes`: of the bodies among `objects`. */
  keep(kind: string, bytes: number, objects: unknown): void {
    if (bytes <= MOST_BYTES) this.#objects.set(kind, objects)
  }
}
