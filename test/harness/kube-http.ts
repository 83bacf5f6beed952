/** Administrator requests to the API server on keep-alive connections, which are much cheaper than kubectl. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { z } from 'zod'

const CONNECTIONS = 32
const APPLY = 'application/apply-patch+yaml'
const MERGE = 'application/merge-patch+json'

const PLURALS = {
  ApiKey: 'apikeys',
  Account: 'accounts',
  Credit: 'credits',
  Channel: 'channels',
  ModelRoute: 'modelroutes',
} as const
export type KindName = keyof typeof PLURALS
export const KIND_NAMES = ['ApiKey', 'Account', 'Credit', 'Channel', 'ModelRoute'] as const

const condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string(),
  message: z.string(),
  observedGeneration: z.number().optional(),
})
const resource = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
    generation: z.number(),
    creationTimestamp: z.string(),
  }),
  status: z.object({ conditions: z.array(condition).default([]) }).default({ conditions: [] }),
})
export type FoundResource = z.output<typeof resource>

export interface KubeAccess {
  url: string
  /** PEM texts. */
  tls: { ca: string; cert: string; key: string }
}

export interface KubeHttp {
  /** Resolves with the answer's JSON; rejects with its text if the status is not 2xx. */
  request(method: string, path: string, body?: object, contentType?: string): Promise<unknown>
  /** Creates the resource; rejects if it exists. */
  create(kind: KindName, name: string, spec: object): Promise<void>
  /** Creates the resource, or sets these fields of its spec. */
  apply(kind: KindName, name: string, spec: object): Promise<void>
  /** Changes fields of the spec; null removes one. */
  patch(kind: KindName, name: string, spec: object): Promise<void>
  remove(kind: KindName, name: string): Promise<void>
  get(kind: KindName, name: string): Promise<FoundResource>
  list(kind: KindName): Promise<FoundResource[]>
  /** Creates a Secret, or replaces its entries. */
  secret(name: string, entries: Record<string, string>): Promise<void>
  /** Status and reason of a condition ("True Ready"); undefined while it is missing or of an older generation. */
  condition(kind: KindName, name: string, type: string): Promise<string | undefined>
  close(): void
}

/** All methods except `request` work in this namespace. */
export function kubeHttp({ url, tls }: KubeAccess, namespace: string): KubeHttp {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, ...tls })
  const group = `/apis/sluice.dev/v1alpha1/namespaces/${namespace}`
  const pathOf = (kind: KindName, name: string) => `${group}/${PLURALS[kind]}/${name}`
  const objectOf = (kind: KindName, name: string, spec: object) => ({
    apiVersion: 'sluice.dev/v1alpha1',
    kind,
    metadata: { name, namespace },
    spec,
  })

  async function send(method: string, path: string, body?: object, contentType = 'application/json') {
    const headers = body === undefined ? {} : { 'content-type': contentType }
    const sent = request(`${url}${path}`, { method, agent, headers })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
    const [response]: IncomingMessage[] = await once(sent, 'response')
    if (response === undefined) throw new Error('no answer')
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) text += chunk
    const status = response.statusCode ?? 0
    if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${text}`)
    return JSON.parse(text) as unknown
  }
  const get = async (kind: KindName, name: string) => resource.parse(await send('GET', pathOf(kind, name)))

  return {
    request: send,
    get,
    async create(kind, name, spec) {
      await send('POST', `${group}/${PLURALS[kind]}`, objectOf(kind, name, spec))
    },
    async apply(kind, name, spec) {
      const path = `${pathOf(kind, name)}?fieldManager=test&force=true`
      await send('PATCH', path, objectOf(kind, name, spec), APPLY)
    },
    async patch(kind, name, spec) {
      await send('PATCH', pathOf(kind, name), { spec }, MERGE)
    },
    async remove(kind, name) {
      await send('DELETE', pathOf(kind, name))
    },
    async list(kind) {
      const all = z.object({ items: z.array(resource) })
      return all.parse(await send('GET', `${group}/${PLURALS[kind]}`)).items
    },
    async secret(name, entries) {
      const path = `/api/v1/namespaces/${namespace}/secrets/${name}?fieldManager=test&force=true`
      const data = Object.fromEntries(
        Object.entries(entries).map(([entry, value]) => [entry, Buffer.from(value).toString('base64')]),
      )
      await send(
        'PATCH',
        path,
        { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, data },
        APPLY,
      )
    },
    async condition(kind, name, type) {
      const { metadata, status } = await get(kind, name)
      const found = status.conditions.find((c) => c.type === type)
      if (found === undefined || found.observedGeneration !== metadata.generation) return undefined
      return `${found.status} ${found.reason}`
    },
    close: () => agent.destroy(),
  }
}
