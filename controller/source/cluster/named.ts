import { Multimap } from '../../../kit/multimap.ts'

/** Which resources refer to which Secrets, and the reverse. */
export class NamedSecrets {
  readonly #names = new Map<string, ReadonlySet<string>>()
  readonly #namers = new Multimap<string, string>()

  has(secret: string): boolean {
    return this.#namers.has(secret)
  }

  /** All Secrets that a resource refers to. */
  secrets(): Iterable<string> {
    return this.#namers.keys()
  }

  /** Ids of the resources that refer to a Secret. */
  namersOf(secret: string): Iterable<string> {
    return this.#namers.get(secret)
  }

  /** Updates the references of a resource, and returns the Secrets whose references were added or removed. */
  set(id: string, names: ReadonlySet<string>): string[] {
    const before = this.#names.get(id) ?? NONE
    const changed = [
      ...[...before].filter((name) => !names.has(name)),
      ...[...names].filter((name) => !before.has(name)),
    ]
    for (const name of before) this.#namers.remove(name, id)
    for (const name of names) this.#namers.add(name, id)
    if (names.size > 0) this.#names.set(id, names)
    else this.#names.delete(id)
    return changed
  }
}

const NONE: ReadonlySet<string> = new Set()
