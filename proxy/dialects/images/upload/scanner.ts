/**
 * Reads multipart/form-data (RFC 7578) as it comes, as form/parse.ts does with one that is complete. Of what has come it
 * keeps only what cannot be told yet: part of a boundary's line, or of a part's headers. Time is linear in the bytes.
 */
import { CR, DASH, LF, SPACE, TAB } from '../../../../kit/bytes.ts'
import {
  headTooLarge,
  MAX_HEADER_BYTES,
  MAX_PADDING,
  malformed,
  type PartHead,
  readPartHead,
  tooManyParts,
} from '../form/part-head.ts'
import { LINE_END } from '../form/write.ts'

/** Gets the form. What it throws ends the scan. */
export interface FormSink {
  partStart(head: PartHead): void
  /** Never empty; as often as needed. */
  content(bytes: Buffer): void
  partEnd(): void
}

/** How the line of a boundary goes on. `next`: where the next part begins; absent behind the last one. */
type LineTail = { next?: number } | 'unknown' | undefined

const NOTHING = Buffer.alloc(0)
const HEAD_END = Buffer.from('\r\n\r\n')

export class FormScanner {
  readonly #sink: FormSink
  readonly #maxParts: number
  /** A boundary with the line end before it. */
  readonly #delimiter: Buffer
  #state: 'preamble' | 'head' | 'content' | 'epilogue' = 'preamble'
  /** What cannot be told yet; at first a line end, since a form may begin with its boundary. */
  #kept: Buffer = LINE_END
  #parts = 0

  constructor(boundary: string, maxParts: number, sink: FormSink) {
    this.#maxParts = maxParts
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
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

  /** No more comes. Throws GatewayError invalid_request for a form without an end. */
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

  /** Returns where to go on; undefined when more is needed. */
  #readHead(bytes: Buffer, from: number): number | undefined {
    const head = bytes.subarray(from, from + MAX_HEADER_BYTES)
    const length = head.indexOf(HEAD_END)
    if (length < 0) {
      if (head.length === MAX_HEADER_BYTES) throw headTooLarge()
      this.#kept = head
      return undefined
    }
    this.#sink.partStart(readPartHead(head.toString('latin1', 0, length)))
    this.#state = 'content'
    return from + length + HEAD_END.length
  }

  /** As readHead; of what stands before the first part nothing is told. */
  #readContent(bytes: Buffer, from: number): number | undefined {
    let search = from
    for (;;) {
      const start = bytes.indexOf(this.#delimiter, search)
      const tail = start < 0 ? 'unknown' : lineTail(bytes, start + this.#delimiter.length)
      if (tail === 'unknown') {
        const open = start < 0 ? this.#openDelimiter(bytes, from) : start
        this.#pass(bytes.subarray(from, open))
        this.#kept = bytes.subarray(open)
        return undefined
      }
      if (tail !== undefined) {
        this.#pass(bytes.subarray(from, start))
        this.#endPart(tail.next === undefined)
        return tail.next
      }
      // The rest of it has no carriage return: no other one begins there.
      search = start + this.#delimiter.length
    }
  }

  /** Where a delimiter may have begun of which the end is still to come; the end of the bytes if none has. */
  #openDelimiter(bytes: Buffer, from: number): number {
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
    if (!isLast && this.#parts++ === this.#maxParts) throw tooManyParts(this.#maxParts)
  }
}

/** Undefined when the line goes on with anything but spaces: then it is no delimiter. */
function lineTail(bytes: Buffer, from: number): LineTail {
  if (bytes[from] === DASH && from + 1 === bytes.length) return 'unknown'
  if (bytes[from] === DASH && bytes[from + 1] === DASH) return {}
  let at = from
  while (at < from + MAX_PADDING && (bytes[at] === SPACE || bytes[at] === TAB)) at++
  if (at >= bytes.length || (bytes[at] === CR && at + 1 === bytes.length)) return 'unknown'
  return bytes[at] === CR && bytes[at + 1] === LF ? { next: at + 2 } : undefined
}
