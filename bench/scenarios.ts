/** The scenarios: the client's dialect, the answers of the fake upstream, and the number of concurrent clients. */

export interface Scenario {
  name: string
  /** The client's dialect. If it differs from the upstream's, the gateway converts. */
  client: 'chat' | 'messages' | 'responses'
  /** First path segment of the upstream's URL, and the model's name after `bench-`. */
  answer: 'json' | 'full' | 'paced' | 'blocks'
  clients: number
  promptBytes: number
  /** Events of the upstream's stream, which costs are divided by; undefined for an answer that is no stream. */
  events?: number
  /** Events that the client must get, if conversion changes their number. */
  converted?: number
}

export const CONTENT_EVENTS = { full: 500, paced: 100, blocks: 500 }
export const PACE_MS = 10
/** Events of one stream besides its content: role, finish, usage, [DONE]. */
const AROUND_CHUNKS = 4
/** message_start, content_block_start, content_block_stop, message_delta, message_stop */
const AROUND_BLOCKS = 5
/** created, in_progress, item and part added; text, part and item done; completed */
const AROUND_ITEMS = 8

const full = {
  answer: 'full',
  clients: 8,
  promptBytes: 300,
  events: CONTENT_EVENTS.full + AROUND_CHUNKS,
} as const

export const SCENARIOS: Scenario[] = [
  { name: 'JSON, 1 client', client: 'chat', answer: 'json', clients: 1, promptBytes: 300 },
  { name: 'JSON, 64 clients', client: 'chat', answer: 'json', clients: 64, promptBytes: 300 },
  {
    name: 'JSON, 100 kB prompt, 8 clients',
    client: 'chat',
    answer: 'json',
    clients: 8,
    promptBytes: 100_000,
  },
  {
    name: 'JSON, 500 kB prompt, 4 clients',
    client: 'chat',
    answer: 'json',
    clients: 4,
    promptBytes: 500_000,
  },
  { name: 'JSON converted, 8 clients', client: 'messages', answer: 'json', clients: 8, promptBytes: 300 },
  {
    name: 'JSON converted, 500 kB prompt, 4 clients',
    client: 'messages',
    answer: 'json',
    clients: 4,
    promptBytes: 500_000,
  },
  { ...full, name: 'SSE full speed, 8 streams', client: 'chat' },
  {
    ...full,
    name: 'SSE chat to messages, 8 streams',
    client: 'messages',
    converted: CONTENT_EVENTS.full + AROUND_BLOCKS,
  },
  {
    ...full,
    name: 'SSE chat to responses, 8 streams',
    client: 'responses',
    converted: CONTENT_EVENTS.full + AROUND_ITEMS,
  },
  {
    name: 'SSE messages to chat, 8 streams',
    client: 'chat',
    answer: 'blocks',
    clients: 8,
    promptBytes: 300,
    events: CONTENT_EVENTS.blocks + AROUND_BLOCKS,
    converted: CONTENT_EVENTS.blocks + AROUND_CHUNKS,
  },
  {
    name: 'SSE paced, 50 streams',
    client: 'chat',
    answer: 'paced',
    clients: 50,
    promptBytes: 300,
    events: CONTENT_EVENTS.paced + AROUND_CHUNKS,
  },
]

export function requestBody({ client, answer, promptBytes, events }: Scenario): Buffer {
  const sentence = 'The quick brown fox says "hello" to the lazy dog.\n'
  const prompt = sentence.repeat(Math.ceil(promptBytes / sentence.length)).slice(0, promptBytes)
  const messages = [{ role: 'user', content: prompt }]
  const asked = {
    chat: { max_tokens: 1000, messages, ...(events && { stream_options: { include_usage: true } }) },
    messages: { max_tokens: 1000, messages },
    responses: { max_output_tokens: 1000, input: prompt },
  }[client]
  return Buffer.from(JSON.stringify({ model: `bench-${answer}`, ...asked, ...(events && { stream: true }) }))
}
