/** What an upstream sends in the place of an answer, where its dialect is the client's, and before an answer begins. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { DialectName } from '../../contract/endpoints.ts'
import { connect } from '../../proxy/socket/testing.ts'
import { UPSTREAM_FIXTURES } from '../fixtures/faults/index.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { call, jsonHeaders } from '../harness/http.ts'
import { apiKey, channel, documents, route } from '../harness/resources.ts'
import { sse, written } from '../harness/sse.ts'
import { json, type Script, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-untrusted-streams-test'
const CREDENTIAL = 'sk-0123456789abcdef-of-the-channel'
const DIALECTS = ['chat', 'responses', 'messages'] as const
const SPARE = 'from the spare'

let gateway: RunningGateway
let first: ScriptedUpstream
let spare: ScriptedUpstream

beforeAll(async () => {
  first = await startUpstream()
  spare = await startUpstream()
  const quick = {
    timeouts: { firstByte: '800ms', idle: '2s', total: '60s' },
    ejection: { consecutiveFailures: 0 },
    secretRef: { name: 'upstream' },
  }
  const both = (name: string) => [name, { name: `${name}-spare`, priority: 1 }]
  const once = { retry: { attempts: 2 } }
  gateway = await startGateway(
    {
      'all.yaml':
        apiKey('caller', KEY) +
        documents({
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { name: 'upstream' },
          stringData: { key: CREDENTIAL },
        }) +
        DIALECTS.map(
          (name) =>
            channel(name, first.baseURL, { ...quick, type: UPSTREAM_FIXTURES[name].type }) +
            channel(`${name}-spare`, spare.baseURL, { type: UPSTREAM_FIXTURES[name].type }) +
            route(name, name, both(name), once),
        ).join('') +
        channel('wordless', first.baseURL, { ...quick, features: { finishReason: false } }) +
        route('wordless', 'wordless', ['wordless']),
    },
    { SLUICE_STREAM_KEEPALIVE: '100ms' },
  )
})

afterAll(async () => {
  await gateway?.stop()
  await first?.close()
  await spare?.close()
})

const PATHS = { chat: 'chat/completions', responses: 'responses', messages: 'messages' }
const body = (client: DialectName, model: string, stream: boolean) => {
  const said = [{ role: 'user', content: 'Hi' }]
  const input = client === 'responses' ? { input: said, store: false } : { messages: said, max_tokens: 50 }
  return JSON.stringify({ model, stream, ...input })
}
const ask = (client: DialectName, { model = client as string, stream = true } = {}) =>
  call(`${gateway.base}/v1/${PATHS[client]}`, {
    headers: jsonHeaders(KEY),
    body: body(client, model, stream),
  })

/** The spare channel of a dialect answers. */
function spareAnswers(name: DialectName, stream = true): void {
  const { begin, body: deltas, end } = UPSTREAM_FIXTURES[name].frames({ text: SPARE })
  spare.answer(
    stream
      ? sse([...begin, ...deltas, ...end])
      : (_call, res) => json(res, 200, UPSTREAM_FIXTURES[name].whole({ text: SPARE })),
  )
}

/** Says something that is nothing, over and over. */
const forever =
  (type: string, ...quiet: string[]): Script =>
  async (_call, res) => {
    res.writeHead(200, { 'content-type': type })
    for (let i = 0; !res.destroyed; i++) {
      await written(res, quiet[Math.min(i, quiet.length - 1)] ?? '')
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

const FOREIGN = [
  `data: {"detail":"${CREDENTIAL} is no good"}\n\n`,
  'data: {"id": oops not json}\n\n',
  'data: [DONE]\n\n',
  'upstream connect error\n\n',
]

describe.each(DIALECTS)('%s', (name) => {
  const { begin, body: deltas, end } = UPSTREAM_FIXTURES[name].frames()
  beforeEach(() => spareAnswers(name))

  it.each(FOREIGN)('an answer that begins with %j is asked for elsewhere', async (event) => {
    first.answer(sse([event, ...begin, ...deltas, ...end]))
    const { status, text } = await ask(name)
    expect([status, text.includes(SPARE), text.includes('oops')]).toEqual([200, true, false])
  })

  it.each(FOREIGN)('%j in mid-stream ends it with an error event, and nothing behind it', async (event) => {
    first.answer(sse([...begin, ...deltas, event, ...end]))
    const { text } = await ask(name)
    const sent = [...begin, ...deltas].join('')
    expect(text.startsWith(sent)).toBe(true)
    const told = text.slice(sent.length)
    expect(told).toMatch(
      /^(?:event: (?:error|response\.failed)\n)?data: \{.*"code":"upstream_error".*\}\n\n$/,
    )
    expect(text).not.toContain(CREDENTIAL)
  })

  it('the credential of the channel is masked', async () => {
    first.answer(sse([...begin, UPSTREAM_FIXTURES[name].delta(`It is ${CREDENTIAL}, I think.`), ...end]))
    const { text } = await ask(name)
    expect(text).toContain('It is ***, I think.')
    expect(text).not.toContain(CREDENTIAL)
    first.answer((_call, res) =>
      json(res, 200, UPSTREAM_FIXTURES[name].whole({ text: `It is ${CREDENTIAL}.` })),
    )
    expect((await ask(name, { stream: false })).text).toContain('It is ***.')
  })

  it.each([': ping\n\n', '\n', 'data:\n\n', 'event: ping\ndata: {"type":"ping"}\n\n'])(
    'an upstream that sends %j for ever has not answered; the client hears comments meanwhile',
    async (quiet) => {
      first.answer(forever('text/event-stream', quiet))
      const { status, text } = await ask(name)
      expect([status, text.includes(SPARE)]).toEqual([200, true])
      expect(text).toMatch(/^: keep-alive\n\n/)
    },
  )

  it('nor has one that sends white space for JSON', async () => {
    spareAnswers(name, false)
    first.answer(forever('application/json', ' \n'))
    expect((await ask(name, { stream: false })).text).toContain(SPARE)
  })

  it('what says nothing keeps an answer alive that has begun', async () => {
    first.answer(async (_call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      await written(res, begin.join(''))
      // Longer than the idle time altogether.
      for (let pings = 0; pings < 13; pings++) {
        await written(res, ': ping\n\n')
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
      res.end([...deltas, ...end].join(''))
    })
    const { text } = await ask(name)
    expect(text.endsWith(end.at(-1) ?? '')).toBe(true)
  })
})

it('pings of a messages upstream begin no converted answer either', async () => {
  first.answer(forever('text/event-stream', 'event: ping\ndata: {"type":"ping"}\n\n'))
  spareAnswers('messages')
  expect((await ask('chat', { model: 'messages' })).text).toContain('spare')
})

it('an answer without choices is none', async () => {
  for (const stream of [true, false]) {
    spareAnswers('chat', stream)
    first.answer((_call, res) => json(res, 200, { id: 'c', object: 'chat.completion', choices: [] }))
    expect((await ask('chat', { stream })).text).toContain(SPARE)
  }
})

it('[DONE] without a reason is no end, unless the channel says that there never is one', async () => {
  const { begin, body: deltas } = UPSTREAM_FIXTURES.chat.frames()
  const cut = [...begin, ...deltas]
  first.answer(sse([...cut, 'data: [DONE]\n\n']))
  const { text, headers } = await ask('chat')
  expect(text).toMatch(/data: \{"error":\{.*"code":"upstream_error".*\}\}\n\n$/)
  expect(text).not.toContain('[DONE]')
  const line = await until(
    () => gateway.requests().find(({ requestId }) => requestId === headers['x-request-id']),
    'the log line',
  )
  expect(line.attempts).toContainEqual(
    expect.objectContaining({
      detail: 'no_finish_reason',
      hint: expect.stringContaining('features.finishReason: false'),
    }),
  )
  expect((await ask('chat', { model: 'wordless' })).text).toBe([...cut, 'data: [DONE]\n\n'].join(''))
})

it('on a socket every message is JSON, and what is none ends the answer with an error', async () => {
  const { begin, body: deltas, end } = UPSTREAM_FIXTURES.responses.frames()
  const client = await connect(`${gateway.base.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${KEY}` },
  })
  for (const event of FOREIGN) {
    client.messages.length = 0
    first.answer(sse([...begin, ...deltas, event, ...end]))
    client.send({ type: 'response.create', model: 'responses', store: false, input: 'Hi' })
    await until(
      () => client.messages.some(({ type }) => type === 'response.failed' || type === 'error'),
      'the error',
    )
    expect(JSON.stringify(client.messages)).not.toContain(CREDENTIAL)
  }
})
