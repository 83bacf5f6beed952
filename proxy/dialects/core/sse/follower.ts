/**
 * Follows a stream whose client speaks the upstream's dialect. Only events in the form of the dialect pass, as bytes: an
 * upstream's web pages, errors in another form and other output never reach a client.
 */

import type { Delivered } from '../../../../contract/sizes.ts'
import { COLON, CR, LF } from '../../../../kit/bytes.ts'
import type { UpstreamFailure } from '../../../errors.ts'
import { readFailure } from '../errors/read.ts'
import { type Fields, isRecord, tryParse } from '../json/value.ts'
import type { ParsedRequest } from '../request.ts'
import { eventEnd } from './events.ts'
import { QuietEvents, TOO_QUIET } from './quiet.ts'
import { readEvents } from './reader.ts'
import { EventShape } from './shape.ts'
import { EventSplitter } from './splitter.ts'

/**
 * What to do with an event: pass it, pass it although it is empty, withhold it, pass it as the last one, or withhold it
 * and all that follow.
 */
export type Verdict = 'pass' | 'quiet' | 'withhold' | 'last' | 'fail'

const DONE = '[DONE]'
/** Longer data is not compared with single words. */
const MAX_WORD = 32
const BAD_EVENT: UpstreamFailure = { class: 'transient', detail: 'bad_event' }
const CUT: UpstreamFailure = { class: 'transient', detail: 'cut_stream' }
/** Keep-alive events that some upstreams send, whether or not their dialect has such an event. */
const SIGNS_OF_LIFE = new Set<unknown>(['ping', 'keepalive', 'keep-alive', 'keep_alive', 'heartbeat'])
/** Matches a line that is not part of an event stream. */
const NO_FIELD = /^(?!(?:data|event|id|retry)(?::|$)|:|$)/m
/** A line end that is not CR LF. A stream's bytes may be split between the two. */
const NOT_CRLF = /\r(?!\n|$)|(?<!\r|^)\n/

export abstract class EventFollower {
  failure: UpstreamFailure | undefined
  /** An event of the answer arrived. */
  begun = false
  done = false
  readonly delivered: Delivered = { deltas: 0, bytes: 0 }
  protected readonly request: ParsedRequest
  readonly #splitter: EventSplitter
  readonly #shape = new EventShape()
  readonly #quiet = new QuietEvents()

  constructor(request: ParsedRequest, maxEventBytes: number) {
    this.request = request
    this.#splitter = new EventSplitter(maxEventBytes)
  }

  /** Judges an event without an `error`; undefined when it does not have the form of the dialect. */
  protected abstract inspect(event: Fields): Verdict | undefined

  /** Judges `[DONE]`. */
  protected readDone(): Verdict {
    return this.fail(CUT)
  }

  /** Gets the bytes of events that pass. */
  protected passed(_bytes: Buffer): void {}

  push(chunk: Buffer): Buffer | undefined {
    if (this.done || this.failure !== undefined) return undefined
    const events = this.#splitter.push(chunk)
    return events === undefined ? undefined : this.#follow(events)
  }

  /** Completes a last event without its empty line, which strict readers would drop. Drops half an event. */
  flush(): Buffer | undefined {
    if (this.done || this.failure !== undefined) return undefined
    const rest = this.#splitter.rest()
    if (!isWholeEvent(rest)) return undefined
    return this.#follow(Buffer.concat([rest, Buffer.from(rest.at(-1) === LF ? '\n' : '\n\n')]))
  }

  protected fail(failure: UpstreamFailure): 'fail' {
    this.failure = failure
    return 'fail'
  }

  /** Reads whole events and returns those that may pass. */
  #follow(bytes: Buffer): Buffer | undefined {
    const text = bytes.toString('latin1')
    const emptyLine = !text.includes('\r') ? '\n\n' : NOT_CRLF.test(text) ? undefined : '\r\n\r\n'
    const pieces: Buffer[] = []
    let from = 0
    let start = 0
    while (start < text.length) {
      const first = text.charCodeAt(start)
      if (first === LF || first === CR) {
        start++
        continue
      }
      const end = endOf(text, start, emptyLine)
      const verdict = this.#event(text, bytes, start, end)
      if (verdict !== 'pass') {
        const to = verdict === 'last' ? end : start
        if (to > from) pieces.push(bytes.subarray(from, to))
        from = end
        if (verdict !== 'withhold') {
          from = text.length
          break
        }
      }
      start = end
    }
    if (from < bytes.length) pieces.push(from === 0 ? bytes : bytes.subarray(from))
    const [first, second] = pieces
    if (first === undefined) return undefined
    const passed = second === undefined ? first : Buffer.concat(pieces)
    this.passed(passed)
    return passed
  }

  #event(text: string, bytes: Buffer, start: number, end: number): Exclude<Verdict, 'quiet'> {
    const size = this.#shape.textWeight(text, start, end)
    if (size > 0) {
      this.delivered.deltas++
      this.delivered.bytes += size
      return 'pass'
    }
    if (text.charCodeAt(start) === COLON && isOneLine(text, start, end)) return 'pass'
    const { deltas, bytes: before } = this.delivered
    const verdict = this.#judge(bytes.toString('utf8', start, end))
    if (verdict === 'quiet') return this.#admitQuiet('pass')
    if (verdict === 'pass') {
      this.begun = true
      if (this.delivered.deltas === deltas + 1)
        this.#shape.learn(text, start, end, this.delivered.bytes - before)
    } else if (verdict === 'last') this.begun = true
    return verdict
  }

  #judge(text: string): Verdict {
    let verdict: Verdict | undefined
    readEvents(text, (event, data) => {
      verdict = this.#read(event, data)
    })
    if (verdict !== undefined) return verdict
    // Text without data has comments and names only, or is not an event stream.
    const lines = text.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n')
    return NO_FIELD.test(lines) ? this.fail(BAD_EVENT) : 'quiet'
  }

  #read(event: string, data: string): Verdict {
    if (data.length <= MAX_WORD) {
      const word = data.trim()
      if (word === '') return this.#admitQuiet('withhold')
      if (word === DONE) return this.readDone()
    }
    const value = tryParse(data)
    if (event !== 'error' && isRecord(value) && !value.error && value.type !== 'error') {
      const verdict = this.inspect(value)
      if (verdict !== undefined) return verdict
    }
    const type = isRecord(value) ? value.type : undefined
    if (event === 'error' || type === 'error' || (isRecord(value) && value.error))
      return this.fail(readFailure(value, this.request, 'error_event'))
    if (SIGNS_OF_LIFE.has(event) || SIGNS_OF_LIFE.has(type)) return this.#admitQuiet('withhold')
    return this.fail(isRecord(value) ? readFailure(value, this.request, 'bad_event') : BAD_EVENT)
  }

  #admitQuiet<V extends Verdict>(verdict: V): V | 'fail' {
    return this.#quiet.admit() ? verdict : this.fail(TOO_QUIET)
  }
}

/** Index after the event at `start`. `emptyLine`: the bytes of every empty line, undefined if they differ. */
function endOf(text: string, start: number, emptyLine: string | undefined): number {
  if (emptyLine === undefined) return eventEnd(text, start)
  const at = text.indexOf(emptyLine, start)
  return at < 0 ? text.length : at + emptyLine.length
}

function isOneLine(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at)
    if (code !== LF && code !== CR) continue
    for (let rest = at; rest < end; rest++) {
      const more = text.charCodeAt(rest)
      if (more !== LF && more !== CR) return false
    }
    return true
  }
  return true
}

function isWholeEvent(rest: Buffer): boolean {
  let whole = false
  readEvents(rest.toString('utf8'), (_event, data) => {
    whole ||= data.trim() === DONE || isRecord(tryParse(data))
  })
  return whole
}
