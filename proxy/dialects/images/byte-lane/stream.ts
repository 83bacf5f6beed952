/** Follows the stream of pictures; bytes pass as they are. There are few events, so that each of them is read. */
import type { Delivered } from '../../../../contract/sizes.ts'
import type { Usage } from '../../../../contract/usage.ts'
import type { GatewayError, UpstreamFailure } from '../../../errors.ts'
import type { ParsedRequest, StreamObserver } from '../../dialect.ts'
import { readFailure } from '../../errors/read.ts'
import { isRecord, tryParse } from '../../json/value.ts'
import { eventEnd, sseEvents } from '../../sse/events.ts'
import { EventSplitter } from '../../sse/splitter.ts'
import { errorText, isCompleted, isPartial } from '../events.ts'
import { addUsage, readUsage } from '../usage.ts'

const LF = 0x0a

export class ImagesStreamObserver implements StreamObserver {
  failure: UpstreamFailure | undefined
  usage: Usage | undefined
  readonly tier = undefined
  readonly #request: ParsedRequest
  readonly #splitter: EventSplitter
  #completed = 0
  /** Part of a picture has come, but not the whole. */
  #isPending = false

  constructor(request: ParsedRequest, maxEventBytes: number) {
    this.#request = request
    this.#splitter = new EventSplitter(maxEventBytes)
  }

  /** Upstreams may make fewer pictures than they were asked for, but none by half. */
  get finished(): boolean {
    return this.#completed > 0 && !this.#isPending
  }

  get done(): boolean {
    return this.#completed >= (this.#request.head.images ?? 1)
  }

  get delivered(): Delivered {
    // One that a part was seen of has been made, and is on the upstream's bill.
    return { deltas: 0, bytes: 0, images: this.#completed + (this.#isPending ? 1 : 0) }
  }

  push(chunk: Buffer): Buffer | undefined {
    if (this.done || this.failure !== undefined) return undefined
    const events = this.#splitter.push(chunk)
    return events === undefined ? undefined : this.#follow(events)
  }

  /** A last event without its empty line gets one, or strict readers would lose it; half an event is dropped. */
  flush(): Buffer | undefined {
    if (this.done || this.failure !== undefined) return undefined
    const rest = this.#splitter.rest()
    const [last] = sseEvents(rest)
    if (last === undefined || !isRecord(tryParse(last.data))) return undefined
    return this.#follow(Buffer.concat([rest, Buffer.from(rest.at(-1) === LF ? '\n' : '\n\n')]))
  }

  errorEvent(error: GatewayError): Buffer {
    return Buffer.from(errorText(error))
  }

  /** Reads whole events and returns those that may pass. */
  #follow(bytes: Buffer): Buffer | undefined {
    const text = bytes.toString('latin1')
    let start = 0
    while (start < text.length && !this.done) {
      const end = eventEnd(text, start)
      for (const { event, data } of sseEvents(bytes.subarray(start, end))) this.#read(event, tryParse(data))
      if (this.failure !== undefined) break
      start = end
    }
    return start === 0 ? undefined : bytes.subarray(0, start)
  }

  #read(event: string, value: unknown): void {
    if (!isRecord(value)) return
    const type = typeof value.type === 'string' ? value.type : event
    if (type === 'error' || value.error) {
      this.failure = readFailure(value, this.#request, 'error_event')
    } else if (isPartial(type)) {
      this.#isPending = true
    } else if (isCompleted(type)) {
      this.#completed++
      this.#isPending = false
      this.usage = addUsage(this.usage, readUsage(value.usage, 1))
      if (this.usage !== undefined) this.usage = { ...this.usage, images: this.#completed }
    }
  }
}
