/** One call of a client: a request over HTTP, or a frame of a WebSocket. */

import type { IncomingMessage } from 'node:http'
import type { Canceller } from '../../kit/cancel.ts'
import type { Endpoint } from '../dialects/index.ts'
import type { LargeBody, WholeBody } from './body/read-body.ts'

export interface Call {
  endpoint: Endpoint & { name: string }
  requestId: string
  /** The HTTP request, or the one that opened the socket. It shows the caller and its address. */
  req: IncomingMessage
  client: ClientSide
  /** Aborted when work on the answer must end early; its reason is ClientGone or the GatewayError for the client. */
  control: Canceller
  /** Reads the body, or only its beginning if the endpoint streams larger ones. Throws GatewayError and ClientGone. */
  read(): Promise<WholeBody | LargeBody>
  /** Answers that the connection itself remembers. */
  memory?: ConnectionMemory
  /** False: the answer only prepares a conversation; it calls no upstream and costs nothing. */
  generate?: boolean
}

/** Takes an answer: whole, or as a stream. */
export interface ClientSide {
  /** True once an answer has begun: from then on a failure becomes an event. */
  readonly opened: boolean
  /** The HTTP status that was sent; 0 before. */
  readonly status: number
  /** Does nothing if there are no headers, or once they are sent. */
  setHeader(name: string, value: string): void
  whole(body: Buffer): void
  /** Starts the keep-alive clock at once. `keepAlive` is sent during silence, unless the transport has pings. */
  stream(keepAlive: Buffer): ClientStream
}

/** Takes the bytes of Server-Sent Events, whole events at a time. */
export interface ClientStream {
  readonly opened: boolean
  /** True when the client was cut off because it did not read. */
  readonly stalled: boolean
  /** False: wait for onDrain before sending more. */
  write(bytes: Buffer): boolean
  /** Calls `drained` each time the client has caught up. */
  onDrain(drained: () => void): void
  /** Ends the stream, after `last` if given. */
  end(last?: Buffer): void
  /** Stops the clocks of a stream that was never opened, because the answer has another form. */
  abandon(): void
}

/** Conversations of one connection. The oldest give way to new ones. Items are JSON texts (dialects/core/chains.ts). */
export interface ConnectionMemory {
  /** All items of the conversation up to and with the answer `id`. */
  history(id: string): readonly string[] | undefined
  /** `items`: those that the answer `id` and its request added to the conversation of `parent`. */
  remember(id: string, parent: string | undefined, items: readonly string[]): void
}
