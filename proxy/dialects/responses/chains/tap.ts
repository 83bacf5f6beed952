/** Reads an answer on its way to the client, for requests that continue it. */
import type { AnswerRecord, AnswerTap } from '../../core/chains.ts'
import { scanObject } from '../../core/json/scanner.ts'
import { spanOf } from '../../core/json/splice.ts'
import { type Fields, isRecord, tryParse } from '../../core/json/value.ts'
import { readEvents } from '../../core/sse/reader.ts'
import { recordOf } from './output.ts'

/** Characters. A larger answer is not kept and cannot be continued. */
const MAX_LENGTH = 16 * 1024 * 1024

const ITEM_DONE = 'response.output_item.done'
const ENDS = ['response.completed', 'response.incomplete']
/** The events that contain an item or end the answer. No other event is parsed. */
const NAMES = [ITEM_DONE, ...ENDS]
const NAME_BYTES = NAMES.map((name) => Buffer.from(name))
/** Statuses of answers that cannot be continued; some upstreams send no status. */
const UNFINISHED: readonly unknown[] = ['failed', 'cancelled', 'queued', 'in_progress']

interface SeenItem {
  index: number
  text: string
}

export class ResponseTap implements AnswerTap {
  readonly #maxLength: number
  #seen: SeenItem[] = []
  #length = 0
  /** The text of the response. */
  #response: string | undefined
  #over = false
  #record: AnswerRecord | undefined

  constructor(maxLength = MAX_LENGTH) {
    this.#maxLength = maxLength
  }

  push(bytes: Buffer): void {
    // Nearly all bytes are deltas.
    if (this.#over || !NAME_BYTES.some((name) => bytes.includes(name))) return
    readEvents(bytes.toString('utf8'), (event, data) => {
      if (!this.#over && NAMES.some((name) => event === name || data.includes(name))) this.#event(event, data)
    })
  }

  whole(body: Buffer): void {
    this.#over = true
    if (body.length > this.#maxLength) return
    const text = body.toString('utf8')
    const value = tryParse(text)
    if (isRecord(value) && isAnswer(value)) this.#response = text
  }

  record(): AnswerRecord | undefined {
    if (this.#response === undefined) return this.#record
    const items = this.#seen.toSorted((a, b) => a.index - b.index)
    this.#record = recordOf(
      this.#response,
      items.map(({ text }) => text),
    )
    this.#response = undefined
    this.#seen = []
    return this.#record
  }

  #event(event: string, data: string): void {
    const value = tryParse(data)
    if (!isRecord(value)) return
    const type = typeof value.type === 'string' ? value.type : event
    if (type === ITEM_DONE) this.#item(value, data)
    else if (ENDS.includes(type)) this.#end(value, data)
  }

  #item({ output_index: index, item }: Fields, event: string): void {
    const text = isRecord(item) ? memberText(event, 'item') : undefined
    if (text === undefined) return
    this.#length += event.length
    if (this.#length > this.#maxLength) {
      this.#over = true
      this.#seen = []
      return
    }
    // Items without an index keep the order in which they arrived.
    this.#seen.push({ index: Number.isSafeInteger(index) ? Number(index) : this.#seen.length, text })
  }

  #end({ response }: Fields, event: string): void {
    const isOver = isRecord(response) && isAnswer(response)
    this.#over = true
    if (isOver && event.length <= this.#maxLength) this.#response = memberText(event, 'response')
    else this.#seen = []
  }
}

/** True for a complete response. A compaction is not one: no request can continue it by its id. */
function isAnswer({ object, status, error }: Fields): boolean {
  return (object === undefined || object === 'response') && !error && !UNFINISHED.includes(status)
}

/** A copy: a slice would keep the whole text in memory. */
function memberText(object: string, key: string): string | undefined {
  const bytes = Buffer.from(object)
  const span = spanOf(scanObject(bytes), key)
  return span && bytes.toString('utf8', span.start, span.end)
}
