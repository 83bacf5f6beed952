/** One WebSocket: its messages become calls of the pipeline, their answers become messages. */

import type { IncomingMessage } from 'node:http'
import type { RawData, WebSocket } from 'ws'
import { SOCKET_ENDPOINT } from '../../contract/endpoints.ts'
import { Cancel, type Cancellation, type Canceller } from '../../kit/cancel.ts'
import { MAX_TIMER_MS } from '../../kit/time.ts'
import { ENDPOINTS } from '../dialects/index.ts'
import { GatewayError } from '../errors.ts'
import { jsonBody } from '../pipeline/body/read-body.ts'
import type { Call } from '../pipeline/call.ts'
import { ClientGone } from '../pipeline/request/client.ts'
import type { Shutdown } from '../pipeline/request/shutdown.ts'
import { errorFrame, steerFailedFrame } from './events.ts'
import { type CreateFrame, readFrame, type StreamName } from './frames.ts'
import { startHeartbeat } from './heartbeat.ts'
import { Intake, type IntakePool } from './intake.ts'
import type { SocketLimits } from './limits.ts'
import { type MemoryPool, SocketMemory } from './memory.ts'
import { Outbox } from './outbox.ts'
import { SocketClient } from './socket-client.ts'
import { watchStall } from './stall.ts'
import { Streams } from './streams.ts'

/** Parts that all connections share. */
export interface SocketParts {
  limits: SocketLimits
  pool: MemoryPool
  /** Serves one call; rejects with the error for the client when nothing was sent yet. */
  serve(call: Call): Promise<void>
  /** Logs a message that was refused before it became a call. */
  refused(req: IncomingMessage, error: GatewayError): void
  /** Aborts all calls when the process must end. */
  shutdown: Pick<Shutdown, 'add' | 'remove'>
  newRequestId(): string
  /** Milliseconds of a clock that only goes forward. */
  now(): number
}

/** Parts of one connection. */
interface ConnectionParts extends SocketParts {
  intake: IntakePool
  /** Aborted when the key that opened it is revoked. */
  revoked: Cancellation
}

const ENDPOINT = { ...ENDPOINTS[SOCKET_ENDPOINT], name: SOCKET_ENDPOINT }

const NORMAL = 1000
const GOING_AWAY = 1001
const UNSUPPORTED_DATA = 1003
const POLICY_VIOLATION = 1008
const TRY_AGAIN_LATER = 1013

/** Reasons for closing, by code. */
const REASONS: Record<number, string> = {
  [GOING_AWAY]: 'The gateway is shutting down.',
  [POLICY_VIOLATION]: 'The API key is no longer valid.',
}

interface Job extends CreateFrame {
  bytes: number
}

export class Connection {
  readonly #ws: WebSocket
  readonly #req: IncomingMessage
  readonly #parts: ConnectionParts
  readonly #memory: SocketMemory
  readonly #outbox: Outbox
  readonly #intake: Intake
  readonly #streams: Streams<Job>
  readonly #calls = new Set<Canceller>()
  readonly #openedAt: number
  readonly #stopHeartbeat: () => void
  readonly #stopStallWatch: () => void
  readonly #ageClock: NodeJS.Timeout
  /** The code to close with when the last call is over. */
  #leaving: number | undefined
  #stalled = false
  /** Messages refused since the last accepted call. */
  #refusals = 0

  /** `closed` is called once, when the socket is closed. */
  constructor(ws: WebSocket, req: IncomingMessage, parts: ConnectionParts, closed: () => void) {
    const { limits } = parts
    const { socket } = req
    this.#ws = ws
    this.#req = req
    this.#parts = parts
    this.#openedAt = parts.now()
    this.#memory = new SocketMemory(limits, parts.pool)
    this.#outbox = new Outbox(ws, socket, limits, {
      changed: () => this.#balance(),
      overrun: () => this.#cutOff(),
    })
    this.#streams = new Streams(limits, (job) => this.#run(job))
    ws.on('message', (data, isBinary) => this.#take(data, isBinary))
    // A message broke the protocol: ws drops it and closes with the matching code.
    ws.on('error', () => this.#intake.end())
    ws.on('close', () => {
      this.#gone()
      closed()
    })
    this.#intake = new Intake(parts.intake, {
      messageMs: limits.messageMs,
      bytesRead: () => socket.bytesRead,
      isPaused: () => ws.isPaused,
      onTimeout: () => this.#close(POLICY_VIOLATION, 'A message was not completed in time.'),
      cutOff: () => {
        this.#close(TRY_AGAIN_LATER, 'The gateway holds too many messages.')
        ws.terminate()
      },
    })
    for (const event of ['ping', 'pong'] as const) ws.on(event, (data) => this.#intake.control(data.length))
    // After the listener of ws, which has emitted complete messages by then.
    socket.on('data', () => this.#intake.onBytes())
    this.#stopStallWatch = watchStall(ws, socket, limits.stallMs, () => this.#cutOff())
    this.#ageClock = setTimeout(
      () => {
        this.#leaving ??= NORMAL
        this.#closeIfQuiet()
      },
      Math.min(limits.maxAgeMs, MAX_TIMER_MS),
    ).unref()
    this.#stopHeartbeat = startHeartbeat(ws, socket, limits)
    parts.revoked.addEventListener('abort', () => this.#revoke())
  }

  /** Takes no new calls, and closes when the running ones are over. */
  leave(): void {
    if (this.#leaving !== POLICY_VIOLATION) this.#leaving = GOING_AWAY
    this.#closeIfQuiet()
  }

  terminate(): void {
    this.#ws.terminate()
  }

  /** Aborts running calls, which answer with an error before the socket closes; waiting ones never begin. */
  #revoke(): void {
    this.#leaving = POLICY_VIOLATION
    this.#streams.drop()
    for (const control of this.#calls) control.abort(this.#parts.revoked.reason)
    this.#balance()
    this.#closeIfQuiet()
  }

  #take(data: RawData, isBinary: boolean): void {
    this.#intake.message()
    if (this.#ws.readyState !== this.#ws.OPEN) return
    if (isBinary || !Buffer.isBuffer(data)) {
      this.#close(UNSUPPORTED_DATA, 'Messages are JSON texts.')
      return
    }
    const frame = readFrame(data, this.#parts.limits.json)
    if (frame.kind === 'create') this.#create(frame)
    else if (frame.kind === 'refused') this.#refuse(frame.error, frame.stream)
    else if (frame.kind === 'steer')
      this.#outbox.send(steerFailedFrame(frame.previous, frame.input, frame.stream))
  }

  #create(frame: CreateFrame): void {
    const refusal = this.#refusalOf(frame.stream)
    if (refusal !== undefined) {
      this.#refuse(refusal, frame.stream)
      this.#closeIfQuiet()
    } else {
      this.#refusals = 0
      this.#streams.add({ ...frame, bytes: frame.body.length })
      this.#balance()
    }
  }

  #refusalOf(stream: StreamName): GatewayError | undefined {
    const { limits, now } = this.#parts
    if (this.#leaving === GOING_AWAY) {
      const message = 'The gateway is shutting down; open a new connection.'
      return new GatewayError('overloaded', message, { retryAfterSeconds: 1 })
    }
    if (this.#leaving === NORMAL || now() - this.#openedAt >= limits.maxAgeMs) {
      this.#leaving = NORMAL
      return new GatewayError(
        'websocket_connection_limit_reached',
        `Responses websocket connection limit reached (${limits.maxAgeMs / 60_000} minutes). Create a new websocket connection to continue.`,
      )
    }
    if (this.#streams.admits(stream)) return undefined
    const message = `A connection may have at most ${limits.maxNames} stream_ids.`
    return new GatewayError('websocket_stream_limit_reached', message, { param: 'stream_id' })
  }

  #refuse(error: GatewayError, stream: StreamName): void {
    this.#parts.refused(this.#req, error)
    this.#outbox.send(errorFrame(error, stream))
    // Each refusal costs a log line: without this bound a client could flood the log.
    if (++this.#refusals >= this.#parts.limits.maxRefusals)
      this.#close(POLICY_VIOLATION, 'Too many messages were refused.')
  }

  async #run({ stream, body, generate, previous }: Job): Promise<void> {
    const { serve, shutdown, newRequestId } = this.#parts
    const control = new Cancel()
    const client = new SocketClient(this.#outbox, stream, () => this.#stalled)
    let revoked = false
    this.#calls.add(control)
    const seat = shutdown.add(control)
    try {
      await serve({
        endpoint: ENDPOINT,
        requestId: newRequestId(),
        req: this.#req,
        client,
        control,
        read: () => jsonBody(body),
        memory: this.#memory.of(stream),
        generate,
      })
    } catch (error) {
      const refusal = GatewayError.from(error)
      client.refuse(refusal)
      revoked = refusal.code === 'unauthorized' || refusal.code === 'ip_not_allowed'
    }
    shutdown.remove(seat)
    if (client.failed && previous !== undefined) this.#memory.failed(stream, previous)
    await client.flushed()
    this.#calls.delete(control)
    // The key that opened the socket was revoked.
    if (revoked) this.#close(POLICY_VIOLATION, REASONS[POLICY_VIOLATION])
    // Streams frees the place of this call only after this turn.
    setImmediate(() => {
      this.#balance()
      this.#closeIfQuiet()
    })
  }

  /** Reads the socket only while there is room for more calls and the client reads its answers. */
  #balance(): void {
    this.#intake.queue(this.#streams.waitingBytes)
    const { readyState, OPEN, isPaused } = this.#ws
    const enough = this.#streams.full || !this.#outbox.flowing
    if (readyState !== OPEN || enough === isPaused) return
    if (enough) this.#ws.pause()
    else this.#ws.resume()
  }

  #closeIfQuiet(): void {
    if (this.#leaving === undefined || !this.#streams.quiet) return
    this.#close(this.#leaving, REASONS[this.#leaving])
  }

  #close(code: number, reason = ''): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return
    this.#ws.close(code, reason)
    // A paused socket would never read the client's own close.
    this.#ws.resume()
  }

  #cutOff(): void {
    this.#stalled = true
    this.#ws.terminate()
  }

  #gone(): void {
    this.#stopHeartbeat()
    this.#stopStallWatch()
    clearTimeout(this.#ageClock)
    this.#intake.end()
    this.#streams.drop()
    for (const control of this.#calls) control.abort(new ClientGone())
    this.#outbox.close()
    this.#memory.clear()
  }
}
