/**
 * Finds the item of an event, by its output_index first: upstreams leave ids empty, reuse one for several items, or
 * send a new one with each event. Ids distinguish items with the same index, and find the item of an event whose index is
 * missing or wrong.
 */
import { type Fields, isRecord, isText, textOf } from '../../../core/json/value.ts'
import type { ItemDecoder } from './decode-item-stream.ts'

export class Items {
  readonly all: ItemDecoder[] = []
  /** The newest item of each key. */
  readonly #known = new Map<string, ItemDecoder>()
  /** The item of the last event. */
  #current: ItemDecoder | undefined

  add(item: ItemDecoder, index: unknown): void {
    item.index = typeof index === 'number' ? index : undefined
    this.all.push(item)
    for (const key of [exactKey, placeKey, idKey]) {
      const name = key(item.type, item.index, item.id)
      if (name !== undefined) this.#known.set(name, item)
    }
    this.#current = item
  }

  /** The item of this type to which an event belongs, if there is one. */
  find(id: unknown, index: unknown, type: string): ItemDecoder | undefined {
    const current = this.#current
    if (current?.id === id && current?.index === index && current?.type === type) return current
    const found = this.#find(id, index, type)
    if (found !== undefined) this.#current = found
    return found
  }

  /** The known item that output_item.added or .done repeats. */
  findRepeated(item: Fields, index: unknown): ItemDecoder | undefined {
    const type = textOf(item.type)
    const exact = this.#get(exactKey, type, index, item.id)
    if (exact !== undefined) return exact
    const here = this.#get(placeKey, type, index, item.id)
    if (here !== undefined) {
      const differ = isText(item.id) && isText(here.id)
      return differ || here.done ? undefined : here
    }
    const named = this.#get(idKey, type, index, item.id)
    return named === undefined || (typeof index === 'number' && named.index !== undefined) ? undefined : named
  }

  before(item: ItemDecoder): ItemDecoder[] {
    return this.all.slice(0, this.all.indexOf(item))
  }

  /** For each item of the final output, the item that the events described. The most certain matches come first. */
  match(output: readonly Fields[]): (ItemDecoder | undefined)[] {
    const matched: (ItemDecoder | undefined)[] = output.map(() => undefined)
    const taken = new Set<ItemDecoder>()
    const byCall = new Map(this.all.map((item) => [callIdOf(item.skeleton), item]))
    const rest = new Map<string, ItemDecoder[]>()
    const lookups: ((item: Fields, type: string, index: number) => ItemDecoder | undefined)[] = [
      (item, type, index) => this.#get(exactKey, type, index, item.id),
      (item) => (callIdOf(item) === undefined ? undefined : byCall.get(callIdOf(item))),
      (item, type, index) => this.#get(idKey, type, index, item.id),
      (item, type, index) => this.#get(placeKey, type, index, item.id),
      (_item, type) => {
        const queue = rest.get(type) ?? this.all.filter((item) => item.type === type).reverse()
        rest.set(type, queue)
        while (queue.length > 0 && taken.has(queue.at(-1) as ItemDecoder)) queue.pop()
        return queue.at(-1)
      },
    ]
    for (const lookup of lookups) {
      output.forEach((item, index) => {
        if (matched[index] !== undefined) return
        const found = lookup(item, textOf(item.type), index)
        if (found === undefined || taken.has(found) || !isSameCall(found, item)) return
        matched[index] = found
        taken.add(found)
      })
    }
    return matched
  }

  #find(id: unknown, index: unknown, type: string): ItemDecoder | undefined {
    const here = this.#get(exactKey, type, index, id) ?? this.#get(placeKey, type, index, id)
    if (here !== undefined) return here
    const hasIndex = typeof index === 'number'
    const named = this.#get(idKey, type, index, id)
    if (named !== undefined && !(hasIndex && named.index !== undefined && named.done)) return named
    if (hasIndex && isText(id)) return undefined
    const fits = (item: ItemDecoder) =>
      item.type === type && !item.done && !(hasIndex && item.index !== undefined)
    return this.all.findLast(fits)
  }

  #get(key: typeof exactKey, type: string, index: unknown, id: unknown): ItemDecoder | undefined {
    const name = key(type, index, id)
    return name === undefined ? undefined : this.#known.get(name)
  }
}

function exactKey(type: string, index: unknown, id: unknown): string | undefined {
  return typeof index === 'number' && isText(id) ? JSON.stringify([type, index, id]) : undefined
}

function placeKey(type: string, index: unknown, _id: unknown): string | undefined {
  return typeof index === 'number' ? JSON.stringify([type, index]) : undefined
}

function idKey(type: string, _index: unknown, id: unknown): string | undefined {
  return isText(id) ? JSON.stringify([type, id]) : undefined
}

function callIdOf(item: unknown): string | undefined {
  return isRecord(item) && isText(item.call_id) ? item.call_id : undefined
}

/** False for calls with different ids. */
function isSameCall({ type, skeleton }: ItemDecoder, item: Fields): boolean {
  const known = callIdOf(skeleton)
  const final = callIdOf(item)
  return type === item.type && (known === undefined || final === undefined || known === final)
}
