/** The scenarios: APIs of client and upstream, answer, requests at a time, and the bytes that both sides see. */
import type { LoadSpec } from './rig.ts'

export type Api = 'chat' | 'messages' | 'responses' | 'embeddings'

export interface Scenario {
  name: string
  /** The client's API. If it differs from the upstream's, the gateway converts. */
  client: Api
  upstream: Api
  /** See bench/rig/upstream.go: `json`, or a stream `s<events>x<milliseconds between them>`. */
  answer: string
  clients: number
  promptBytes: number
  webSocket?: true
  /** Requests a second that are sent however slow the answers are. */
  rate?: number
  /** One of `make bench-quick` and `make bench-check`. */
  quick?: true
}

export const PATHS: Record<Api, string> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  embeddings: '/v1/embeddings',
}

const json = { client: 'chat', upstream: 'chat', answer: 'json', clients: 8, promptBytes: 300 } as const
const stream = { ...json, answer: 's500x0' } as const

/** All pairs of different APIs for conversations, the client's first. */
const CONVERSIONS = [
  ['messages', 'chat'],
  ['responses', 'chat'],
  ['chat', 'messages'],
  ['chat', 'responses'],
  ['messages', 'responses'],
  ['responses', 'messages'],
] as const

/** Those that `make bench-quick` has time for. */
const QUICK_ONE = { quick: true } as const
const QUICK = ['messages chat', 'chat messages', 'responses chat']

export const SCENARIOS: Scenario[] = [
  { ...json, name: 'JSON, 1 connection', clients: 1, quick: true },
  { ...json, name: 'JSON, 64 connections', clients: 64, quick: true },
  { ...json, name: 'JSON, 500 requests a second', clients: 256, rate: 500 },
  { ...json, name: 'JSON, 100 kB prompt, 8 connections', promptBytes: 100_000, quick: true },
  { ...json, name: 'Embeddings, 8 connections', client: 'embeddings', upstream: 'embeddings' },
  { ...stream, name: 'SSE full speed, 8 streams', quick: true },
  { ...json, name: 'SSE paced, 50 streams', answer: 's100x10', clients: 50, quick: true },
  {
    ...stream,
    name: 'WebSocket full speed, 8 connections',
    client: 'responses',
    upstream: 'responses',
    webSocket: true,
  },
  ...CONVERSIONS.map(([client, upstream]): Scenario => {
    const name = `JSON ${client} client, ${upstream} upstream, 8 connections`
    return { ...json, name, client, upstream, ...(client === 'messages' && upstream === 'chat' && QUICK_ONE) }
  }),
  ...CONVERSIONS.map(([client, upstream]): Scenario => {
    const name = `SSE ${client} client, ${upstream} upstream, 8 streams`
    const isQuick = QUICK.includes(`${client} ${upstream}`)
    return { ...stream, name, client, upstream, ...(isQuick && QUICK_ONE) }
  }),
]

/** Events of content in an answer; 0 for one that is no stream. */
export function tokensOf({ answer }: Pick<Scenario, 'answer'>): number {
  return Number(/^s(\d+)x/.exec(answer)?.[1] ?? 0)
}

/** What costs are divided by. */
export function unitOf(scenario: Pick<Scenario, 'answer'>): 'request' | 'event' {
  return tokensOf(scenario) === 0 ? 'request' : 'event'
}

/** The model that a route of bench/config.ts serves with this answer. */
export const modelOf = (upstream: Api, answer: string) => `bench-${upstream}-${answer}`

/** The last event of a stream. */
const LAST: Record<Api, string> = {
  chat: '[DONE]',
  messages: '"message_stop"',
  responses: '"response.completed"',
  embeddings: '',
}
const TEXT: Record<Api, string> = {
  chat: 'Lorem ipsum dolor sit amet. ',
  messages: 'Lorem ipsum dolor sit amet. ',
  responses: 'Lorem ipsum dolor sit amet. ',
  embeddings: '"embedding"',
}

/** What a client of this API expects. */
export function expectation(api: Api, scenario: Pick<Scenario, 'answer'>): LoadSpec['expect'] {
  const tokens = tokensOf(scenario)
  return tokens === 0 ? { text: TEXT[api] } : { tokens, token: ' consectetur', last: LAST[api] }
}

const SENTENCE = 'The quick brown fox says "hello" to the lazy dog.\n'

/** A request of this API for the scenario's answer. */
export function requestBody(
  api: Api,
  scenario: Pick<Scenario, 'answer' | 'promptBytes' | 'upstream' | 'webSocket'>,
  model = modelOf(scenario.upstream, scenario.answer),
): string {
  const { promptBytes } = scenario
  const prompt = SENTENCE.repeat(Math.ceil(promptBytes / SENTENCE.length)).slice(0, promptBytes)
  const messages = [{ role: 'user', content: prompt }]
  const isStream = tokensOf(scenario) > 0
  const fields = {
    chat: { max_tokens: 1000, messages, ...(isStream && { stream_options: { include_usage: true } }) },
    messages: { max_tokens: 1000, messages },
    responses: { max_output_tokens: 1000, input: prompt, store: false },
    embeddings: { input: prompt },
  }[api]
  const type = scenario.webSocket && { type: 'response.create' }
  return JSON.stringify({
    ...type,
    model,
    ...fields,
    ...(isStream && !scenario.webSocket && { stream: true }),
  })
}
