/** What is measured: the answers of the fake upstream, and how many clients ask for them at once. */

/** Events of one stream besides its content: role, finish, usage, [DONE]. */
const EVENTS_AROUND = 4

export interface Scenario {
  name: string
  /** First path segment of the upstream's URL, and the model's name after `bench-`. */
  answer: 'json' | 'full' | 'paced'
  clients: number
  promptBytes: number
  /** Events that each answer must have; undefined for one that is no stream. */
  events?: number
}

export const CONTENT_EVENTS = { full: 500, paced: 100 }
export const PACE_MS = 10

export const SCENARIOS: Scenario[] = [
  { name: 'JSON, 1 client', answer: 'json', clients: 1, promptBytes: 300 },
  { name: 'JSON, 64 clients', answer: 'json', clients: 64, promptBytes: 300 },
  { name: 'JSON, 100 kB prompt, 8 clients', answer: 'json', clients: 8, promptBytes: 100_000 },
  {
    name: 'SSE full speed, 8 streams',
    answer: 'full',
    clients: 8,
    promptBytes: 300,
    events: CONTENT_EVENTS.full + EVENTS_AROUND,
  },
  {
    name: 'SSE paced, 50 streams',
    answer: 'paced',
    clients: 50,
    promptBytes: 300,
    events: CONTENT_EVENTS.paced + EVENTS_AROUND,
  },
]

export function requestBody({ answer, promptBytes, events }: Scenario): Buffer {
  const sentence = 'The quick brown fox says "hello" to the lazy dog.\n'
  const prompt = sentence.repeat(Math.ceil(promptBytes / sentence.length)).slice(0, promptBytes)
  const stream = events === undefined ? {} : { stream: true, stream_options: { include_usage: true } }
  return Buffer.from(
    JSON.stringify({
      model: `bench-${answer}`,
      max_tokens: 1000,
      messages: [{ role: 'user', content: prompt }],
      ...stream,
    }),
  )
}
