/** Streams a request body to an upstream while it arrives, with back-pressure from the upstream to the client. */

import { Readable } from 'node:stream'
import type { Canceller } from '../../../kit/cancel.ts'
import type { ClientApi } from '../../dialects/core/dialect.ts'
import type { BodyRest, FormLimits, ParsedRequest, ParsedUpload } from '../../dialects/core/request.ts'
import { GatewayError } from '../../errors.ts'
import { ClientGone } from '../request/client.ts'
import { type LargeBody, tooLarge } from './read-body.ts'

/** Bytes written at a time, and bytes that may wait for the upstream. */
const PIECE_BYTES = 65_536

export class Upload {
  readonly #body: Omit<LargeBody, 'prefix'>
  readonly #rest: BodyRest
  readonly #control: Canceller
  #first: Buffer[]
  #size: number
  #stream: Readable | undefined
  #touched = false
  #over = false

  /** Aborts `control`, with the error for the client, when the rest of the body is not valid. */
  constructor({ prefix, ...body }: LargeBody, { first, rest }: ParsedUpload, control: Canceller) {
    this.#body = body
    this.#size = prefix.length
    this.#first = first
    this.#rest = rest
    this.#control = control
  }

  /** True once bytes were sent that are no longer in memory, so the request cannot be repeated. */
  get touched(): boolean {
    return this.#touched
  }

  /** The upstream is waiting for the client. */
  get waitsForClient(): boolean {
    return this.#touched && !this.#over && !this.#body.req.isPaused() && this.#stream?.readableLength === 0
  }

  /** The body of an attempt: `beginning`, then the rest as it arrives. */
  open(beginning: Buffer): Readable {
    const ahead = pieces([beginning, ...this.#first])
    const stream = new Readable({
      highWaterMark: PIECE_BYTES,
      read: () => {
        const next = ahead.next()
        if (next.done !== true) stream.push(next.value)
        else if (this.#touched) this.#body.req.resume()
        else this.#take(stream)
      },
    })
    // The code that destroys the stream reports the failure itself.
    stream.on('error', () => undefined)
    return stream
  }

  /** Drops the rest of the body, which no longer has a reader. */
  drop(): void {
    if (this.#over) return
    this.#over = true
    this.#first = []
    this.#body.sent()
    this.#body.req.off('data', this.#onData).off('end', this.#onEnd).resume()
    this.#stream?.destroy()
  }

  #take(stream: Readable): void {
    const { req, res } = this.#body
    this.#touched = true
    this.#first = []
    this.#body.sent()
    this.#stream = stream
    // Events from before are not repeated: the client left, or its body was refused as broken or slow.
    if (req.destroyed || res.destroyed || res.writableEnded) {
      this.#onClose()
      return
    }
    req.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onClose).on('close', this.#onClose)
    res.on('close', this.#onClose)
    req.resume()
  }

  readonly #onData = (chunk: Buffer) => {
    this.#check(() => {
      this.#size += chunk.length
      if (this.#size > this.#body.maxBytes) throw tooLarge(this.#body.maxBytes)
      return this.#rest.push(chunk)
    })
  }

  readonly #onEnd = () => {
    if (!this.#check(() => this.#rest.end())) return
    this.#over = true
    this.#stream?.push(null)
  }

  readonly #onClose = () => this.#fail(new ClientGone())

  /** Forwards the bytes of `next`; false if it throws. */
  #check(next: () => Buffer[]): boolean {
    try {
      for (const bytes of next()) if (this.#stream?.push(bytes) === false) this.#body.req.pause()
      return true
    } catch (error) {
      this.#fail(GatewayError.from(error))
      return false
    }
  }

  #fail(reason: GatewayError | ClientGone): void {
    if (this.#over) return
    this.#control.abort(reason)
    this.drop()
  }
}

/** Throws GatewayError when the beginning is not a valid request, and drops the rest of the body. */
export function openUpload(
  { parseUpload }: Pick<ClientApi, 'parseUpload'>,
  body: LargeBody,
  control: Canceller,
  limits: FormLimits,
): { request: ParsedRequest; upload: Upload } {
  if (parseUpload === undefined) throw new TypeError('this endpoint takes no uploads')
  try {
    const parsed = parseUpload(body.prefix, limits, body.req.headers, body.req.url)
    return { request: parsed.request, upload: new Upload(body, parsed, control) }
  } catch (error) {
    body.req.resume()
    throw error
  }
}

function* pieces(buffers: readonly Buffer[]): Generator<Buffer, void, undefined> {
  for (const buffer of buffers) {
    for (let at = 0; at < buffer.length; at += PIECE_BYTES) yield buffer.subarray(at, at + PIECE_BYTES)
  }
}
