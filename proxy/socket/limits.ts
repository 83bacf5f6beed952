/** Bounds on one WebSocket; times in milliseconds. */
export interface SocketLimits {
  /** Largest message, and most bytes of calls that wait or run. */
  maxMessageBytes: number
  /** Pieces that a message may come in. */
  maxFragments: number
  /** Pings of one burst that are answered; one more ends the connection. */
  maxPendingPongs: number
  maxJsonDepth: number
  maxJsonKeys: number
  maxJsonValues: number
  /** Calls that run at the same time. */
  maxRunning: number
  /** Calls that wait; beyond, the socket is not read. */
  maxWaiting: number
  /** Names of streams, the one without a name left out. */
  maxNames: number
  /** Messages refused in a row, none taken between them, that end the connection. */
  maxRefusals: number
  /** Unsent bytes from which on answers, and the socket's own messages, wait for the client to read. */
  highWaterBytes: number
  /** Unsent bytes at which a client is cut off that provokes messages and does not read them. */
  maxUnsentBytes: number
  /** Time for a message that has begun to be complete. */
  messageMs: number
  /** Bytes of messages that have begun and of calls that wait, of all sockets of a process. */
  maxHeldBytes: number
  /** How long a client may leave what was sent unread. */
  stallMs: number
  /** Silence after which the client is asked for a sign of life. */
  pingMs: number
  /** Time for that sign. */
  pongMs: number
  /** Age at which no new calls are taken, and a socket is closed as soon as none runs. */
  maxAgeMs: number
  /** Time for the client's part of closing. */
  closeMs: number
  /** Answers that a connection remembers. */
  maxAnswers: number
  /** Bytes of remembered texts. */
  maxAnswerBytes: number
}

const MIB = 1_048_576

/** What is no setting. 16 running and 32 names: https://platform.openai.com/docs/guides/websocket-mode */
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
