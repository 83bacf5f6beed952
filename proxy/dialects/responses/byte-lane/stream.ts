/**
 * Follows the stream of a response. Bytes pass as they are; only the events of its life are parsed, because parsing
 * each delta would cost more than relaying it.
 */
import type { Delivered } from '../../../../contract/sizes.ts'
import type { Usage } from '../../../../contract/usage.ts'
import type { GatewayError, UpstreamFailure } from '../../../errors.ts'
import type { ParsedRequest, StreamObserver } from '../../dialect.ts'
import { readFailure } from '../../errors/read.ts'
import { isRecord, tryParse } from '../../json/value.ts'
import { eventEnd, sseEvents } from '../../sse/events.ts'
import { EventSplitter } from '../../sse/splitter.ts'
import { errorEvent, failedEvent } from '../error.ts'
import { picturesIn, readUsage } from '../usage.ts'
import { deltaBytes, eventType } from './event-type.ts'

/** What becomes of an event: passed on, passed on as the last one, or kept back with all that follows. */
type Verdict = 'pass' | 'last' | 'fail'

/** Events that carry the response object or an error. */
const TELLING = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
])
const FAILED = new Set(['response.failed', 'response.cancelled', 'error'])
const LF = 0x0a
const CR = 0x0d

export class ResponsesStreamObserver implements StreamObserver {
  failure: UpstreamFailure | undefined
  usage: Usage | undefined
  tier: string | undefined
  readonly delivered: Delivered = { deltas: 0, bytes: 0 }
  done = false
  readonly #request: ParsedRequest
  readonly #splitter: EventSplitter
  /** Of the last event of its life that passed. */
  #response: Record<string, unknown> | undefined
  /** The last event with data that passed; read only when the stream has to end with an error. */
  #lastEvent: Buffer | undefined

  constructor(request: ParsedRequest, maxEventBytes: number) {
    this.#request = request
    this.#splitter = new EventSplitter(maxEventBytes)
  }

  get finished(): boolean {
    return this.done
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

  /** Before `response.created` a flat error, after it the response as failed. */
  errorEvent(error: GatewayError): Buffer {
    const sequence = this.#lastSequence() + 1
    if (this.#response === undefined) return errorEvent(error, sequence)
    return failedEvent(this.#response, error, sequence)
  }

  /** Reads whole events and returns those that may pass. */
  #follow(bytes: Buffer): Buffer | undefined {
    const text = bytes.toString('latin1')
    const hasCR = bytes.includes(CR)
    let lastStart = -1
    let start = 0
    while (start < text.length) {
      const end = hasCR ? eventEnd(text, start) : lineFeedEnd(text, start)
      const verdict = this.#read(text, bytes, start, end)
      if (verdict === 'fail') break
      if (end - start > 2 && !text.startsWith(':', start)) lastStart = start
      start = end
      if (verdict === 'last') break
    }
    if (lastStart >= 0) this.#lastEvent = bytes.subarray(lastStart, start)
    if (start === 0) return undefined
    return start === bytes.length ? bytes : bytes.subarray(0, start)
  }

  #read(text: string, bytes: Buffer, start: number, end: number): Verdict {
    const type = eventType(text, start, end)
    if (type === undefined || !type.startsWith('response.') || TELLING.has(type)) {
      return this.#inspect(bytes.subarray(start, end))
    }
    if (type.endsWith('.delta')) {
      this.delivered.deltas++
      this.delivered.bytes += deltaBytes(text, start, end)
    }
    return 'pass'
  }

  #inspect(bytes: Buffer): Verdict {
    for (const { event, data } of sseEvents(bytes)) {
      const value = tryParse(data)
      if (!isRecord(value)) continue
      const type = typeof value.type === 'string' ? value.type : event
      const verdict = this.#readEvent(type, value)
      if (verdict !== 'pass') return verdict
    }
    return 'pass'
  }

  #readEvent(type: string, value: Record<string, unknown>): Verdict {
    const response = isRecord(value.response) ? value.response : undefined
    if (response !== undefined) this.#count(response)
    // Some upstreams send an error object without a type, as chat does.
    const bare = !type.startsWith('response.') && Boolean(value.error)
    if (FAILED.has(type) || bare || response?.status === 'failed') {
      const detail = response === undefined ? 'error_event' : 'response_failed'
      this.failure = readFailure(response ?? value, this.#request, detail)
      return 'fail'
    }
    if (type.endsWith('.delta') && typeof value.delta === 'string') {
      this.delivered.deltas++
      this.delivered.bytes += Buffer.byteLength(value.delta)
    }
    if (!TELLING.has(type)) return 'pass'
    this.#response = response ?? this.#response
    if (type !== 'response.completed' && type !== 'response.incomplete') return 'pass'
    if (typeof response?.service_tier === 'string') this.tier = response.service_tier
    this.done = true
    return 'last'
  }

  #count({ usage, output }: Record<string, unknown>): void {
    const images = picturesIn(output)
    if (images > 0) this.delivered.images = images
    const read = readUsage(usage)
    if (read !== undefined) this.usage = { ...read, images }
  }

  /** Of the events that passed; -1 when they carry none. */
  #lastSequence(): number {
    if (this.#lastEvent === undefined) return -1
    let sequence = -1
    for (const { data } of sseEvents(this.#lastEvent)) {
      const value = tryParse(data)
      if (isRecord(value) && Number.isSafeInteger(value.sequence_number))
        sequence = Number(value.sequence_number)
    }
    return sequence
  }
}

/** End of the event at `start` in a text whose lines all end in LF. */
function lineFeedEnd(text: string, start: number): number {
  if (text.charCodeAt(start) === LF) return start + 1
  const end = text.indexOf('\n\n', start)
  return end < 0 ? text.length : end + 2
}
