/** A large body that a thread reads has the same meaning as a small one. */
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import {
  allFeatures,
  clientOf,
  dialectOf,
  envelopes,
  laneOf,
  NAMES,
} from '../../../test/conformance/dialects/codecs.ts'
import { ANSWERS, REQUESTS, STREAMS } from '../../../test/conformance/dialects/fixtures.ts'
import { apartLane } from '../../dialects/core/lanes/apart.ts'
import type { Lane } from '../../dialects/core/lanes/lane.ts'
import type { ParsedRequest } from '../../dialects/core/request.ts'
import { ENDPOINTS } from '../../dialects/index.ts'
import { GatewayError } from '../../errors.ts'
import type { SharedBody } from './job.ts'
import { openBodyThreads } from './threads.ts'
import { BodyTurns } from './turns.ts'

const turns = new BodyTurns(1_000, () => 0)
const threads = openBodyThreads(turns, 1)
afterAll(() => threads.stop())

const signal = new AbortController().signal
const LIMITS = { maxDepth: 200, maxKeys: 100_000, maxValues: 500 }
const HEADERS = { 'anthropic-beta': 'x' }

function shared(endpoint: string, text: string | Buffer): SharedBody {
  const from = Buffer.from(text)
  const bytes = new SharedArrayBuffer(from.length)
  from.copy(Buffer.from(bytes))
  return { endpoint, bytes, limits: LIMITS, headers: HEADERS, url: undefined }
}

/** Everything about a request, or everything about its refusal. */
async function outcome(parse: () => ParsedRequest | Promise<ParsedRequest>) {
  try {
    const { body, value, sealed: _sealed, ...head } = await parse()
    return { head, body: body.toString('latin1'), value: value?.get() }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const { code, message, status, param, final } = error
    return { code, message, status, param, final }
  }
}

const JSON_ENDPOINTS = [
  'chat',
  'responses',
  'messages',
  'count_tokens',
  'embeddings',
  'images',
  'compact',
] as const

test('a request is parsed, or refused, as in the thread of the clients', async () => {
  const field = fc.constantFrom('model', 'messages', 'input', 'prompt', 'max_tokens', 'tools', 'stream', 'x')
  const value = fc.oneof(
    fc.constantFrom(
      '"m"',
      '9',
      'true',
      '[]',
      '[{"role":"user","content":"é\\n漢"}]',
      '[{"role":1}]',
      '{"__proto__":1}',
    ),
    fc.jsonValue().map((any) => JSON.stringify(any)),
    fc.integer({ min: 1, max: 600 }).map((n) => `[${Array(n).fill('1').join()}]`),
    fc.string(),
  )
  const body = fc
    .array(fc.tuple(field, value), { maxLength: 6 })
    .map((members) => `{"model":"m",${members.map(([key, text]) => `"${key}":${text}`).join()}}`)
  const bytes = fc.oneof(
    body.map((text) => Buffer.from(text)),
    fc.uint8Array().map((any) => Buffer.from(any)),
  )
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...JSON_ENDPOINTS), bytes, async (endpoint, sent) => {
      const { parseRequest } = ENDPOINTS[endpoint].api
      const here = await outcome(() => parseRequest(sent, LIMITS, HEADERS, undefined))
      expect(await outcome(() => threads.parse('key', shared(endpoint, sent), signal))).toEqual(here)
    }),
  )
})

test.each(REQUESTS.map((fixture) => [`${fixture.dialect}/${fixture.name}`, fixture] as const))(
  'a request of the fixtures is parsed in the same way: %s',
  async (_, { dialect, content }) => {
    const text = JSON.stringify(content)
    const here = await outcome(() => dialectOf(dialect).parseRequest(Buffer.from(text), LIMITS, HEADERS))
    expect(await outcome(() => threads.parse('key', shared(dialect, text), signal))).toEqual(here)
  },
)

/** What a lane sends and how it reads answers: whole ones, and streams. */
function everything(lane: Lane, upstream: (typeof NAMES)[number]) {
  const { path, body, contentType, headers, outputLimit, kind } = lane
  const answers = ANSWERS.filter(({ dialect }) => dialect === upstream).map(({ content }) =>
    readable(lane.readAnswer(Buffer.from(JSON.stringify(content)), false)),
  )
  const streams = STREAMS.filter(({ dialect }) => dialect === upstream).map(({ content }) => {
    const observer = lane.observe(1_000_000)
    const passed = [observer.push(Buffer.from(content)), observer.flush()]
    const { failure, finished, usage, tier } = observer
    return { passed: passed.map(String), failure, finished, usage, tier }
  })
  const sent = { kind, path, body: String(body), contentType, headers, outputLimit }
  return { sent, answers, streams, losses: lane.losses.names }
}

const readable = (answer: ReturnType<Lane['readAnswer']>) =>
  'body' in answer ? { ...answer, body: String(answer.body) } : answer

/** Requests with state of a responses upstream that the gateway sealed, and with state that it did not. */
const SEALED = ['encrypted', 'unknown'].map((kind) => {
  const signature = envelopes.seal({ dialect: 'responses', kind, value: 'AAAA', id: 'rs_1' })
  const thoughts = [signature, 'slc1.forged', 'EqQB', signature].map((signature) => ({
    type: 'thinking',
    thinking: 'T',
    signature,
  }))
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [...thoughts, { type: 'text', text: 'Well.' }] },
    { role: 'user', content: 'Go on' },
  ]
  return {
    dialect: 'messages' as const,
    name: `sealed ${kind}`,
    content: { model: 'm', max_tokens: 9, messages },
  }
})

/** A tool that takes free text, which a messages upstream sees as a function. Its answers call it. */
const FREE_TEXT = {
  dialect: 'responses' as const,
  name: 'free text tool',
  content: { model: 'm', input: 'Hi', tools: [{ type: 'custom', name: 'get_weather' }] },
}

describe('a conversion in a thread sends the same bytes, and reads answers in the same way', () => {
  const cases = [...REQUESTS, ...SEALED, FREE_TEXT].flatMap((fixture) =>
    NAMES.filter((name) => name !== fixture.dialect).map(
      (upstream) => [`${fixture.dialect}/${fixture.name}`, upstream, fixture] as const,
    ),
  )

  test.each(cases)('%s to %s', async (_, upstream, { dialect, content }) => {
    const text = JSON.stringify(content)
    const to = {
      api: upstream,
      model: 'up',
      features: allFeatures(upstream),
      withoutCarriers: false,
      unsupported: 'Drop' as const,
      defaultMaxOutputTokens: 8192,
    }
    let here: Lane
    try {
      here = laneOf(dialect, content, upstream)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      const { code, message, param } = error
      const refused = threads.convert('key', shared(dialect, text), { to, open: envelopes.open }, signal)
      await expect(refused).rejects.toMatchObject({ code, message, param })
      return
    }
    const { parsed, id, created, inputTokens } = clientOf(dialect, content)
    const converted = await threads.convert(
      'key',
      shared(dialect, text),
      { to, open: envelopes.open },
      signal,
    )
    const sides = { client: dialectOf(dialect), upstream: dialectOf(upstream) }
    const apart = apartLane(sides, { parsed, id, created, inputTokens, envelopes }, to, converted)
    expect(everything(apart, upstream)).toEqual(everything(here, upstream))
  })
})

test('an unknown endpoint is a fault of the gateway', async () => {
  await expect(threads.parse('key', shared('nope', '{}'), signal)).rejects.toThrow('nope is not an endpoint')
})
