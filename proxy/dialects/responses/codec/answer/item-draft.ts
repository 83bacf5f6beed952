/** Output items of a stream in the making. */
import type { ClientView } from '../../../core/dialect.ts'
import type { Fields } from '../../../core/json/value.ts'
import type { EventWriter } from './answer-events.ts'
import { itemFields, messageItem } from './item-write.ts'

export class Draft {
  readonly index: number
  readonly id: unknown
  readonly type: string
  /** Fields of the content; those of a message are in its `content`. */
  body: Fields
  /** Parts of the item that are being written. */
  open = 0
  /** Content parts that were begun. */
  contents = 0
  done = false
  /** The answer ended in the middle of it, so that nothing may call it done. */
  cut = false
  readonly #client: ClientView

  constructor(type: string, index: number, body: Fields, client: ClientView) {
    this.type = type
    this.index = index
    this.body = body
    this.#client = client
    this.id = this.#fields().id
  }

  /** The place that events of this item name. */
  get place(): { item_id: unknown; output_index: number } {
    return { item_id: this.id, output_index: this.index }
  }

  /** The item before any content: `skeleton` has its empty lists and texts. */
  announce(writer: EventWriter, skeleton: Fields): void {
    const fields = { ...this.#fields(), ...this.body, ...skeleton }
    if ('status' in fields) fields.status = 'in_progress'
    writer.event('response.output_item.added', { output_index: this.index, item: fields })
  }

  /** `cut`: the answer ended in the middle of it. */
  finish(writer: EventWriter, cut: boolean): Fields {
    this.done = true
    const item = { ...this.#fields(), ...this.body }
    // Clients run a call as soon as its item is done.
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
