/** Requests of every endpoint to every upstream that it can reach, as JSON, as streams and over WebSockets. */
import { WebSocket } from 'ws'
import { promptOf } from './far-end.ts'

export interface Case {
  id: number
  /** Name of the key. */
  key: string
  /** Value of the tag `project`; undefined: without one. */
  project: string | undefined
  model: string
  status: number
}

/** Models by the endpoints that reach them. */
const TEXTS = ['chat', 'responses', 'messages']

interface Kind {
  path: string
  models: readonly string[]
  body: (prompt: string) => object
  streams?: boolean
}

const CHAT = (content: string) => ({ messages: [{ role: 'user', content }], max_tokens: 100 })
const KINDS: readonly Kind[] = [
  ...[false, true].flatMap((streams): Kind[] => [
    { path: '/v1/chat/completions', models: TEXTS, body: CHAT, streams },
    { path: '/api/v1/messages', models: TEXTS, body: CHAT, streams },
    {
      ...{ path: '/v1/responses', models: TEXTS, streams },
      body: (input) => ({ input, max_output_tokens: 100 }),
    },
  ]),
  { path: '/v1/responses/compact', models: TEXTS, body: (input) => ({ input }) },
  { path: '/v1/embeddings', models: ['embed'], body: (input) => ({ input }) },
  { path: '/v1/images/generations', models: ['paint'], body: (prompt) => ({ prompt }) },
]

/** Cases by kind and model, one after the other; WebSockets and forms among them. */
const WAYS = [
  ...KINDS.flatMap((kind) => kind.models.map((model) => ({ kind, model }))),
  ...TEXTS.map((model) => ({ kind: 'socket' as const, model })),
  { kind: 'edit' as const, model: 'paint' },
]
export const WAYS_COUNT = WAYS.length

export function modelOf(id: number): string {
  return WAYS[id % WAYS.length]?.model ?? ''
}

/** Resolves with the status of the answer once it has been read. */
export function ask(base: string, secret: string, { id, project }: Case): Promise<number> {
  const way = WAYS[id % WAYS.length]
  if (way === undefined) throw new RangeError('there is no such way')
  const { kind, model } = way
  const headers = {
    authorization: `Bearer ${secret}`,
    ...(project !== undefined && { 'x-sluice-tag': `project=${project}` }),
  }
  if (kind === 'socket') return askBySocket(base, headers, { model, input: promptOf(id) })
  if (kind === 'edit') return askByForm(base, headers, { model, prompt: promptOf(id) })
  const body = { model, ...kind.body(promptOf(id)), ...(kind.streams && { stream: true }) }
  return askByJson(base + kind.path, headers, body)
}

async function askByJson(url: string, headers: Record<string, string>, body: object): Promise<number> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  await answer.text()
  return answer.status
}

/** A pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

async function askByForm(base: string, headers: Record<string, string>, fields: object): Promise<number> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  form.append('image', new Blob([PNG], { type: 'image/png' }), 'image.png')
  const answer = await fetch(`${base}/v1/images/edits`, { method: 'POST', headers, body: form })
  await answer.text()
  return answer.status
}

function askBySocket(base: string, headers: Record<string, string>, body: object): Promise<number> {
  const socket = new WebSocket(`${base.replace('http', 'ws')}/v1/responses`, { headers })
  const { promise, resolve } = Promise.withResolvers<number>()
  socket.on('open', () => socket.send(JSON.stringify({ type: 'response.create', ...body })))
  socket.on('message', (data: Buffer) => {
    const { type, status } = JSON.parse(data.toString()) as { type: string; status?: number }
    if (type === 'response.completed') resolve(200)
    else if (type === 'error' || type === 'response.failed') resolve(status ?? 500)
  })
  socket.on('error', () => resolve(0))
  socket.on('close', () => resolve(0))
  return promise.finally(() => socket.terminate())
}
