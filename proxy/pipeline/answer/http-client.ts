/** Answers a request over HTTP. */
import type { ServerResponse } from 'node:http'
import type { ClientSide, ClientStream } from '../call.ts'
import type { Limits } from '../limits.ts'
import { sendWhole } from '../request/client.ts'
import { addHeader } from '../request/head.ts'
import { EventStream } from './event-stream.ts'

export class HttpClient implements ClientSide {
  readonly #res: ServerResponse
  readonly #limits: Pick<Limits, 'clientStallMs' | 'streamKeepAliveMs'>

  constructor(res: ServerResponse, limits: Pick<Limits, 'clientStallMs' | 'streamKeepAliveMs'>) {
    this.#res = res
    this.#limits = limits
  }

  get opened(): boolean {
    return this.#res.headersSent
  }

  get status(): number {
    return this.#res.headersSent ? this.#res.statusCode : 0
  }

  setHeader(name: string, value: string): void {
    if (!this.#res.headersSent) addHeader(this.#res, name, value)
  }

  whole(body: Buffer): void {
    sendWhole(this.#res, body, this.#limits.clientStallMs)
  }

  stream(keepAlive: Buffer): ClientStream {
    const { streamKeepAliveMs: keepAliveMs, clientStallMs: stallMs } = this.#limits
    return new EventStream(this.#res, { keepAlive, keepAliveMs, stallMs })
  }
}
