/**
 * Follows the stream of a message. Bytes pass as they are; the deltas of text, thinking and tool input, which are nearly
 * all of it, are only measured, because parsing each of them would cost more than relaying it.
 */
import type { Delivered } from '../../../../contract/sizes.ts'
import type { Usage } from '../../../../contract/usage.ts'
import type { GatewayError, UpstreamFailure } from '../../../errors.ts'
import type { ParsedRequest, StreamObserver } from '../../dialect.ts'
import { readFailure } from '../../errors/read.ts'
import { isRecord, tryParse } from '../../json/value.ts'
import { eventEnd } from '../../sse/events.ts'
import { readEvents } from '../../sse/reader.ts'
import { EventSplitter } from '../../sse/splitter.ts'
import { errorEvent } from '../error.ts'
import { mergeUsage, readTier, readUsage } from '../usage.ts'
import { addDelta, addParsedDelta, deltaText } from './delta.ts'

/** What becomes of an event: passed on, passed on as the last one, or kept back with all that follows. */
type Verdict = 'pass' | 'last' | 'fail'

const LF = 0x0a
const CR = 0x0d

export class MessagesStreamObserver implements StreamObserver {
  failure: UpstreamFailure | undefined
  usage: Usage | undefined
  tier: string | undefined
  readonly delivered: Delivered = { deltas: 0, bytes: 0 }
  done = false
  readonly #request: ParsedRequest
  readonly #splitter: EventSplitter
  /** The usage object so far, as the upstream writes it. */
  #rawUsage: unknown

  constructor(request: ParsedRequest, maxEventBytes: number) {
    this.#request = request
    this.#splitter = new EventSplitter(maxEventBytes)
  }

  get finished(): boolean {
    return this.done && this.failure === undefined
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
    if (!isWholeEvent(rest)) return undefined
    return this.#follow(Buffer.concat([rest, Buffer.from(rest.at(-1) === LF ? '\n' : '\n\n')]))
  }

  errorEvent(error: GatewayError, requestId: string): Buffer {
    return errorEvent(error, requestId)
  }

  /** Reads whole events and returns those that may pass. */
  #follow(bytes: Buffer): Buffer | undefined {
    const text = bytes.toString('latin1')
    const hasCR = bytes.includes(CR)
    for (let start = 0; start < text.length; ) {
      const open = deltaText(text, start)
      const end = open < 0 ? endOfEvent(text, start, hasCR) : endOfDelta(text, start, open, hasCR)
      if (open >= 0) {
        addDelta(text, open, end, this.delivered)
      } else {
        const verdict = this.#inspect(bytes.toString('utf8', start, end))
        if (verdict !== 'pass') {
          const passed = bytes.subarray(0, verdict === 'last' ? end : start)
          return passed.length === 0 ? undefined : passed
        }
      }
      start = end
    }
    return bytes
  }

  #inspect(text: string): Verdict {
    let verdict: Verdict = 'pass'
    readEvents(text, (event, data) => {
      if (verdict === 'pass') verdict = this.#read(event, tryParse(data))
    })
    return verdict
  }

  #read(event: string, value: unknown): Verdict {
    const type = isRecord(value) && typeof value.type === 'string' ? value.type : event
    if (event === 'error' || type === 'error' || (isRecord(value) && value.error)) {
      this.failure = readFailure(value, this.#request, 'error_event')
      return 'fail'
    }
    if (!isRecord(value)) return 'pass'
    switch (type) {
      case 'message_start':
        if (isRecord(value.message)) this.#note(value.message.usage)
        break
      case 'content_block_delta':
        addParsedDelta(value.delta, this.delivered)
        break
      case 'message_delta':
        this.#note(value.usage)
        this.usage = readUsage(this.#rawUsage) ?? this.usage
        break
      case 'message_stop':
        this.done = true
        this.usage ??= readUsage(this.#rawUsage)
        return 'last'
    }
    return 'pass'
  }

  /** What a stream reports before its end counts its input alone, so it is no usage yet. */
  #note(usage: unknown): void {
    this.#rawUsage = mergeUsage(this.#rawUsage, usage)
    this.tier = readTier(this.#rawUsage) ?? this.tier
  }
}

/** Index after the event at `start`. Raw CR stands only between lines, so without any an empty line is two LF. */
function endOfEvent(text: string, start: number, hasCR: boolean): number {
  if (hasCR) return eventEnd(text, start)
  const empty = text.indexOf('\n\n', start)
  return empty < 0 ? text.length : empty + 2
}

/** The same for a delta event, whose data line goes on at `open`: an empty line mostly follows it. */
function endOfDelta(text: string, start: number, open: number, hasCR: boolean): number {
  if (!hasCR) return endOfEvent(text, open, hasCR)
  const lineFeed = text.indexOf('\n', open)
  const isPlain = text.startsWith('\r\n\r\n', lineFeed - 1) && text.indexOf('\r', open) === lineFeed - 1
  return isPlain ? lineFeed + 3 : eventEnd(text, start)
}

function isWholeEvent(rest: Buffer): boolean {
  let whole = false
  readEvents(rest.toString('utf8'), (_event, data) => {
    whole ||= isRecord(tryParse(data))
  })
  return whole
}
