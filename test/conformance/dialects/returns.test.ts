/** Changes that the gateway made to a request for the upstream are undone in the answer. */
import { describe, expect, it } from 'vitest'
import type { Features } from '../../../contract/features.ts'
import type { StreamPart } from '../../../proxy/dialects/core/neutral/types.ts'
import {
  type DialectName,
  encodeAnswer,
  encodeStream,
  folded,
  laneOf,
  minimalRequest,
  NAMES,
  streamRequest,
} from './codecs.ts'
import { readStrictly } from './strict.ts'
import { type View, viewOf } from './views.ts'

type Json = Record<string, unknown>

/** The client's answer, as JSON and as a stream, if the upstream answers with these parts. */
function answers(
  client: DialectName,
  upstream: DialectName,
  body: Json,
  parts: StreamPart[],
  features: Partial<Features> = {},
): View[] {
  const ask = (stream: boolean) => ({
    ...minimalRequest(client),
    ...body,
    ...(stream ? streamRequest(client) : {}),
    ...body,
  })
  const whole = laneOf(client, ask(false), upstream, features).readAnswer(
    Buffer.from(JSON.stringify(encodeAnswer(upstream, folded(parts)))),
    false,
  )
  if (!('body' in whole)) throw new Error(whole.detail)
  const observer = laneOf(client, ask(true), upstream, features).observe(1 << 20)
  const bytes = Buffer.from(encodeStream(upstream, parts).text)
  // One event in each chunk, so that text is split across deltas.
  const chunks = bytes
    .toString('latin1')
    .split(/(?<=\n\n)/)
    .map((text) => Buffer.from(text, 'latin1'))
  const out = [...chunks.map((chunk) => observer.push(chunk)), observer.flush()].filter(
    (one) => one !== undefined,
  )
  expect(observer.finished).toBe(true)
  const strict = readStrictly(client, Buffer.concat(out).toString())
  return [viewOf(client, JSON.parse(whole.body.toString())), viewOf(client, strict)]
}

const usage = {
  input: 5,
  cachedInput: 0,
  cacheWrite: 0,
  cacheWriteLong: 0,
  output: 3,
  reasoning: 0,
  images: 0,
}

const calls = (...inputs: [name: string, ...deltas: string[]][]): StreamPart[] => [
  { type: 'start' },
  ...inputs.flatMap(([name, ...deltas], index): StreamPart[] => [
    { type: 'tool-call-start', id: `${index}`, callId: `call_${index}`, name, kind: 'function' },
    ...deltas.map((text): StreamPart => ({ type: 'tool-call-delta', id: `${index}`, text })),
    { type: 'tool-call-end', id: `${index}` },
  ]),
  { type: 'finish', finish: { reason: 'tool-calls' }, usage },
]

const text = (...deltas: string[]): StreamPart[] => [
  { type: 'start' },
  { type: 'text-start', id: '0' },
  ...deltas.map((text): StreamPart => ({ type: 'text-delta', id: '0', text })),
  { type: 'text-end', id: '0' },
  { type: 'finish', finish: { reason: 'stop' }, usage },
]

/** A custom tool as its client declares it. */
const CUSTOM: Partial<Record<DialectName, Json>> = {
  chat: { tools: [{ type: 'custom', custom: { name: 'patch' } }] },
  responses: { tools: [{ type: 'custom', name: 'patch' }] },
}

describe('custom tools that were wrapped', () => {
  const ways = [
    ['chat', 'messages'],
    ['responses', 'messages'],
    ['responses', 'chat'],
    ['chat', 'responses'],
  ] as const
  const patch = { id: 'call_0', kind: 'custom', name: 'patch' }

  it.each(ways)('come back as free text: %s over %s', (client, upstream) => {
    const body = CUSTOM[client] ?? {}
    const parts = calls(['patch', '{"inp', 'ut":"a\\n\\"b\\" \\u00e9"', '}'])
    for (const view of answers(client, upstream, body, parts, { customTools: false })) {
      expect(view.calls).toEqual([{ ...patch, input: 'a\n"b" é' }])
      expect(view.finish).toBe('tool-calls')
    }
  })

  it.each(ways)('are the text itself if the model wrote no JSON: %s over %s', (client, upstream) => {
    if (upstream === 'messages') return
    const parts = calls(['patch', 'PATCH ', 'a'])
    for (const view of answers(client, upstream, CUSTOM[client] ?? {}, parts, { customTools: false })) {
      expect(view.calls).toEqual([{ ...patch, input: 'PATCH a' }])
    }
  })
})

describe('names that were changed', () => {
  it.each(['chat', 'messages'] as const)('of namespaces come back: responses over %s', (upstream) => {
    const inner = { type: 'function', name: 'read', parameters: { type: 'object' }, strict: false }
    const body = { tools: [{ type: 'namespace', name: 'files', description: 'd', tools: [inner] }] }
    const lane = laneOf('responses', { ...minimalRequest('responses'), ...body }, upstream)
    const answer = encodeAnswer(upstream, folded(calls(['files__read', '{}'])))
    const read = lane.readAnswer(Buffer.from(JSON.stringify(answer)), false)
    if (!('body' in read)) throw new Error(read.detail)
    expect(JSON.parse(read.body.toString()).output).toMatchObject([
      { type: 'function_call', name: 'read', namespace: 'files', call_id: 'call_0' },
    ])
  })

  it('that are too long come back: messages over chat', () => {
    const name = `mcp__${'very_'.repeat(20)}long`
    const body = { tools: [{ name, input_schema: { type: 'object' } }] }
    const sent = JSON.parse(
      laneOf('messages', { ...minimalRequest('messages'), ...body }, 'chat').body.toString(),
    )
    const short = sent.tools[0].function.name
    expect(short.length).toBeLessThanOrEqual(64)
    for (const view of answers('messages', 'chat', body, calls([short, '{}']))) {
      expect(view.calls.map((call) => call.name)).toEqual([name])
    }
  })
})

describe('stop sequences that responses lacks', () => {
  it.each([
    ['chat', { stop: ['END', 'STOP'] }],
    ['messages', { stop_sequences: ['END', 'STOP'] }],
  ] as const)('cut the answer for clients of %s, across deltas', (client, body) => {
    for (const view of answers(client, 'responses', body, text('One E', 'N', 'D two STOP three'))) {
      expect(view).toMatchObject({ text: 'One ', finish: 'stop' })
    }
    for (const view of answers(client, 'responses', body, text('One E', 'N two', ' STO'))) {
      expect(view.text).toBe('One EN two STO')
    }
  })

  it('are named to clients of messages', () => {
    const body = { ...minimalRequest('messages'), stop_sequences: ['END'] }
    const answer = encodeAnswer('responses', folded(text('One END two')))
    const read = laneOf('messages', body, 'responses').readAnswer(Buffer.from(JSON.stringify(answer)), false)
    if (!('body' in read)) throw new Error(read.detail)
    expect(JSON.parse(read.body.toString())).toMatchObject({
      stop_reason: 'stop_sequence',
      stop_sequence: 'END',
    })
  })
})

describe('the model', () => {
  it.each(NAMES)('is called by the name that the client of %s used', (client) => {
    for (const upstream of NAMES) {
      const lane = laneOf(client, minimalRequest(client, { model: 'my-model' }), upstream)
      expect(JSON.parse(lane.body.toString()).model).toBe('up')
      const read = lane.readAnswer(
        Buffer.from(JSON.stringify(encodeAnswer(upstream, folded(text('Hi')), 'up'))),
        false,
      )
      if (!('body' in read)) throw new Error(read.detail)
      expect(JSON.parse(read.body.toString()).model).toBe('my-model')
    }
  })
})
