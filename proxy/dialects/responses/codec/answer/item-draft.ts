/** An output item of a stream before it is finished. */
import type { ClientView } from '../../../core/codec.ts'
import type { Fields } from '../../../core/json/value.ts'
import type { EventWriter } from './answer-events.ts'
import { itemFields, messageItem } from './encode-item.ts'

export class Draft {
  readonly index: number
  readonly id: unknown
  readonly type: string
  /** The item's content; that of a message is in its field `content`. */
  body: Fields
  /** The number of unfinished parts. */
  open = 0
  /** The number of content parts so far. */
  contents = 0
  done = false
  /** The answer ended in this item, so no event may mark it as done. */
  cut = false
  readonly #client: ClientView

  constructor(type: string, index: number, body: Fields, client: ClientView) {
    this.type = type
    this.index = index
    this.body = body
    this.#client = client
    this.id = this.#fields().id
  }

  /** The fields by which events refer to this item. */
  get place(): { item_id: unknown; output_index: number } {
    return { item_id: this.id, output_index: this.index }
  }

  /** Writes the item without content. `skeleton`: its empty lists and texts. */
  announce(writer: EventWriter, skeleton: Fields): void {
    const fields = { ...this.#fields(), ...this.body, ...skeleton }
    if ('status' in fields) fields.status = 'in_progress'
    writer.event('response.output_item.added', { output_index: this.index, item: fields })
  }

  /** `cut`: the answer ended in this item. */
  finish(writer: EventWriter, cut: boolean): Fields {
    this.done = true
    const item = { ...this.#fields(), ...this.body }
    // No output_item.done: clients run a call as soon as they receive that event.
    if (this.cut) return { ...item, status: 'incomplete' }
    if ('status' in item) item.status = cut ? 'incomplete' : 'completed'
    writer.event('response.output_item.done', { output_index: this.index, item })
    return item
  }

  #fields(): Fields {
    if (this.type === 'message') return messageItem(this.index, this.#client)
    return itemFields(this.type, this.index, this.#client)
  }
}
