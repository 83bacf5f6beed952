/** An output item of a stream before it is finished. */
import type { Fields } from '../../../core/json/value.ts'
import type * as wire from '../../wire.ts'
import type { EventWriter } from './answer-events.ts'

export class Draft<Item extends wire.DraftItem = wire.DraftItem> {
  readonly index: number
  /** Without content until its parts end. */
  item: Item
  /** The number of unfinished parts. */
  open = 0
  done = false
  /** The answer ended in this item, so no event may mark it as done. */
  cut = false

  constructor(item: Item, index: number) {
    this.item = item
    this.index = index
  }

  /** The fields by which events refer to this item. */
  get place(): { item_id: string; output_index: number } {
    return { item_id: this.item.id, output_index: this.index }
  }

  announce(writer: EventWriter): void {
    writer.event('response.output_item.added', { output_index: this.index, item: begun(this.item) })
  }

  /** `cut`: the answer ended in this item. */
  finish(writer: EventWriter, cut: boolean): wire.OutputItem {
    this.done = true
    const item: wire.DraftItem = this.item
    // No output_item.done: clients run a call as soon as they receive that event.
    if (this.cut) return { ...item, status: 'incomplete' }
    if ('status' in item) item.status = cut ? 'incomplete' : 'completed'
    writer.event('response.output_item.done', { output_index: this.index, item })
    return item
  }
}

/** The item as it is announced. Some types of items have no status. */
export function begun(item: wire.OutputItem | Fields): wire.OutputItem | Fields {
  return 'status' in item ? { ...item, status: 'in_progress' } : item
}
