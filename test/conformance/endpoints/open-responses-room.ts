/** A gateway in front of the model of these tests, with each type of channel; schemas check its answers. */
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import type { z } from 'zod'
import { KEY } from '../../e2e/dialects/world.ts'
import { type RunningGateway, startGateway } from '../../harness/gateway.ts'
import { call } from '../../harness/http.ts'
import { apiKey, channel, route } from '../../harness/resources.ts'
import { type ScriptedUpstream, startUpstream } from '../../harness/upstream.ts'
import { readResponsesStream } from '../dialects/strict-responses.ts'
import { hostedModel, type RoleAndText } from './open-responses-model.ts'
import {
  eventSchema,
  type OpenResponse,
  responseSchema,
  type SocketError,
  socketErrorSchema,
} from './open-responses-schema.ts'

/** Models by the channel that serves them; a `compacting` upstream compacts conversations itself. */
const CHANNELS = {
  chat: { type: 'chat_completion' },
  responses: { type: 'responses', features: { compaction: false } },
  compacting: { type: 'responses', features: { compaction: true } },
  messages: { type: 'messages' },
} as const
export const MODELS = Object.keys(CHANNELS)

export interface Room {
  upstream: ScriptedUpstream
  gateway: RunningGateway
  close(): Promise<void>
}

export async function openRoom(): Promise<Room> {
  const upstream = await startUpstream(hostedModel())
  const base = upstream.baseURL
  const resources = Object.entries(CHANNELS).map(([name, spec]) => {
    const url = spec.type === 'messages' ? base.replace(/\/v1$/, '') : base
    return channel(name, url, spec) + route(name, name, [name], { retry: { attempts: 1 } })
  })
  const gateway = await startGateway({ 'all.yaml': apiKey('key', KEY) + resources.join('') })
  return {
    upstream,
    gateway,
    async close() {
      await gateway.stop()
      await upstream.close()
    },
  }
}

export async function post({ gateway }: Room, path: string, body: object) {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const answer = await call(`${gateway.base}/v1${path}`, { headers, body: JSON.stringify(body) })
  return { ...answer, body: () => JSON.parse(answer.text) as unknown }
}

/** A response and, of a stream, its events; throws if they break the schema or their order. */
export async function respond(room: Room, body: object, stream = false) {
  const answer = await post(room, '/responses', { ...body, stream })
  if (answer.status !== 200) throw new Error(`status ${answer.status}: ${answer.text}`)
  if (!stream) return { response: matching(responseSchema, answer.body()), events: [] as StreamEvent[] }
  readResponsesStream(answer.text)
  const events = [...answer.text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => data)
  return checked(events.map((data): unknown => JSON.parse(data)))
}

export type StreamEvent = z.infer<typeof eventSchema>

function checked(raw: unknown[]): { response: OpenResponse; events: StreamEvent[] } {
  const events = raw.map((event) => matching(eventSchema, event))
  const last = events.at(-1)
  if (last === undefined || !('response' in last)) throw new Error('no terminal event')
  return { response: matching(responseSchema, last.response), events }
}

/** The value if it matches the schema. Otherwise throws with the value. */
export function matching<T>(schema: z.ZodType<T>, value: unknown): T {
  const { success, data, error } = schema.safeParse(value)
  if (success) return data
  throw new Error(`${error.message}\nin ${JSON.stringify(value)}`)
}

export type Turn = { error: SocketError } | { response: OpenResponse; events: StreamEvent[] }

export interface Client {
  /** Sends response.create and reads until the turn ends. */
  turn(body: object): Promise<Turn>
  /** The same, for a turn that must have a response. */
  respond(body: object): Promise<OpenResponse>
  /** The same, for a turn that must end with an error. */
  fail(body: object): Promise<SocketError>
  close(): void
}

const ENDS = ['error', 'response.completed', 'response.incomplete', 'response.failed']
const PATIENCE_MS = 10_000

/** One WebSocket; closed with its test. */
export async function connect({ gateway }: Room): Promise<Client> {
  const ws = new WebSocket(`${gateway.base.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${KEY}` },
  })
  onTestFinished(() => ws.terminate())
  await new Promise((resolve, reject) => ws.once('open', resolve).once('error', reject))
  const turn = async (body: object): Promise<Turn> => {
    const texts = await exchange(ws, JSON.stringify({ type: 'response.create', ...body }))
    const raw = texts.map((text) => JSON.parse(text) as { type: string })
    const [first] = raw
    if (first?.type === 'error') return { error: matching(socketErrorSchema, first) }
    readResponsesStream(texts.map((text, i) => `event: ${raw[i]?.type}\ndata: ${text}\n\n`).join(''))
    return checked(raw)
  }
  return {
    turn,
    async respond(body) {
      const ended = await turn(body)
      if ('error' in ended) throw new Error(`no response but ${JSON.stringify(ended.error)}`)
      return ended.response
    },
    async fail(body) {
      const ended = await turn(body)
      if (!('error' in ended)) throw new Error(`no error but ${JSON.stringify(ended.response)}`)
      return ended.error
    },
    close: () => ws.close(),
  }
}

/** Sends a message and returns the answers up to the one that ends the turn. */
function exchange(ws: WebSocket, message: string): Promise<string[]> {
  const texts: string[] = []
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      clearTimeout(patience)
      ws.off('message', take).off('close', gone)
      settle()
    }
    const fail = (why: string) => end(() => reject(new Error(`${why} after ${texts.join('\n')}`)))
    const gone = (code: number) => fail(`closed with ${code}`)
    const take = (data: Buffer, isBinary: boolean) => {
      const text = data.toString()
      texts.push(text)
      if (isBinary) return fail('a binary message')
      if (ENDS.includes((JSON.parse(text) as { type: string }).type)) end(() => resolve(texts))
    }
    const patience = setTimeout(() => fail('no end'), PATIENCE_MS)
    ws.on('message', take).on('close', gone)
    ws.send(message)
  })
}

export const textOf = ({ output }: OpenResponse): string =>
  output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('')

/** The messages that the model was sent. */
export const messagesSeenBy = (response: OpenResponse): RoleAndText[] =>
  JSON.parse(textOf(response)) as RoleAndText[]
