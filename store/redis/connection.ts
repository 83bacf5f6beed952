/** A connection to one Redis or one Redis Cluster, as the parts of the store use it. */

import { Command } from 'ioredis'
import type { Log } from '../../contract/log.ts'
import { withDeadline } from '../../kit/time.ts'
import { StoreUnavailable } from '../contract.ts'
import { Breaker } from './breaker.ts'
import { type Client, type ClientEvents, createClient } from './client.ts'
import { SCRIPTS, scriptNamed } from './scripts.ts'
import type { TlsOptions } from './tls.ts'

export interface RedisConnection {
  /**
   * Runs a script of store/lua by its name ("ledger/reserve"), loading it if necessary. All keys must have the same hash
   * tag. Rejects with StoreUnavailable after `timeoutMs` (default 250), of which a turn of the event loop uses up at most a
   * fifth, and at once while the server is known to be unreachable; rejects with RedisError if the server refuses the command.
   */
  run(
    script: string,
    keys: readonly string[],
    args: readonly (string | number)[],
    timeoutMs?: number,
  ): Promise<unknown>
  /** Sends a command on one key, such as ['GET', key], with the same time-out and errors. */
  command(
    command: readonly [name: string, key: string, ...args: (string | number)[]],
    timeoutMs?: number,
  ): Promise<unknown>
  /** The server, or the primaries of a Cluster, for commands without a key. Rejects with StoreUnavailable. */
  primaries(): Promise<Primary[]>
  /** See Store.onRestored. */
  onRestored(listener: () => void): () => void
  close(): Promise<void>
}

export interface Primary {
  /** "host:port" */
  node: string
  /** Rejects as RedisConnection.command does. */
  command(name: string, ...args: string[]): Promise<unknown>
}

interface RedisConnectionOptions {
  /** See createClient. */
  url: string
  /** Name of this connection in CLIENT LIST. */
  name: string
  log: Log
  /** For rediss://; default: the public authorities. */
  tls?: TlsOptions | undefined
  /** Default 250. */
  commandTimeoutMs?: number | undefined
}

/** Connects in the background, now and whenever the connection is lost; never throws for an unreachable server. */
export function createRedisConnection(options: RedisConnectionOptions): RedisConnection {
  return new Connection(options)
}

/** The server refused a command. Unlike the error of ioredis, it does not contain the command and its arguments. */
export class RedisError extends Error {
  override name = 'RedisError'
}

/** Errors of a server that cannot work at the moment (https://redis.io/docs/latest/develop/reference/protocol-spec). */
const UNAVAILABLE =
  /^(LOADING|BUSY|CLUSTERDOWN|TRYAGAIN|MASTERDOWN|READONLY|NOREPLICAS|MISCONF|OOM|UNBLOCKED)\b/

/**
 * A time-out is waited for in so many parts, because Redis cannot answer what this process has not yet sent: a turn of the event
 * loop that begins a thousand requests may take longer than the whole, and uses up one part.
 */
const SLICES = 5

class Connection implements RedisConnection {
  readonly #client: Client
  readonly #log: Log
  readonly #name: string
  readonly #timeoutMs: number
  readonly #breakers = new Map<string, Breaker>()
  /** Servers whose connection is lost. */
  readonly #lost = new Set<string>()
  readonly #listeners = new Set<{ listener: () => void }>()
  /** The first attempt to connect is over. */
  #started = false
  #closed = false

  constructor({ url, name, log, tls, commandTimeoutMs = 250 }: RedisConnectionOptions) {
    this.#log = log
    this.#name = name
    this.#timeoutMs = commandTimeoutMs
    const events: ClientEvents = {
      ready: (node, redis) => {
        // Loads scripts before any command, so that commands keep their order: one whose script is missing is sent twice.
        for (const { source } of SCRIPTS.values())
          void redis.call('script', 'LOAD', source).catch(() => undefined)
        this.#breakers.get(node)?.reset()
        if (this.#lost.delete(node)) this.#restored(node)
      },
      lost: (node, reason) => {
        if (this.#closed || this.#lost.has(node)) return
        this.#lost.add(node)
        log.warn({ connection: name, node, reason }, 'Redis is unreachable')
      },
    }
    this.#client = createClient(url, name, events, tls)
    void this.#client.started.then(() => {
      this.#started = true
    })
  }

  run(
    name: string,
    keys: readonly string[],
    args: readonly (string | number)[],
    timeoutMs = this.#timeoutMs,
  ): Promise<unknown> {
    const { source, sha, readOnly } = scriptNamed(name)
    const known = commandOf(readOnly ? 'evalsha_ro' : 'evalsha', [sha, keys.length, ...keys, ...args])
    return this.#ask(known, timeoutMs, (error) => {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) return undefined
      return commandOf(readOnly ? 'eval_ro' : 'eval', [source, keys.length, ...keys, ...args])
    })
  }

  command(
    [name, ...args]: readonly [name: string, key: string, ...args: (string | number)[]],
    timeoutMs = this.#timeoutMs,
  ): Promise<unknown> {
    return this.#ask(commandOf(name, args), timeoutMs)
  }

  async primaries(): Promise<Primary[]> {
    await withDeadline(this.#client.started, this.#timeoutMs, notConnected)
    if (this.#client.isAway()) throw notConnected()
    return this.#client.primaries().map(({ node, send }) => ({
      node,
      command: async (name, ...args) => {
        return await withDeadline(send(commandOf(name, args)), this.#timeoutMs, onTimeout).catch(
          (error: unknown) => {
            throw toStoreError(error)
          },
        )
      },
    }))
  }

  onRestored(listener: () => void): () => void {
    const entry = { listener }
    this.#listeners.add(entry)
    return () => void this.#listeners.delete(entry)
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const breaker of this.#breakers.values()) breaker.reset()
    this.#client.close()
  }

  /**
   * The reply within the time, or the error of the store. `again`: the command to send after this error of the server.
   * One promise and one timer for both commands, because each request asks several times.
   */
  #ask(
    command: Command,
    timeoutMs: number,
    again: (error: unknown) => Command | undefined = () => undefined,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      let sent: Command | undefined
      let over = false
      const end = () => {
        over = true
        clearTimeout(timer)
      }
      const fail = (error: unknown) => {
        end()
        reject(toStoreError(error))
      }
      // A reply may have arrived while this process stood still. The event loop reads it before setImmediate runs.
      const late = () => {
        if (over) return
        if (sent === undefined) return fail(notConnected())
        this.#timedOut(sent)
        fail(onTimeout())
      }
      let left = SLICES
      const timer = setTimeout(() => {
        left--
        if (left > 0) timer.refresh()
        else setImmediate(late)
      }, timeoutMs / SLICES)
      const take = (reply: unknown) => {
        end()
        resolve(reply)
      }
      const send = (next: Command) => {
        if (over) return
        const trouble = this.#troubleOf(next)
        if (trouble !== undefined) return fail(trouble)
        sent = next
        this.#client.send(next).then(take, refused)
      }
      const refused = (error: unknown) => {
        const next = again(error)
        if (next === undefined) fail(error)
        else send(next)
      }
      if (this.#started) send(command)
      else void this.#client.started.then(() => send(command))
    })
  }

  /** Why the command cannot be sent now. */
  #troubleOf(command: Command): StoreUnavailable | undefined {
    if (this.#client.isAway()) return notConnected()
    if (this.#breakers.size === 0 || !this.#breakers.get(this.#client.nodeOf(command))?.isOpen)
      return undefined
    return new StoreUnavailable('Redis does not answer', { unsent: true })
  }

  #timedOut(command: Command): void {
    const node = this.#client.nodeOf(command)
    let breaker = this.#breakers.get(node)
    if (breaker === undefined) {
      breaker = new Breaker(() => this.#restored(node))
      this.#breakers.set(node, breaker)
    }
    const [key] = command.getKeys()
    if (breaker.timedOut(() => this.#answers(key)))
      this.#log.warn({ connection: this.#name, node }, 'Redis does not answer in time')
  }

  /** Probes with the key of the command that timed out: in a Cluster, another server may have it by now. */
  async #answers(key: string | Buffer | undefined): Promise<boolean> {
    const probe = key === undefined ? new Command('ping') : new Command('exists', [key])
    try {
      if (this.#client.isAway()) return false
      await withDeadline(this.#client.send(probe), this.#timeoutMs, onTimeout)
      return true
    } catch (error) {
      // A server that refuses the probe does answer.
      return toStoreError(error) instanceof RedisError
    }
  }

  #restored(node: string): void {
    if (this.#closed) return
    this.#log.info({ connection: this.#name, node }, 'Redis is reachable again')
    for (const { listener } of [...this.#listeners]) {
      try {
        listener()
      } catch (error) {
        this.#log.error({ err: error }, 'a listener of onRestored failed')
      }
    }
  }
}

function commandOf(name: string, args: (string | number)[]): Command {
  return new Command(name, args, { replyEncoding: 'utf8' })
}

function toStoreError(error: unknown): Error {
  if (error instanceof StoreUnavailable) return error
  const message = error instanceof Error ? error.message : String(error)
  if (!(error instanceof Error) || error.name !== 'ReplyError')
    return new StoreUnavailable(`Redis is unreachable: ${message}`)
  if (UNAVAILABLE.test(message))
    return new StoreUnavailable(`Redis is not working: ${message}`, { unsent: true })
  if (message.startsWith('MOVED'))
    return new RedisError('this Redis is a node of a Cluster: add ?cluster=true to its address')
  return new RedisError(message)
}

const notConnected = () => new StoreUnavailable('Redis is not connected', { unsent: true })
const onTimeout = () => new Error('no answer in time')
