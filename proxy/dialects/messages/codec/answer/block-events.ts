/** Writes the events of content blocks, one block after another, with dense indexes. */
import { eventText } from '../../event.ts'
import type * as wire from '../../wire.ts'

/** The beginning of a block's delta, before its text. */
const DELTAS = {
  text: '{"type":"text_delta","text":',
  thinking: '{"type":"thinking_delta","thinking":',
  tool_use: '{"type":"input_json_delta","partial_json":',
} satisfies Record<string, wire.DeltaStart>
export type DeltaKind = keyof typeof DELTAS

const START_OF_DELTA = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":'
const END_OF_DELTA = '}}\n\n'

export class BlockEvents {
  #out = ''
  #index = -1
  #isOpen = false
  /** The events of the open block's deltas, before their text. */
  #deltaStart = ''

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Returns the events since the last call. */
  take(): string {
    const out = this.#out
    this.#out = ''
    return out
  }

  event(event: wire.StreamEvent): void {
    this.#out += eventText(event)
  }

  /** Starts a block. `kind` is that of its text deltas. */
  open(block: wire.Block, kind: DeltaKind): void {
    this.#index++
    this.#isOpen = true
    this.#deltaStart = `${START_OF_DELTA}${this.#index},"delta":${DELTAS[kind]}`
    this.event({ type: 'content_block_start', index: this.#index, content_block: block })
  }

  /** Writes a text delta of the open block. */
  text(text: string): void {
    this.#out += this.#deltaStart + JSON.stringify(text) + END_OF_DELTA
  }

  /** Writes another delta of the open block. */
  delta(delta: wire.Delta): void {
    this.event({ type: 'content_block_delta', index: this.#index, delta })
  }

  /** Ends the open block, if there is one. */
  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.event({ type: 'content_block_stop', index: this.#index })
  }

  /** Leaves the open block unfinished. No other block may follow. */
  abandon(): void {
    this.#isOpen = false
  }
}
