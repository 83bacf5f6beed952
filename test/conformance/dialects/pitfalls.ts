/** Streams of sloppy upstreams, and the events that clients get. */
import { type DialectName, decodeStream, encodeStream } from './codecs.ts'
import { STREAMS } from './fixtures.ts'
import { transmit } from './laws.ts'
import { specEvents, writeEvents } from './sse.ts'
import { readStrictly } from './strict.ts'
import { viewOf } from './views.ts'

export type Json = Record<string, unknown>

export const fixture = (dialect: DialectName, name: string): string => {
  const found = STREAMS.find((one) => one.dialect === dialect && one.name === name)
  if (found === undefined) throw new Error(`no stream ${dialect} ${name}`)
  return found.content
}

/** The parsed events that a client gets for an upstream's stream. */
export const events = (client: DialectName, upstream: DialectName, text: string): Json[] =>
  specEvents(converted(client, upstream, text))
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data))

export const view = (client: DialectName, upstream: DialectName, text: string) =>
  viewOf(client, readStrictly(client, converted(client, upstream, text)))

/** The stream as the codecs write it, also for a client of the same dialect. */
export const converted = (client: DialectName, upstream: DialectName, text: string): string =>
  client === upstream
    ? encodeStream(client, decodeStream(upstream, text).parts).text
    : transmit(client, upstream, [Buffer.from(text)]).text

/** A chat stream with these deltas and the finish. */
export function chatStream(deltas: Json[], finish = 'stop'): string {
  const chunk = (choices: Json[], more: Json = {}) => ({
    event: '',
    data: JSON.stringify({
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'up',
      choices,
      ...more,
    }),
  })
  const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }
  return writeEvents([
    ...deltas.map((delta) => chunk([{ index: 0, delta, finish_reason: null }])),
    chunk([{ index: 0, delta: {}, finish_reason: finish }]),
    chunk([], { usage }),
    { event: '', data: '[DONE]' },
  ])
}

export const call = (index: number, id: string, args = '') => ({
  tool_calls: [{ index, id, type: 'function', function: { name: 'f', arguments: args } }],
})
export const args = (index: number, text: string) => ({
  tool_calls: [{ index, function: { arguments: text } }],
})
