/**
 * Follows the stream of a chat completion. Bytes pass as they are; most events are only searched for a few keys,
 * because parsing each of them would cost more than relaying it.
 */
import type { Delivered } from '../../../../contract/sizes.ts'
import type { Usage } from '../../../../contract/usage.ts'
import type { GatewayError, UpstreamFailure } from '../../../errors.ts'
import type { ParsedRequest, StreamObserver } from '../../dialect.ts'
import { readFailure } from '../../errors/read.ts'
import { isRecord, tryParse } from '../../json/value.ts'
import { eventEnd, sseEvents } from '../../sse/events.ts'
import { EventSplitter } from '../../sse/splitter.ts'
import { brokenChoice } from '../codec/answer/finish.ts'
import { errorEvent } from '../error.ts'
import { readUsage } from '../usage.ts'
import { type Counted, countDelta } from './delta.ts'
import { Repeats } from './repeats.ts'
import { KeySearch } from './search.ts'

/** What becomes of an event: passed on, kept back, passed on as the last one, or kept back with all that follows. */
type Verdict = 'pass' | 'withhold' | 'last' | 'fail'

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const OPEN_OBJECT = 0x7b
const DONE = '[DONE]'

export class ChatStreamObserver implements StreamObserver {
  failure: UpstreamFailure | undefined
  usage: Usage | undefined
  tier: string | undefined
  readonly delivered: Delivered = { deltas: 0, bytes: 0 }
  readonly #repeats = new Repeats()
  done = false
  readonly #request: ParsedRequest
  readonly #askedUsage: boolean
  readonly #splitter: EventSplitter
  readonly #finishedChoices = new Set<unknown>()
  #begun = false

  constructor(request: ParsedRequest, maxEventBytes: number, askedUsage: boolean) {
    this.#request = request
    this.#askedUsage = askedUsage
    this.#splitter = new EventSplitter(maxEventBytes)
  }

  /** `[DONE]` was seen, or every choice asked for has a finish_reason: some upstreams send no `[DONE]`. */
  get finished(): boolean {
    if (this.failure !== undefined) return false
    return this.done || this.#finishedChoices.size >= this.#request.head.choices
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
    const pieces: Buffer[] = []
    if (isWholeEvent(rest)) {
      const last = this.#follow(Buffer.concat([rest, Buffer.from(rest.at(-1) === LF ? '\n' : '\n\n')]))
      if (last !== undefined) pieces.push(last)
    }
    if (this.finished && !this.done) {
      this.done = true
      pieces.push(Buffer.from(`data: ${DONE}\n\n`))
    }
    return pieces.length === 0 ? undefined : Buffer.concat(pieces)
  }

  errorEvent(error: GatewayError): Buffer {
    return errorEvent(error)
  }

  /** Reads whole events and returns those that may pass. */
  #follow(bytes: Buffer): Buffer | undefined {
    const text = bytes.toString('latin1')
    const search = new KeySearch(text)
    const hasCR = bytes.includes(CR)
    const pieces: Buffer[] = []
    let from = 0
    let lineFeed = -1
    for (let start = 0; start < text.length; ) {
      if (lineFeed < start) lineFeed = nextLineFeed(text, start)
      const lineEvent = lineEventEnd(text, start, lineFeed, hasCR)
      const end = lineEvent < 0 ? eventEnd(text, start) : lineEvent
      const length = lineEvent < 0 ? -1 : this.#repeats.textLength(text, start, end)
      if (length > 0) {
        this.delivered.deltas++
        this.delivered.bytes += length
        start = end
        continue
      }
      const plain = lineEvent >= 0 && this.#begun && isPlain(text, search, start, end)
      const verdict = plain ? 'pass' : this.#inspect(bytes.subarray(start, end))
      if (verdict === 'pass') {
        this.#count(text, search, start, end, plain)
      } else {
        pieces.push(bytes.subarray(from, verdict === 'last' ? end : start))
        from = verdict === 'withhold' ? end : text.length
        if (verdict !== 'withhold') break
      }
      start = end
    }
    if (from === 0) return bytes
    const passed = Buffer.concat([...pieces, bytes.subarray(from)])
    return passed.length === 0 ? undefined : passed
  }

  #count(text: string, search: KeySearch, start: number, end: number, plain: boolean): void {
    const counted: Counted = { deltas: 0, bytes: 0, from: 0, to: 0 }
    for (let at = search.delta(start, end); at >= 0; ) {
      // A delta inside a delta was read with it.
      at = search.delta(countDelta(text, at, end, counted), end)
    }
    this.delivered.deltas += counted.deltas
    this.delivered.bytes += counted.bytes
    if (plain && counted.deltas === 1) this.#repeats.learn(text, start, end, counted.from, counted.to)
    else this.#repeats.forget()
  }

  #inspect(bytes: Buffer): Verdict {
    let verdict: Verdict = 'pass'
    for (const { event, data } of sseEvents(bytes)) {
      this.#begun = true
      if (data.trim() === DONE) {
        this.done = true
        return 'last'
      }
      const chunk = tryParse(data)
      const error = isRecord(chunk) ? chunk.error : undefined
      if (event === 'error' || error) {
        this.failure = readFailure(chunk, this.#request, 'error_event')
        return 'fail'
      }
      if (!isRecord(chunk)) continue
      const broken = Array.isArray(chunk.choices) ? brokenChoice(chunk.choices) : undefined
      if (broken !== undefined) {
        this.failure = readFailure(broken, this.#request, 'error_event')
        return 'fail'
      }
      if (this.#readChunk(chunk) === 'withhold') verdict = 'withhold'
    }
    return verdict
  }

  #readChunk(chunk: Record<string, unknown>): Verdict {
    if (typeof chunk.service_tier === 'string') this.tier = chunk.service_tier
    const choices: unknown[] = Array.isArray(chunk.choices) ? chunk.choices : []
    choices.forEach((choice, i) => {
      if (isRecord(choice) && choice.finish_reason) this.#finishedChoices.add(choice.index ?? i)
    })
    if (!isRecord(chunk.usage)) return 'pass'
    this.usage = readUsage(chunk.usage) ?? this.usage
    const unwanted = this.#askedUsage && !this.#request.head.wantsStreamUsage
    return unwanted && choices.length === 0 ? 'withhold' : 'pass'
  }
}

function nextLineFeed(text: string, from: number): number {
  const found = text.indexOf('\n', from)
  return found < 0 ? text.length : found
}

/**
 * End of the event at `start` when it is one line and an empty one, all in LF or all in CR LF; else -1. `lineFeed`
 * is where the next LF stands.
 */
function lineEventEnd(text: string, start: number, lineFeed: number, hasCR: boolean): number {
  if (!hasCR) return text.charCodeAt(lineFeed + 1) === LF ? lineFeed + 2 : -1
  const withCR = text.charCodeAt(lineFeed - 1) === CR && text.startsWith('\r\n', lineFeed + 1)
  return withCR && text.indexOf('\r', start) === lineFeed - 1 ? lineFeed + 3 : -1
}

/** True for an event of one line that cannot matter: a comment, or JSON without usage, error and finish. */
function isPlain(text: string, search: KeySearch, start: number, end: number): boolean {
  if (text.startsWith(':', start)) return true
  if (!text.startsWith('data:', start)) return false
  let at = start + 5
  while (text.charCodeAt(at) === SPACE) at++
  return text.charCodeAt(at) === OPEN_OBJECT && !search.hasTelling(start, end)
}

function isWholeEvent(rest: Buffer): boolean {
  const [last] = sseEvents(rest)
  return last !== undefined && (last.data.trim() === DONE || isRecord(tryParse(last.data)))
}
