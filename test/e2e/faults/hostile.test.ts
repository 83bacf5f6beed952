/** Well-formed requests that are hostile or nonsense: for every pair an answer, or a 400 that names the field. */
import assert from 'node:assert/strict'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { isRecord, tryParse } from '../../../proxy/dialects/core/json/value.ts'
import type { DialectName } from '../../fixtures/faults/index.ts'
import { FULL_REQUESTS } from '../../fixtures/faults/requests.ts'
import { type Bench, DIALECTS, leaksIn, nameOf, PAIRS, startBench } from './bench.ts'
import { sendAnswer } from './fault.ts'
import { errorCode } from './outcome.ts'

type Json = Record<string, unknown>

let bench: Bench

beforeAll(async () => {
  bench = await startBench([{ name: 'fine', play: (context) => sendAnswer(context) }])
})

afterAll(async () => {
  await bench?.stop()
})

afterEach(() => {
  expect(bench.gateway.child.exitCode).toBeNull()
  expect(bench.gateway.output()).not.toMatch(/internal_error|[Uu]nhandled|TypeError|RangeError/)
})

/** A conversation, independent of the dialect. */
interface Conversation {
  calls?: { id: string; name?: string; input?: string }[]
  results?: { id: string; text?: string }[]
  /** Encrypted reasoning or a signature of the assistant. */
  carrier?: string
  text?: string
  tools?: { name: string; more?: Json }[]
}

const BODY: Record<DialectName, (conversation: Conversation) => Json> = {
  chat: ({ calls = [], results = [], carrier, text = 'Hello', tools }) => ({
    messages: [
      { role: 'user', content: text },
      {
        role: 'assistant',
        content: 'Well.',
        ...(carrier !== undefined && {
          reasoning_content: 'T',
          reasoning_details: [{ type: 'reasoning.encrypted', data: carrier }],
        }),
        ...(calls.length > 0 && {
          tool_calls: calls.map(({ id, name = 'look', input = '{}' }) => ({
            id,
            type: 'function',
            function: { name, arguments: input },
          })),
        }),
      },
      ...results.map(({ id, text: content = 'done' }) => ({ role: 'tool', tool_call_id: id, content })),
      { role: 'user', content: 'Go on' },
    ],
    ...(tools && {
      tools: tools.map(({ name, more }) => ({ type: 'function', function: { name, ...more } })),
    }),
  }),
  responses: ({ calls = [], results = [], carrier, text = 'Hello', tools }) => ({
    input: [
      { role: 'user', content: text },
      ...(carrier === undefined
        ? []
        : [{ type: 'reasoning', id: 'rs_x', summary: [], encrypted_content: carrier }]),
      { role: 'assistant', content: 'Well.' },
      ...calls.map(({ id, name = 'look', input = '{}' }) => ({
        type: 'function_call',
        call_id: id,
        name,
        arguments: input,
      })),
      ...results.map(({ id, text: output = 'done' }) => ({
        type: 'function_call_output',
        call_id: id,
        output,
      })),
      { role: 'user', content: 'Go on' },
    ],
    ...(tools && { tools: tools.map(({ name, more }) => ({ type: 'function', name, ...more })) }),
  }),
  messages: ({ calls = [], results = [], carrier, text = 'Hello', tools }) => ({
    messages: [
      { role: 'user', content: text },
      {
        role: 'assistant',
        content: [
          ...(carrier === undefined ? [] : [{ type: 'thinking', thinking: 'T', signature: carrier }]),
          { type: 'text', text: 'Well.' },
          ...calls.map(({ id, name = 'look', input = '{}' }) => ({
            type: 'tool_use',
            id,
            name,
            input: tryParse(input),
          })),
        ],
      },
      {
        role: 'user',
        content: [
          ...results.map(({ id, text: content = 'done' }) => ({
            type: 'tool_result',
            tool_use_id: id,
            content,
          })),
          { type: 'text', text: 'Go on' },
        ],
      },
    ],
    ...(tools && {
      tools: tools.map(({ name, more }) => ({ name, input_schema: { type: 'object' }, ...more })),
    }),
  }),
}

/** Sends a body for every pair. Returns the upstream's requests; a refusal must name a field that `param` matches. */
async function askAll(body: (client: DialectName) => Json, param?: RegExp) {
  const seen: { pair: string; client: DialectName; upstream: DialectName; sent: string; dropped: string }[] =
    []
  for (const pair of PAIRS) {
    const { client, upstream, stream } = pair
    const before = bench.upstreams[upstream].calls.length
    const answer = await bench.ask(pair, 'fine', body(client))
    expect(leaksIn(answer, bench)).toEqual([])
    if (answer.status !== 200) {
      const refusal = tryParse(answer.text)
      expect([nameOf(pair), answer.status, answer.text.slice(0, 300)]).toEqual([
        nameOf(pair),
        400,
        expect.anything(),
      ])
      errorCode(client, refusal)
      assert(isRecord(refusal) && isRecord(refusal.error))
      expect(String(refusal.error.param)).toMatch(param ?? /^no refusal is expected$/)
      continue
    }
    if (stream) expect(answer.text).not.toContain('"error":{')
    const call = bench.upstreams[upstream].calls[before]
    const dropped = String(answer.headers['x-sluice-dropped'] ?? '')
    seen.push({ pair: nameOf(pair), client, upstream, sent: String(call?.body), dropped })
  }
  return seen
}

const converted = (seen: Awaited<ReturnType<typeof askAll>>) =>
  seen.filter(({ client, upstream }) => client !== upstream)

describe('invalid carriers', () => {
  const FORGED = [
    'slc1.signature.AAAA',
    'slc1.encrypted.bm90aGluZw',
    'slc1.redacted.!!!',
    'slc1.',
    'slc1.__proto__.AAAA',
    `slc1.signature.${'A'.repeat(100_000)}`,
  ]
  it.each(FORGED)('drops an envelope that the gateway did not seal: %#', async (carrier) => {
    const seen = await askAll((client) => BODY[client]({ carrier }))
    expect(seen.length).toBe(PAIRS.length)
    for (const { pair, sent, dropped } of seen) {
      expect([pair, sent.includes('slc1.')]).toEqual([pair, false])
      expect([pair, dropped]).toEqual([pair, expect.stringMatching(/reasoning|signature|encrypted/)])
    }
  })

  it('drops another vendor’s signature and reports the loss', async () => {
    const seen = converted(await askAll((client) => BODY[client]({ carrier: 'foreign-signature' })))
    for (const { pair, sent, dropped } of seen) {
      expect([pair, sent.includes('foreign-signature')]).toEqual([pair, false])
      expect([pair, dropped]).toEqual([pair, expect.stringMatching(/reasoning|signature|encrypted/)])
    }
  })
})

describe('inconsistent histories', () => {
  it('drops a result without a call', async () => {
    const seen = converted(
      await askAll((client) => BODY[client]({ results: [{ id: 'lost', text: 'orphan-result' }] })),
    )
    for (const { pair, sent } of seen) expect([pair, sent.includes('orphan-result')]).toEqual([pair, false])
  })

  it('adds a result to a call without one', async () => {
    const seen = converted(await askAll((client) => BODY[client]({ calls: [{ id: 'call_1' }] })))
    expect(seen.length).toBe(12)
    for (const { pair, sent } of seen) expect([pair, sent.split('call_1').length - 1]).toEqual([pair, 2])
  })

  it('accepts ids of two calls, and repeated results', async () => {
    const seen = converted(
      await askAll((client) =>
        BODY[client]({
          calls: [
            { id: 'same', input: '{"n":1}' },
            { id: 'same', input: '{"n":2}' },
          ],
          results: [
            { id: 'same', text: 'first' },
            { id: 'same', text: 'second' },
            { id: 'same', text: 'third' },
          ],
        }),
      ),
    )
    expect(seen.length).toBe(12)
    for (const { pair, sent } of seen) expect([pair, sent.includes('first')]).toEqual([pair, true])
  })

  it.each(['__proto__', 'constructor', 'toString', 'a b/c', '💥', 'x'.repeat(100_000), '\ud800'])(
    'accepts or refuses the id %j',
    async (id) => {
      await askAll((client) => BODY[client]({ calls: [{ id }], results: [{ id }] }), /id$/)
    },
    20_000,
  )
})

describe('tools', () => {
  it('accepts a thousand tools and two thousand calls', async () => {
    const tools = Array.from({ length: 1_000 }, (_, i) => ({ name: `tool_${i}` }))
    const calls = Array.from({ length: 2_000 }, (_, i) => ({ id: `call_${i}`, name: `tool_${i % 1_000}` }))
    const seen = await askAll((client) => BODY[client]({ tools, calls, results: calls }))
    expect(seen.length).toBe(18)
    for (const { pair, sent } of seen) expect([pair, sent.includes('"tool_999"')]).toEqual([pair, true])
  })

  it.each(['__proto__', 'constructor', 'x'.repeat(100_000), 'mcp__a/b c', '💥', '\ud800', 'twice'])(
    'accepts or refuses the name %j',
    async (name) => {
      const tools = [{ name }, { name }, { name: `${name}_` }]
      await askAll(
        (client) => BODY[client]({ tools, calls: [{ id: 'c', name }], results: [{ id: 'c' }] }),
        /name$/,
      )
    },
  )
})

describe('text', () => {
  it('replaces lone surrogates', async () => {
    const seen = await askAll((client) =>
      BODY[client]({ text: 'a\ud800b', calls: [{ id: 'c' }], results: [{ id: 'c', text: '\udfff' }] }),
    )
    for (const { pair, sent } of converted(seen)) {
      expect([pair, /\\ud[89a-f]/i.test(sent)]).toEqual([pair, false])
      expect([pair, sent.includes('a\ufffdb')]).toEqual([pair, true])
    }
  })

  it.each(['', ' ', '\u0000', '\n\n'])('accepts the text %j', async (text) => {
    await askAll((client) => BODY[client]({ text }))
  })
})

describe('names of built-in properties', () => {
  it.each(DIALECTS)('%s: anywhere in the body', async (client) => {
    const poison =
      '"__proto__":{"stream":true,"temperature":9},"constructor":{"prototype":{"x":1}},"toString":1'
    const text = JSON.stringify(FULL_REQUESTS[client]).replaceAll('{"', `{${poison},"`)
    const body = tryParse(text)
    assert(isRecord(body))
    // These fields allow only strings, so they would refuse it.
    for (const key of ['metadata', 'logit_bias']) delete body[key]
    for (const upstream of DIALECTS) {
      const answer = await bench.ask({ client, upstream, stream: false }, 'fine', body)
      expect([upstream, answer.status, answer.text.slice(0, 300)]).toEqual([upstream, 200, expect.anything()])
      const sent = tryParse(String(bench.upstreams[upstream].calls.at(-1)?.body))
      if (client !== upstream) expect(sent).not.toMatchObject({ stream: true })
    }
    expect(({} as Json).x).toBeUndefined()
  })
})
