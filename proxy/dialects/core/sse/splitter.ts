/**
 * Splits the bytes of a server-sent event stream into whole events
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream). Lines end in LF, CR LF
 * or CR, also mixed. An empty line ends an event.
 */
import { CR, LF } from '../../../../kit/bytes.ts'

const FIRST_CAPACITY = 4096

export class EventTooLarge extends Error {
  override name = 'EventTooLarge'

  constructor(limit: number) {
    super(`an event of the stream is larger than ${limit} bytes`)
  }
}

/**
 * True when `last` ends an empty line; `before` and `earlier` are the codes before it, LF where the stream begins. True
 * for both the CR and the LF that end one empty line: the LF is then an empty event, which readers skip.
 */
export function endsEmptyLine(earlier: number, before: number, last: number): boolean {
  if (last === LF && before === CR) return earlier === LF || earlier === CR
  return (last === LF || last === CR) && (before === LF || before === CR)
}

/** Collects chunks and returns the whole events in them. */
export class EventSplitter {
  readonly #limit: number
  /** The first `#length` bytes are the beginning of an incomplete event. */
  #held = Buffer.alloc(0)
  #length = 0
  #last = LF
  #beforeLast = LF

  /** @param maxEventBytes limit for an event without its final line end. */
  constructor(maxEventBytes: number) {
    this.#limit = maxEventBytes
  }

  /** Takes a chunk; returns all bytes up to the end of the last complete event, if any. Throws EventTooLarge. */
  push(chunk: Buffer): Buffer | undefined {
    const end = this.#lastEventEnd(chunk)
    this.#remember(chunk)
    if (end === 0) {
      this.#hold(chunk)
      return undefined
    }
    let whole = end === chunk.length ? chunk : chunk.subarray(0, end)
    if (this.#length > 0) {
      this.#append(whole)
      whole = this.rest()
    }
    if (whole.length > this.#limit) this.#checkEach(whole)
    if (end < chunk.length) this.#hold(chunk.subarray(end))
    return whole
  }

  /** Returns and releases the bytes after the last whole event. */
  rest(): Buffer {
    const rest = this.#held.subarray(0, this.#length)
    this.#held = Buffer.alloc(0)
    this.#length = 0
    return rest
  }

  /** Index after the last event end in the chunk; 0 when there is none. */
  #lastEventEnd(chunk: Buffer): number {
    for (let i = chunk.length - 1; i >= 0; i--) {
      const byte = chunk[i]
      if (byte !== LF && byte !== CR) continue
      const before = chunk[i - 1] ?? this.#last
      const earlier = chunk[i - 2] ?? (i === 1 ? this.#last : this.#beforeLast)
      if (endsEmptyLine(earlier, before, byte)) return i + 1
    }
    return 0
  }

  /** Whole events may be too large too, whatever the number of chunks. */
  #checkEach(events: Buffer): void {
    let start = 0
    for (let i = 0; i < events.length; i++) {
      const code = (at: number) => events[at] ?? LF
      if (!endsEmptyLine(code(i - 2), code(i - 1), code(i))) continue
      if (i - start > this.#limit) throw new EventTooLarge(this.#limit)
      start = i + 1
    }
  }

  #remember(chunk: Buffer): void {
    const last = chunk[chunk.length - 1]
    if (last === undefined) return
    this.#beforeLast = chunk[chunk.length - 2] ?? this.#last
    this.#last = last
  }

  #hold(bytes: Buffer): void {
    if (this.#length + bytes.length > this.#limit) throw new EventTooLarge(this.#limit)
    this.#append(bytes)
  }

  /** Doubles the buffer, so that an event in many small chunks costs linear time and bounded memory. */
  #append(bytes: Buffer): void {
    const length = this.#length + bytes.length
    if (length > this.#held.length) {
      const wider = Buffer.allocUnsafe(Math.max(FIRST_CAPACITY, this.#held.length * 2, length))
      this.#held.copy(wider, 0, 0, this.#length)
      this.#held = wider
    }
    bytes.copy(this.#held, this.#length)
    this.#length = length
  }
}
