interface Item {
  id: string
  at: number
  /** Position in the heap. */
  index: number
}

/**
 * Ids ordered by the time at which they are due, then by id, like a sorted set in Redis: a binary heap with an index, so
 * that moving or removing an id costs O(log n).
 */
export class Schedule {
  readonly #heap: Item[] = []
  readonly #items = new Map<string, Item>()

  get size(): number {
    return this.#items.size
  }

  /** When the id is due; undefined if it is not scheduled. */
  at(id: string): number | undefined {
    return this.#items.get(id)?.at
  }

  /** Schedules an id, or moves it. */
  set(id: string, at: number): void {
    this.delete(id)
    const item = { id, at, index: this.#heap.length }
    this.#items.set(id, item)
    this.#heap.push(item)
    this.#rise(item)
  }

  delete(id: string): void {
    const item = this.#items.get(id)
    const last = this.#heap.at(-1)
    if (item === undefined || last === undefined) return
    this.#items.delete(id)
    this.#heap.pop()
    if (last === item) return
    this.#place(last, item.index)
    this.#rise(last)
    this.#sink(last)
  }

  /** The first `max` ids due at `now` or before, in order, in O(max log max) regardless of their number. */
  due(now: number, max: number): string[] {
    let next = this.#heap[0]
    if (next === undefined || next.at > now) return []
    const due: string[] = []
    const frontier = new Schedule()
    while (next !== undefined && next.at <= now && due.length < max) {
      due.push(next.id)
      for (const child of this.#children(next)) frontier.set(child.id, child.at)
      const first = frontier.#heap[0]
      next = first && this.#items.get(first.id)
      if (next !== undefined) frontier.delete(next.id)
    }
    return due
  }

  #rise(item: Item): void {
    while (item.index > 0) {
      const parent = this.#heap[(item.index - 1) >> 1]
      if (parent === undefined || isBefore(parent, item)) return
      this.#swap(parent, item)
    }
  }

  #sink(item: Item): void {
    for (;;) {
      const left = this.#heap[2 * item.index + 1]
      const right = this.#heap[2 * item.index + 2]
      const child = left && right && isBefore(right, left) ? right : left
      if (child === undefined || isBefore(item, child)) return
      this.#swap(item, child)
    }
  }

  #children(item: Item): Item[] {
    return this.#heap.slice(2 * item.index + 1, 2 * item.index + 3)
  }

  #swap(a: Item, b: Item): void {
    const index = a.index
    this.#place(a, b.index)
    this.#place(b, index)
  }

  #place(item: Item, index: number): void {
    this.#heap[index] = item
    item.index = index
  }
}

function isBefore(a: Item, b: Item): boolean {
  return a.at < b.at || (a.at === b.at && a.id < b.id)
}
