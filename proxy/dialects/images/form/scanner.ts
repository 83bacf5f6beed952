/**
 * Reads multipart/form-data (RFC 7578) in pieces or at once. It keeps only bytes that it cannot classify yet: the start
 * of a boundary's line or of a part's headers. Time is linear for all inputs: the only carriage return of a delimiter is
 * its first byte, so no byte is compared for two starts. docs/decisions/0012 explains why no library does this.
 */
import { CR, DASH, LF, SPACE, TAB } from '../../../../kit/bytes.ts'
import { MAX_HEADER_BYTES, MAX_PADDING, malformed, type PartHead, readPartHead } from './part-head.ts'

/** Receives the form. An error that it throws ends the scan. */
export interface FormSink {
  partStart(head: PartHead): void
  /** Called for each piece of the content; `bytes` is never empty. */
  content(bytes: Buffer): void
  partEnd(): void
}

/** The rest of a boundary's line. `next`: the start of the next part; absent after the last one. */
type LineTail = { next?: number } | 'unknown' | undefined

const NOTHING = Buffer.alloc(0)
const HEAD_END = Buffer.from('\r\n\r\n')
const LINE_END_BYTES = 2

export class FormScanner {
  readonly #sink: FormSink
  readonly #maxParts: number
  /** A boundary with the line end before it. */
  readonly #delimiter: Buffer
  /** The boundary without that line end. */
  readonly #line: Buffer
  #state: 'preamble' | 'head' | 'content' | 'epilogue' = 'preamble'
  /** Bytes that cannot be classified yet. */
  #kept: Buffer = NOTHING
  /** True while all bytes are kept: the first boundary needs no line end before it. */
  #atStart = true
  #parts = 0

  constructor(boundary: string, maxParts: number, sink: FormSink) {
    this.#maxParts = maxParts
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
    this.#line = this.#delimiter.subarray(LINE_END_BYTES)
    this.#sink = sink
  }

  /** Throws GatewayError invalid_request, and what the sink throws. */
  push(chunk: Buffer): void {
    const bytes = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk])
    this.#kept = NOTHING
    let at: number | undefined = 0
    while (at !== undefined && this.#state !== 'epilogue') {
      at = this.#state === 'head' ? this.#readHead(bytes, at) : this.#readContent(bytes, at)
    }
  }

  /** Throws GatewayError invalid_request for a form without an end. */
  end(): void {
    switch (this.#state) {
      case 'preamble':
        throw malformed('does not have the boundary that its content type names')
      case 'head':
        throw malformed('ends within the headers of a part')
      case 'content':
        throw malformed('ends before its last boundary')
    }
  }

  /** Returns the position after the headers; undefined if more bytes are needed. */
  #readHead(bytes: Buffer, from: number): number | undefined {
    const head = bytes.subarray(from, from + MAX_HEADER_BYTES)
    const length = head.indexOf(HEAD_END)
    if (length < 0) {
      if (head.length === MAX_HEADER_BYTES)
        throw malformed(`has a part with more than ${MAX_HEADER_BYTES} bytes of headers`)
      this.#kept = head
      return undefined
    }
    this.#sink.partStart(readPartHead(head.toString('latin1', 0, length)))
    this.#state = 'content'
    return from + length + HEAD_END.length
  }

  /** Like readHead. Bytes before the first part are skipped. */
  #readContent(bytes: Buffer, from: number): number | undefined {
    let search = from
    for (;;) {
      const start = this.#isLineAtStart(bytes) ? -LINE_END_BYTES : bytes.indexOf(this.#delimiter, search)
      const tail = start === -1 ? 'unknown' : lineTail(bytes, start + this.#delimiter.length)
      if (tail === 'unknown') {
        const open = start === -1 ? this.#openDelimiter(bytes, from) : Math.max(0, start)
        this.#atStart &&= open === 0
        this.#pass(bytes.subarray(from, open))
        this.#kept = bytes.subarray(open)
        return undefined
      }
      this.#atStart = false
      if (tail !== undefined) {
        this.#pass(bytes.subarray(from, Math.max(0, start)))
        this.#endPart(tail.next === undefined)
        return tail.next
      }
      // The rest of a delimiter has no carriage return, so no other one can start in it.
      search = start + this.#delimiter.length
    }
  }

  /** True for a boundary at the start of the form, which has no line end before it. */
  #isLineAtStart(bytes: Buffer): boolean {
    return this.#atStart && bytes.subarray(0, this.#line.length).equals(this.#line)
  }

  /** The start of an incomplete delimiter; the end of the bytes if there is none. */
  #openDelimiter(bytes: Buffer, from: number): number {
    if (this.#atStart && bytes.equals(this.#line.subarray(0, bytes.length))) return 0
    const tail = bytes.subarray(Math.max(from, bytes.length - this.#delimiter.length + 1))
    const start = tail.lastIndexOf(CR)
    if (start < 0) return bytes.length
    const begun = tail.subarray(start)
    return begun.equals(this.#delimiter.subarray(0, begun.length))
      ? bytes.length - begun.length
      : bytes.length
  }

  #pass(bytes: Buffer): void {
    if (this.#state === 'content' && bytes.length > 0) this.#sink.content(bytes)
  }

  #endPart(isLast: boolean): void {
    if (this.#state === 'content') this.#sink.partEnd()
    this.#state = isLast ? 'epilogue' : 'head'
    if (!isLast && this.#parts++ === this.#maxParts) throw malformed(`has more than ${this.#maxParts} parts`)
  }
}

/** Undefined for a line with text after the boundary, which is not a delimiter. */
function lineTail(bytes: Buffer, from: number): LineTail {
  if (bytes[from] === DASH && from + 1 === bytes.length) return 'unknown'
  if (bytes[from] === DASH && bytes[from + 1] === DASH) return {}
  let at = from
  while (at < from + MAX_PADDING && (bytes[at] === SPACE || bytes[at] === TAB)) at++
  if (at >= bytes.length || (bytes[at] === CR && at + 1 === bytes.length)) return 'unknown'
  return bytes[at] === CR && bytes[at + 1] === LF ? { next: at + 2 } : undefined
}
