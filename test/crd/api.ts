/** The API server over plain HTTP: hundreds of verdicts take seconds; kubectl would take a process for each. */
import { Agent, request } from 'undici'
import { z } from 'zod'
import { API_VERSION, GROUP, KINDS, type KindName, VERSION } from '../../contract/api/index.ts'
import type { TestControlPlane } from '../harness/control-plane.ts'

/** The API server's verdict on a resource: no fault, or which and where. */
export interface Verdict {
  accepted: boolean
  /** Sentences of the broken rules, or of the schema; sorted. */
  causes: { field: string; message: string }[]
}

export interface Api {
  /** A GET of any path, as JSON. */
  get(path: string): Promise<unknown>
  /** A dry run of creating this spec as kubectl does (unknown fields refused). Nothing is stored. */
  judge(kind: KindName, name: string, spec: unknown): Promise<Verdict>
  /** The same for an update of a resource that exists. */
  judgeUpdate(kind: KindName, name: string, spec: unknown): Promise<Verdict>
  /** Stores a resource and returns it as stored. Throws with the server's message. */
  create(kind: KindName, name: string, spec: unknown): Promise<Stored>
  read(kind: KindName, name: string): Promise<Stored>
  /** A merge patch of the resource, or of its status. */
  patch(kind: KindName, name: string, patch: object, subresource?: 'status'): Promise<Stored>
}

/** The sentence of a cause without its prefix, which quotes a refused text. */
export function sentenceOf({ message }: { message: string }): string {
  return message.replace(/^Invalid value: ("(?:[^"\\]|\\.)*": )?/, '')
}

const stored = z.looseObject({
  metadata: z.looseObject({ name: z.string(), generation: z.int(), resourceVersion: z.string() }),
  spec: z.record(z.string(), z.unknown()),
  status: z.record(z.string(), z.unknown()).optional(),
})
export type Stored = z.output<typeof stored>

const refusal = z.looseObject({
  kind: z.literal('Status'),
  message: z.string(),
  details: z
    .looseObject({
      causes: z
        .array(z.looseObject({ field: z.string().default(''), message: z.string().default('') }))
        .optional(),
    })
    .optional(),
})

/** As the administrator, in one namespace. */
export function apiOf({ url, tls }: TestControlPlane, namespace: string): Api {
  const dispatcher = new Agent({ connect: tls, connections: 8 })
  const resources = `/apis/${GROUP}/${VERSION}/namespaces/${namespace}`
  const send = async (method: 'GET' | 'POST' | 'PUT' | 'PATCH', path: string, body?: object) => {
    const answer = await request(`${url}${path}`, {
      method,
      dispatcher,
      headers: {
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
    return { ok: answer.statusCode < 300, body: await answer.body.json() }
  }
  const must = async (...args: Parameters<typeof send>) => {
    const { ok, body } = await send(...args)
    if (!ok) throw new Error(refusal.parse(body).message)
    return stored.parse(body)
  }
  const resource = (kind: KindName, name: string, spec: unknown, resourceVersion?: string) => ({
    apiVersion: API_VERSION,
    kind,
    metadata: { name, resourceVersion },
    spec,
  })
  const all = (kind: KindName) => `${resources}/${KINDS[kind].plural}`
  const read = (kind: KindName, name: string) => must('GET', `${all(kind)}/${name}`)
  const DRY = 'dryRun=All&fieldValidation=Strict'
  return {
    get: async (path) => (await send('GET', path)).body,
    judge: async (kind, name, spec) =>
      verdict(await send('POST', `${all(kind)}?${DRY}`, resource(kind, name, spec))),
    judgeUpdate: async (kind, name, spec) => {
      const { resourceVersion } = (await read(kind, name)).metadata
      const path = `${all(kind)}/${name}?${DRY}`
      return verdict(await send('PUT', path, resource(kind, name, spec, resourceVersion)))
    },
    create: (kind, name, spec) => must('POST', all(kind), resource(kind, name, spec)),
    read,
    patch: (kind, name, patch, subresource) =>
      must('PATCH', [all(kind), name, subresource].filter(Boolean).join('/'), patch),
  }
}

function verdict({ ok, body }: { ok: boolean; body: unknown }): Verdict {
  if (ok) return { accepted: true, causes: [] }
  const { message, details } = refusal.parse(body)
  const causes = details?.causes ?? [{ field: '', message }]
  return {
    accepted: false,
    // A rule on a map entry names it in brackets, the schema with a dot; here it is always a dot.
    causes: causes.map(({ field, message }) => ({ field: field.replace(/\[(\D[^\]]*)\]/g, '.$1'), message })),
  }
}
