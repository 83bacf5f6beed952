/** Requests to the API server over one pool of HTTP/1.1 connections. */

import { setMaxListeners } from 'node:events'
import type { ConnectionOptions } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import type { DispatcherOptions } from '@kubernetes/client-node'
import { Agent, type buildConnector, type Dispatcher, ProxyAgent, request } from 'undici'
import type { Log } from '../../contract/log.ts'
import { pause } from '../../kit/time.ts'
import { CredentialSource, type Credentials, type CredentialsOptions } from './credentials.ts'
import { errorOf, errorOfAnswer } from './errors.ts'
import { linesOf } from './lines.ts'
import type { KubeCall, KubeClient, KubeError } from './types.ts'

export interface ConnectOptions extends CredentialsOptions {
  log: Log
  /** Called after each request, with HTTP method and status (0: no answer). */
  onRequest?: (verb: string, status: number) => void
}

const DEFAULT_TIMEOUT_MS = 10_000
/** If the server is busy and does not say for how long. */
const DEFAULT_RETRY_AFTER_MS = 1_000
const POOL: Agent.Options = {
  // HTTP/2 would send everything over one connection: if that dies silently, all requests hang.
  allowH2: false,
  // No limit: each watch keeps its connection, and a request that waits for one of them would wait for ever.
  connections: null,
  // A watch may be silent; its reader decides for how long.
  bodyTimeout: 0,
}

/**
 * Throws if there is neither a kubeconfig nor a ServiceAccount of a pod. `namespace` is that of the pod or of the
 * kubeconfig's context.
 */
export function connectKube(options: ConnectOptions): KubeClient & { namespace: string | undefined } {
  return new HttpKubeClient(options)
}

class HttpKubeClient implements KubeClient {
  readonly namespace: string | undefined
  readonly #options: ConnectOptions
  readonly #credentials: CredentialSource
  readonly #closed = new AbortController()
  #pool: { connection: DispatcherOptions; dispatcher: Dispatcher } | undefined
  /** The current pool, and earlier ones with running streams. */
  readonly #open = new Set<Dispatcher>()

  constructor(options: ConnectOptions) {
    // One listener for each running call.
    setMaxListeners(0, this.#closed.signal)
    this.#options = options
    this.#credentials = new CredentialSource(options)
    this.namespace = this.#credentials.namespace
  }

  async request(call: KubeCall): Promise<unknown> {
    const deadline = new Deadline(call, this.#closed.signal)
    try {
      const { body } = await this.#send(call, deadline)
      const text = await body.text()
      return text === '' ? undefined : JSON.parse(text)
    } catch (error) {
      throw errorOf(call, error, deadline.passed)
    } finally {
      deadline.release()
    }
  }

  async *stream(call: KubeCall): AsyncGenerator<unknown, void, undefined> {
    const deadline = new Deadline(call, this.#closed.signal)
    try {
      const { body } = await this.#send(call, deadline)
      deadline.lift()
      for await (const line of linesOf(body)) yield JSON.parse(line)
    } catch (error) {
      throw errorOf(call, error, deadline.passed)
    } finally {
      deadline.release()
    }
  }

  async close(): Promise<void> {
    this.#closed.abort()
    await Promise.all([...this.#open].map((dispatcher) => dispatcher.destroy()))
  }

  /** Returns a successful answer; retries while the server is busy and the deadline allows it. */
  async #send(call: KubeCall, deadline: Deadline): Promise<Dispatcher.ResponseData> {
    for (;;) {
      const answer = await this.#sendOnce(call, deadline)
      if (answer.statusCode < 300) return answer
      const error = await errorOfAnswer(call, answer)
      const waitMs = waitBeforeRepeat(call, error)
      if (waitMs === undefined || waitMs >= deadline.leftMs()) throw error
      await pause(waitMs, deadline.signal, 'reject')
    }
  }

  async #sendOnce(call: KubeCall, deadline: Deadline): Promise<Dispatcher.ResponseData> {
    const { method = 'GET', path, query, body, contentType = 'application/json' } = call
    const { headers, connection } = await this.#credentials.current()
    deadline.signal.throwIfAborted()
    try {
      const answer = await request(`${this.#credentials.server}${path}`, {
        method,
        headers: {
          ...call.headers,
          ...headers,
          accept: 'application/json',
          'user-agent': 'sluice',
          ...(body !== undefined && { 'content-type': contentType }),
        },
        dispatcher: this.#dispatcher(connection),
        signal: deadline.signal,
        headersTimeout: call.timeoutMs ?? DEFAULT_TIMEOUT_MS,
        ...(query && { query: { ...query } }),
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      this.#options.onRequest?.(method, answer.statusCode)
      return answer
    } catch (error) {
      this.#options.onRequest?.(method, 0)
      throw error
    }
  }

  /** The pool; a new one if the certificates have changed. */
  #dispatcher(connection: Credentials['connection']): Dispatcher {
    if (this.#pool !== undefined && isDeepStrictEqual(this.#pool.connection, connection))
      return this.#pool.dispatcher
    const old = this.#pool?.dispatcher
    const dispatcher = makeDispatcher(connection)
    this.#pool = { connection, dispatcher }
    this.#open.add(dispatcher)
    if (old !== undefined) {
      this.#options.log.info(
        {},
        'certificates for the API server have changed; new connections use the new ones',
      )
      // Resolves when its last stream has ended; rejects if the client was closed before.
      old.close().then(
        () => this.#open.delete(old),
        () => this.#open.delete(old),
      )
    }
    return dispatcher
  }
}

function makeDispatcher(connection: DispatcherOptions): Dispatcher {
  switch (connection.type) {
    case 'none':
      return new Agent(POOL)
    case 'agent':
      return new Agent({ ...POOL, connect: tlsOf(connection.connect) })
    case 'proxy':
      return new ProxyAgent({ ...POOL, uri: connection.uri, requestTls: tlsOf(connection.requestTls) })
    case 'socks':
      throw new Error('a SOCKS proxy to the API server is not supported; use an HTTP proxy')
  }
}

/** The libraries agree on these options, but not on whether an absent one may be written as undefined. */
function tlsOf(options: ConnectionOptions): buildConnector.BuildOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

/** How long to wait before a retry; undefined if the server does not ask for one, or if it might do the work twice. */
function waitBeforeRepeat(call: KubeCall, { status, retryAfterMs }: KubeError): number | undefined {
  // https://kubernetes.io/docs/concepts/cluster-administration/flow-control/: 429 means that nothing was done.
  if (status === 429) return retryAfterMs ?? DEFAULT_RETRY_AFTER_MS
  if (status === 503 && call.method !== 'POST') return retryAfterMs
  return undefined
}

/**
 * Aborts a call when its time is over, its caller aborts it, or the client is closed. Not `AbortSignal.any`, which stays
 * in memory as long as the longest-lived of its signals.
 */
class Deadline {
  readonly #over = new AbortController()
  readonly #parents: AbortSignal[]
  readonly #end: number
  readonly #timer: NodeJS.Timeout
  readonly #abort = () => this.#over.abort()
  passed = false

  constructor({ timeoutMs = DEFAULT_TIMEOUT_MS, signal }: KubeCall, closed: AbortSignal) {
    this.#end = performance.now() + timeoutMs
    this.#timer = setTimeout(() => {
      this.passed = true
      this.#abort()
    }, timeoutMs)
    this.#parents = signal === undefined ? [closed] : [closed, signal]
    for (const parent of this.#parents) {
      if (parent.aborted) this.#abort()
      else parent.addEventListener('abort', this.#abort)
    }
  }

  get signal(): AbortSignal {
    return this.#over.signal
  }

  leftMs(): number {
    return this.#end - performance.now()
  }

  /** Removes the time limit. */
  lift(): void {
    clearTimeout(this.#timer)
  }

  /** Must be called when the call is over. */
  release(): void {
    this.lift()
    for (const parent of this.#parents) parent.removeEventListener('abort', this.#abort)
  }
}
