/** Writes the stream of a message for a client. */
import type { GatewayError } from '../../../../errors.ts'
import type { ClientView, StreamEncoder } from '../../../core/codec.ts'
import type { PartOf, StreamPart } from '../../../core/neutral/types.ts'
import { errorEvent } from '../../error.ts'
import type * as wire from '../../wire.ts'
import { type BlockPart, BlockWriter } from './block-write-stream.ts'
import { messageOf } from './encode-answer.ts'
import { writeCounts, writeFirstCounts } from './message-counts.ts'
import { writeFinish } from './stop-reason.ts'

const NOT_STOPPED: wire.Stop = { stop_reason: null, stop_sequence: null, stop_details: null }

/**
 * Blocks must not overlap: of the open parts the first is written as it arrives, and the others are held until it is
 * their turn.
 */
export class MessagesStreamEncoder implements StreamEncoder {
  readonly #client: ClientView
  readonly #writer: BlockWriter
  /** The part that is written as it arrives. */
  #current: string | undefined
  /** Unwritten fragments of the parts that have begun, by id and in order; the current part is the first. */
  readonly #waiting = new Map<string, BlockPart[]>()

  constructor(client: ClientView) {
    this.#client = client
    this.#writer = new BlockWriter(client)
  }

  part(part: StreamPart): void {
    if (part.type === 'start') this.#start(part)
    else if (part.type === 'finish') this.#finish(part)
    else if (part.type === 'partial-image') return
    else if (part.id !== this.#current) this.#hold(part)
    else if (this.#writer.write(part)) this.#next()
  }

  take(): string {
    return this.#writer.events.take()
  }

  error(error: GatewayError, requestId: string): string {
    return errorEvent(error, requestId).toString()
  }

  #hold(part: BlockPart): void {
    const held = this.#waiting.get(part.id)
    if (held !== undefined) held.push(part)
    else if (part.type === 'whole' || part.type.endsWith('-start')) {
      this.#waiting.set(part.id, [part])
      if (this.#current === undefined) this.#writeHeld()
    }
  }

  /** Removes the current part, which has ended, and continues with the next. */
  #next(): void {
    if (this.#current !== undefined) this.#waiting.delete(this.#current)
    this.#current = undefined
    this.#writeHeld()
  }

  /** Writes held parts up to the first that is still open, which becomes the current one. */
  #writeHeld(): void {
    for (const [id, held] of this.#waiting) {
      let ended = false
      for (const part of held.splice(0)) ended = this.#writer.write(part) || ended
      if (!ended) {
        this.#current = id
        return
      }
      this.#waiting.delete(id)
    }
  }

  #start(part: PartOf<'start'>): void {
    const message = messageOf([], NOT_STOPPED, writeFirstCounts(part.usage, this.#client), this.#client)
    this.#writer.events.event({ type: 'message_start', message })
  }

  #finish(part: PartOf<'finish'>): void {
    while (this.#waiting.size > 0) {
      this.#writer.end()
      this.#next()
    }
    this.#writer.events.event({
      type: 'message_delta',
      delta: writeFinish(part.finish, this.#writer.refused),
      usage: writeCounts(part, this.#client),
    })
    this.#writer.events.event({ type: 'message_stop' })
  }
}
