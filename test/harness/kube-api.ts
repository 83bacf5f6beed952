/** A fake API server with one collection. The test controls its objects and its failures. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const THINGS = '/apis/test.dev/v1/things'

export interface Thing {
  apiVersion: string
  kind: string
  metadata: {
    name: string
    namespace: string
    uid: string
    resourceVersion: string
    creationTimestamp: string
  }
  value: string
}

export interface KubeRequest {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  body: string
}

/** Handles one request instead of the server. */
export type Act = (request: KubeRequest, response: ServerResponse) => void

interface HistoryEvent {
  version: number
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  object: Thing
}

export class KubeApi {
  readonly requests: KubeRequest[] = []
  readonly things = new Map<string, Thing>()
  /** Each handles one request, in order. */
  readonly acts: Act[] = []
  readonly kubeconfig: string
  /** Status that refuses a streaming list; undefined: it is served. */
  noStreamingList: number | undefined
  /** Most items of a page, whatever the limit says. */
  pageItems = 1_000
  version: number
  readonly #server = createServer((request, response) => void this.#serve(request, response))
  readonly #dir = mkdtempSync(join(tmpdir(), 'sluice-kube-api-'))
  readonly #watches = new Set<ServerResponse>()
  #history: HistoryEvent[] = []
  /** Events before this version are forgotten. */
  #oldest: number

  private constructor(version: number) {
    this.version = version
    this.#oldest = version
    this.kubeconfig = join(this.#dir, 'kubeconfig')
  }

  static async start(version = 100): Promise<KubeApi> {
    const api = new KubeApi(version)
    api.#server.listen(0, '127.0.0.1')
    await once(api.#server, 'listening')
    api.writeKubeconfig(api.port)
    return api
  }

  get port(): number {
    return portOf(this.#server.address())
  }

  get watches(): number {
    return this.#watches.size
  }

  /** Points the kubeconfig at this port, for example of a proxy. */
  writeKubeconfig(port: number): void {
    const cluster = { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true }
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster }],
      users: [{ name: 'test', user: { token: 'token-of-the-test' } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace: 'tests' } }],
      'current-context': 'test',
    }
    writeFileSync(this.kubeconfig, JSON.stringify(config))
  }

  put(name: string, value: string): void {
    const old = this.things.get(name)
    const resourceVersion = String(++this.version)
    const metadata = {
      name,
      namespace: 'tests',
      uid: old?.metadata.uid ?? `uid-${resourceVersion}`,
      resourceVersion,
      creationTimestamp: '2026-01-01T00:00:00Z',
    }
    const thing = { apiVersion: 'test.dev/v1', kind: 'Thing', metadata, value }
    this.things.set(name, thing)
    this.#record(old === undefined ? 'ADDED' : 'MODIFIED', thing)
  }

  remove(name: string): void {
    const old = this.things.get(name)
    if (old === undefined) return
    this.things.delete(name)
    const metadata = { ...old.metadata, resourceVersion: String(++this.version) }
    this.#record('DELETED', { ...old, metadata })
  }

  bookmark(): void {
    for (const watch of this.#watches) watch.write(line('BOOKMARK', bookmark(this.version)))
  }

  /** Forgets all events and notifies the watches. */
  compact(): void {
    this.#history = []
    this.#oldest = ++this.version
    for (const watch of this.#watches) watch.end(line('ERROR', status(410, 'Expired')))
  }

  /** Ends the watches as the server does after timeoutSeconds. */
  endWatches(): void {
    for (const watch of this.#watches) watch.end()
  }

  /** Breaks the watches' connections after writing `half`. */
  breakWatches(half = ''): void {
    for (const watch of this.#watches) watch.write(half, () => watch.destroy())
  }

  /** Writes raw bytes to every watch. */
  write(bytes: string | Uint8Array): void {
    for (const watch of this.#watches) watch.write(bytes)
  }

  /** Replaces the storage as a restored backup would, without events for the watches. */
  restore(version: number, things: Iterable<Thing>): void {
    this.version = version
    this.#oldest = 0
    this.#history = []
    this.things.clear()
    for (const thing of things) this.things.set(thing.metadata.name, thing)
  }

  async close(): Promise<void> {
    rmSync(this.#dir, { recursive: true, force: true })
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {})
    const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://kube')
    const body = Buffer.concat(await incoming.toArray()).toString()
    const { method = '', headers } = incoming
    const request = { method, path: pathname, query: searchParams, headers, body }
    this.requests.push(request)
    const act = this.acts.shift()
    if (act !== undefined) act(request, response)
    else if (pathname !== THINGS) refuse(404)(request, response)
    else if (searchParams.get('watch') === 'true') this.#watch(searchParams, response)
    else this.#list(searchParams, response)
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const limit = Math.min(this.pageItems, Number(query.get('limit') ?? 1_000_000))
    const [from = 0, listVersion = this.version] = query.get('continue')?.split(' ').map(Number) ?? []
    const items = [...this.things.values()].slice(from, from + limit)
    const more = from + limit < this.things.size
    const metadata = {
      resourceVersion: String(listVersion),
      ...(more && { continue: `${from + limit} ${listVersion}` }),
    }
    send(response, 200, { kind: 'ThingList', metadata, items })
  }

  #watch(query: URLSearchParams, response: ServerResponse): void {
    const initial = query.get('sendInitialEvents') === 'true'
    const from = Number(query.get('resourceVersion') ?? this.version)
    if (initial && this.noStreamingList !== undefined) {
      const code = this.noStreamingList
      send(response, code, status(code, 'Invalid', 'sendInitialEvents is forbidden'))
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    if (!initial && from < this.#oldest) {
      response.end(line('ERROR', status(410, 'Expired')))
      return
    }
    if (initial) {
      for (const thing of this.things.values()) response.write(line('ADDED', thing))
      response.write(line('BOOKMARK', bookmark(this.version, { 'k8s.io/initial-events-end': 'true' })))
    } else {
      for (const { version, type, object } of this.#history)
        if (version > from) response.write(line(type, object))
    }
    this.#watches.add(response)
    response.on('close', () => this.#watches.delete(response))
  }

  #record(type: HistoryEvent['type'], object: Thing): void {
    this.#history.push({ version: this.version, type, object })
    for (const watch of this.#watches) watch.write(line(type, object))
  }
}

/** Refuses a request like the API server. */
export function refuse(
  code: number,
  { message = 'refused', retryAfter }: { message?: string; retryAfter?: number } = {},
): Act {
  return (_request, response) => {
    if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter))
    send(response, code, status(code, 'Refused', message))
  }
}

export function status(code: number, reason: string, message = 'too old resource version') {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, reason, code }
}

export function line(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`
}

export function bookmark(version: number, annotations?: Record<string, string>) {
  return {
    kind: 'Thing',
    metadata: { resourceVersion: String(version), creationTimestamp: null, annotations },
  }
}

export function send(response: ServerResponse, code: number, body: unknown): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

export async function readAll<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const each of stream) all.push(each)
  return all
}

/** A TCP proxy whose connections can die silently, as when a load balancer drops them. */
export class SilentProxy {
  readonly #sockets = new Set<Socket>()
  readonly #server

  private constructor(targetPort: number) {
    this.#server = createTcpServer((socket) => {
      const target = connect(targetPort, '127.0.0.1')
      for (const [each, other] of [
        [socket, target],
        [target, socket],
      ] as const) {
        this.#sockets.add(each)
        each.on('error', () => {})
        each.on('close', () => {
          this.#sockets.delete(each)
          other.destroy()
        })
        each.pipe(other)
      }
    })
  }

  static async start(targetPort: number): Promise<SilentProxy> {
    const proxy = new SilentProxy(targetPort)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get port(): number {
    return portOf(this.#server.address())
  }

  /** Open connections carry no more data in either direction. New ones work. */
  goSilent(): void {
    for (const socket of this.#sockets) socket.unpipe().pause()
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('the server is not listening')
  return address.port
}
