/**
 * The items of a response, and which of them an event is about. Its output_index says so: upstreams leave ids empty, give
 * one to several items, or a fresh one to each event. Ids tell items apart that have one index, and find those of events
 * without an index, or with a wrong one.
 */
import { type Fields, isRecord } from '../../../core/json/value.ts'
import { textOf } from './item-read.ts'
import type { ItemReader } from './item-reader.ts'

export class Items {
  readonly all: ItemReader[] = []
  /** The last item of each key. */
  readonly #known = new Map<string, ItemReader>()
  /** The item of the last event. */
  #current: ItemReader | undefined

  add(item: ItemReader, index: unknown): void {
    item.index = typeof index === 'number' ? index : undefined
    this.all.push(item)
    for (const key of [exactKey, placeKey, idKey]) {
      const name = key(item.type, item.index, item.id)
      if (name !== undefined) this.#known.set(name, item)
    }
    this.#current = item
  }

  /** The item of this type that an event is about, if there is one. */
  find(id: unknown, index: unknown, type: string): ItemReader | undefined {
    const current = this.#current
    if (current?.id === id && current?.index === index && current?.type === type) return current
    const found = this.#find(id, index, type)
    if (found !== undefined) this.#current = found
    return found
  }

  /** The item that is announced, or done, once more. */
  announced(item: Fields, index: unknown): ItemReader | undefined {
    const type = textOf(item.type)
    const exact = this.#get(exactKey, type, index, item.id)
    if (exact !== undefined) return exact
    const here = this.#get(placeKey, type, index, item.id)
    if (here !== undefined) {
      const differ = isId(item.id) && isId(here.id)
      return differ || here.done ? undefined : here
    }
    const named = this.#get(idKey, type, index, item.id)
    return named === undefined || (typeof index === 'number' && named.index !== undefined) ? undefined : named
  }

  /** Items that stand before this one. */
  before(item: ItemReader): ItemReader[] {
    return this.all.slice(0, this.all.indexOf(item))
  }

  /** For each item of the final output the one that events told of: the surest matches are made first. */
  match(output: readonly Fields[]): (ItemReader | undefined)[] {
    const matched: (ItemReader | undefined)[] = output.map(() => undefined)
    const taken = new Set<ItemReader>()
    const byCall = new Map(this.all.map((item) => [callIdOf(item.skeleton), item]))
    const rest = new Map<string, ItemReader[]>()
    const ways: ((item: Fields, type: string, index: number) => ItemReader | undefined)[] = [
      (item, type, index) => this.#get(exactKey, type, index, item.id),
      (item) => (callIdOf(item) === undefined ? undefined : byCall.get(callIdOf(item))),
      (item, type, index) => this.#get(idKey, type, index, item.id),
      (item, type, index) => this.#get(placeKey, type, index, item.id),
      (_item, type) => {
        const queue = rest.get(type) ?? this.all.filter((item) => item.type === type).reverse()
        rest.set(type, queue)
        while (queue.length > 0 && taken.has(queue.at(-1) as ItemReader)) queue.pop()
        return queue.at(-1)
      },
    ]
    for (const way of ways) {
      output.forEach((item, index) => {
        if (matched[index] !== undefined) return
        const found = way(item, textOf(item.type), index)
        if (found === undefined || taken.has(found) || !isSameCall(found, item)) return
        matched[index] = found
        taken.add(found)
      })
    }
    return matched
  }

  #find(id: unknown, index: unknown, type: string): ItemReader | undefined {
    const here = this.#get(exactKey, type, index, id) ?? this.#get(placeKey, type, index, id)
    if (here !== undefined) return here
    const hasIndex = typeof index === 'number'
    const named = this.#get(idKey, type, index, id)
    if (named !== undefined && !(hasIndex && named.index !== undefined && named.done)) return named
    if (hasIndex && isId(id)) return undefined
    const fits = (item: ItemReader) =>
      item.type === type && !item.done && !(hasIndex && item.index !== undefined)
    return this.all.findLast(fits)
  }

  #get(key: typeof exactKey, type: string, index: unknown, id: unknown): ItemReader | undefined {
    const name = key(type, index, id)
    return name === undefined ? undefined : this.#known.get(name)
  }
}

function exactKey(type: string, index: unknown, id: unknown): string | undefined {
  return typeof index === 'number' && isId(id) ? JSON.stringify([type, index, id]) : undefined
}

function placeKey(type: string, index: unknown, _id: unknown): string | undefined {
  return typeof index === 'number' ? JSON.stringify([type, index]) : undefined
}

function idKey(type: string, _index: unknown, id: unknown): string | undefined {
  return isId(id) ? JSON.stringify([type, id]) : undefined
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== ''
}

function callIdOf(item: unknown): string | undefined {
  return isRecord(item) && isId(item.call_id) ? item.call_id : undefined
}

/** Two calls with different ids are two. */
function isSameCall({ type, skeleton }: ItemReader, item: Fields): boolean {
  const told = callIdOf(skeleton)
  const final = callIdOf(item)
  return type === item.type && (told === undefined || final === undefined || told === final)
}
