/**
 * What the stand-in needs of the API server, as the administrator: calls, and a copy of a collection that is listed and
 * then watched. An unreachable server only delays both. It is no code of the product, so it does not share its faults.
 */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'

export const MERGE_PATCH = 'application/merge-patch+json'
const RETRY_MS = 250
const CALL_MS = 10_000

export interface ApiAccess {
  url: string
  /** PEM texts. */
  tls: { ca: string; cert: string; key: string }
}

export class ApiError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const named = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().default(''),
    resourceVersion: z.string(),
  }),
})
export type Named = z.output<typeof named>
const list = z.object({ metadata: z.object({ resourceVersion: z.string() }), items: z.array(named) })
const event = z.object({ type: z.string(), object: z.looseObject({}) })

export class Api {
  readonly #access: ApiAccess
  readonly #agent: Agent

  constructor(access: ApiAccess) {
    this.#access = access
    this.#agent = new Agent({ keepAlive: true, maxSockets: 64, ...access.tls })
  }

  /** Resolves with the answer's JSON. Rejects with an ApiError if the status is not 2xx. */
  async call(
    method: string,
    path: string,
    body?: object,
    contentType = 'application/json',
  ): Promise<unknown> {
    const signal = AbortSignal.timeout(CALL_MS)
    const response = await this.#open(method, path, signal, body, contentType)
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) text += chunk
    const status = response.statusCode ?? 0
    if (status < 200 || status > 299) throw new ApiError(status, `${method} ${path}: ${status} ${text}`)
    return JSON.parse(text)
  }

  /** The lines of an answer that does not end. */
  async *lines(path: string, signal: AbortSignal): AsyncGenerator<string> {
    const response = await this.#open('GET', path, signal)
    let rest = ''
    for await (const chunk of response.setEncoding('utf8')) {
      const parts = `${rest}${chunk}`.split('\n')
      rest = parts.pop() ?? ''
      yield* parts
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  async #open(
    method: string,
    path: string,
    signal: AbortSignal,
    body?: object,
    contentType = 'application/json',
  ): Promise<IncomingMessage> {
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    // Without the length, Node sends the body of a DELETE as if it were the next request.
    const headers = bytes === undefined ? {} : { 'content-type': contentType, 'content-length': bytes.length }
    const sent = request(`${this.#access.url}${path}`, { method, agent: this.#agent, headers, signal })
    sent.on('error', () => undefined)
    sent.end(bytes)
    const [response]: IncomingMessage[] = await once(sent, 'response')
    if (response === undefined) throw new Error('no answer')
    return response
  }
}

/** A copy of a collection. `changed` is called after each change, and after a list. */
export class Informer {
  readonly objects = new Map<string, Named>()
  readonly synced: Promise<void>
  readonly #synced = Promise.withResolvers<void>()
  readonly #stop = new AbortController()
  readonly #running: Promise<void>

  constructor(api: Api, path: string, changed: () => void) {
    this.synced = this.#synced.promise
    this.#running = this.#run(api, path, changed)
  }

  get(namespace: string, name: string): Named | undefined {
    return this.objects.get(`${namespace}/${name}`)
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #run(api: Api, path: string, changed: () => void): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      // Whatever fails, the next list is complete again.
      await this.#follow(api, path, changed).catch(() => undefined)
      await pause(RETRY_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  async #follow(api: Api, path: string, changed: () => void): Promise<void> {
    const { metadata, items } = list.parse(await api.call('GET', path))
    this.objects.clear()
    for (const item of items) this.objects.set(keyOf(item), item)
    this.#synced.resolve()
    changed()
    const watch = `${path}?watch=true&resourceVersion=${metadata.resourceVersion}&timeoutSeconds=300`
    for await (const line of api.lines(watch, this.#stop.signal)) {
      const { type, object } = event.parse(JSON.parse(line))
      if (type === 'ERROR') return
      const found = named.parse(object)
      if (type === 'DELETED') this.objects.delete(keyOf(found))
      else this.objects.set(keyOf(found), found)
      changed()
    }
  }
}

const keyOf = ({ metadata }: Named) => `${metadata.namespace}/${metadata.name}`
