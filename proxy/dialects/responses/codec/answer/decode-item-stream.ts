/** Reads the events of one output item as the parts of a stream. */

import { type Fields, textOf } from '../../../core/json/value.ts'
import { readMaking } from '../../../openai/fields.ts'
import { callInput, readCallHead, readWhole } from './decode-item.ts'
import type { Sink } from './item-queue.ts'

export abstract class ItemDecoder {
  /** The id in output_item.added; undefined without that event. */
  readonly id: unknown
  /** The index in the output; undefined if no event contained it. */
  index: number | undefined
  readonly type: string
  readonly skeleton: Fields
  done = false
  protected readonly sink: Sink
  /** Unique in the stream. */
  protected readonly key: string

  constructor(skeleton: Fields, type: string, key: string, sink: Sink) {
    this.id = skeleton.id
    this.type = type
    this.skeleton = skeleton
    this.key = key
    this.sink = sink
  }

  get isWaiting(): boolean {
    return this.sink.isWaiting
  }

  /** Takes from the whole item what its events left out. */
  finish(item: Fields): void {
    if (this.done) return
    this.complete(item)
    this.done = true
    this.sink.close()
  }

  protected abstract complete(item: Fields): void
}

/** Reads an item that becomes one part when it is finished. */
export class HostedDecoder extends ItemDecoder {
  partial(event: Fields): void {
    const { partial_image_index: index, partial_image_b64: base64 } = event
    if (this.done || typeof index !== 'number' || textOf(base64) === '') return
    const made = readMaking(event, event)
    this.sink.emit({ type: 'partial-image', id: this.key, index, base64: textOf(base64), made })
  }

  protected complete(item: Fields): void {
    this.sink.emit({ type: 'whole', id: this.key, part: readWhole(item, this.type) })
  }
}

export class CallDecoder extends ItemDecoder {
  #started = false
  /** Characters of the input that were emitted. */
  #sent = 0
  /** Input that arrived before the name of the tool. */
  #early = ''
  /** True for a finished call without a name, which no client can run. */
  nameless = false

  constructor(skeleton: Fields, type: string, key: string, sink: Sink) {
    super(skeleton, type, key, sink)
    if (readCallHead(skeleton).name !== '') this.#start(skeleton)
  }

  input(delta: string): void {
    if (this.done) return
    if (this.#started) this.#send(delta)
    else this.#early += delta
  }

  /** `input`: the whole input. */
  inputDone(input: string): void {
    if (this.#started && !this.done && input.length > this.#sent) this.#send(input.slice(this.#sent))
  }

  protected complete(item: Fields): void {
    if (!this.#started) {
      const whole = { ...this.skeleton, ...item }
      this.nameless = readCallHead(whole).name === ''
      if (this.nameless) return
      this.#start(whole)
      if (this.#early !== '') this.#send(this.#early)
    }
    const input = callInput(item)
    if (input.length > this.#sent) this.#send(input.slice(this.#sent))
    this.sink.emit({ type: 'tool-call-end', id: this.key })
  }

  #start(item: Fields): void {
    this.#started = true
    this.sink.emit({
      type: 'tool-call-start',
      id: this.key,
      ...readCallHead({ ...item, type: this.type }),
    })
  }

  #send(text: string): void {
    this.#sent += text.length
    if (text !== '') this.sink.emit({ type: 'tool-call-delta', id: this.key, text })
  }
}
