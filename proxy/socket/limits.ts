import type { JsonLimits } from '../dialects/core/request.ts'

/** Bounds on one WebSocket; times in milliseconds. */
export interface SocketLimits {
  /** Largest message, and most bytes of waiting and running calls together. */
  maxMessageBytes: number
  /** Fragments of one message. */
  maxFragments: number
  /** Pings of one burst that get an answer; one more ends the connection. */
  maxPendingPongs: number
  json: JsonLimits
  /** Calls that run at the same time. */
  maxRunning: number
  /** Waiting calls; beyond, the socket is not read. */
  maxWaiting: number
  /** Names of streams, without the unnamed one. */
  maxNames: number
  /** Refused messages in a row that end the connection. */
  maxRefusals: number
  /** Unsent bytes beyond which answers and the socket's own messages wait for the client to read. */
  highWaterBytes: number
  /** Unsent bytes at which the socket is cut off: its client provokes messages and does not read them. */
  maxUnsentBytes: number
  /** Time for a message from its first byte to its last. */
  messageMs: number
  /** Bytes of incomplete messages and of waiting calls, over all sockets of a process. */
  maxHeldBytes: number
  /** How long a client may leave sent bytes unread. */
  stallMs: number
  /** Silence after which a ping is sent. */
  pingMs: number
  /** Time for the pong. */
  pongMs: number
  /** Age at which a socket takes no new calls, and closes when the last one is over. */
  maxAgeMs: number
  /** Time for the client to close its side. */
  closeMs: number
  /** Answers that a connection remembers. */
  maxAnswers: number
  /** Bytes of remembered texts. */
  maxAnswerBytes: number
}

const MIB = 1_048_576

/** Limits without a setting. 16 running and 32 names: https://platform.openai.com/docs/guides/websocket-mode */
export const FIXED_LIMITS = {
  maxPendingPongs: 60,
  maxRunning: 16,
  maxWaiting: 256,
  maxNames: 32,
  maxRefusals: 64,
  highWaterBytes: MIB,
  closeMs: 5_000,
  maxAnswers: 64,
  maxAnswerBytes: 64 * MIB,
} as const satisfies Partial<SocketLimits>
