/** One call of a client, whatever it came by: a request over HTTP, or a frame of a WebSocket. */
import type { IncomingMessage } from 'node:http'
import type { Endpoint } from '../dialects/index.ts'
import type { LargeBody } from './body/read-body.ts'

export interface ServedEndpoint extends Endpoint {
  name: string
}

export interface Call {
  endpoint: ServedEndpoint
  requestId: string
  /** The request, or the one that opened the socket: who calls, and from where. */
  req: IncomingMessage
  client: ClientSide
  /** Aborted when work on the answer must end early; its reason is ClientGone or the GatewayError to tell. */
  control: AbortController
  /** The body, or its beginning where the endpoint takes larger ones. Throws GatewayError and ClientGone. */
  read(): Promise<Buffer | LargeBody>
  /** What the connection itself remembers of its answers. */
  memory?: ConnectionMemory
  /** False: the answer only prepares a conversation; no upstream is asked and nothing is billed. */
  generate?: boolean
}

/** Takes an answer: whole, or as a stream. */
export interface ClientSide {
  /** True once an answer has begun: from then on a failure is told by an event. */
  readonly opened: boolean
  /** The HTTP status that was sent; 0 before. */
  readonly status: number
  /** Ignored where there are no headers, or not any more. */
  setHeader(name: string, value: string): void
  whole(body: Buffer): void
  /** The clock of silence starts at once. `keepAlive` is sent in silence, where the transport has no other sign of life. */
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
  /** Ends the clocks of a stream that was never opened: its answer takes another form. */
  abandon(): void
}

/** Conversations of one connection, bounded; what is gone is not found. Items are JSON texts (dialects/chains.ts). */
export interface ConnectionMemory {
  /** All items of the conversation up to and with the answer `id`. */
  history(id: string): readonly string[] | undefined
  /** `items`: what the answer `id` and its request added to the conversation of `parent`. */
  remember(id: string, parent: string | undefined, items: readonly string[]): void
}
