/**
 * Keeps equal lists once, if they come in a row. For lists that a hundred thousand objects have and that are mostly the
 * same, such as the conditions of ApiKeys.
 */
export class SharedList<Item extends object> {
  #latest: readonly Item[] = []

  /** The list before this one if that was equal, else this one. Items are compared field by field. */
  share(list: readonly Item[]): readonly Item[] {
    const latest = this.#latest
    const isKnown = latest.length === list.length && list.every((item, i) => isEqual(item, latest[i] ?? {}))
    if (!isKnown) this.#latest = list
    return this.#latest
  }
}

function isEqual(a: object, b: object): boolean {
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && Reflect.get(a, name) === Reflect.get(b, name))
  )
}
