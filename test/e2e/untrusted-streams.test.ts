/** Invalid upstream streams on the byte lane, and silence before an answer begins. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
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
type DialectName = (typeof DIALECTS)[number]
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
        channel('reasonless', first.baseURL, { ...quick, features: { finishReason: false } }) +
        route('reasonless', 'reasonless', ['reasonless']),
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
  const conversation = [{ role: 'user', content: 'Hi' }]
  const input =
    client === 'responses'
      ? { input: conversation, store: false }
      : { messages: conversation, max_tokens: 50 }
  return JSON.stringify({ model, stream, ...input })
}
const ask = (client: DialectName, { model = client as string, stream = true } = {}) =>
  call(`${gateway.base}/v1/${PATHS[client]}`, {
    headers: jsonHeaders(KEY),
    body: body(client, model, stream),
  })

/** Makes the dialect's spare channel answer. */
function spareAnswers(name: DialectName, stream = true): void {
  const { begin, body: deltas, end } = UPSTREAM_FIXTURES[name].frames({ text: SPARE })
  spare.answer(
    stream
      ? sse([...begin, ...deltas, ...end])
      : (_call, res) => json(res, 200, UPSTREAM_FIXTURES[name].whole({ text: SPARE })),
  )
}

/** Sends contentless pieces until the connection is closed. */
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

  it.each(FOREIGN)('falls over if the answer begins with %j', async (event) => {
    first.answer(sse([event, ...begin, ...deltas, ...end]))
    const { status, text } = await ask(name)
    expect([status, text.includes(SPARE), text.includes('oops')]).toEqual([200, true, false])
  })

  it.each(FOREIGN)('%j in mid-stream ends the stream with an error event', async (event) => {
    first.answer(sse([...begin, ...deltas, event, ...end]))
    const { text } = await ask(name)
    const sent = [...begin, ...deltas].join('')
    expect(text.startsWith(sent)).toBe(true)
    const errorEvent = text.slice(sent.length)
    expect(errorEvent).toMatch(
      /^(?:event: (?:error|response\.failed)\n)?data: \{.*"code":"upstream_error".*\}\n\n$/,
    )
    expect(text).not.toContain(CREDENTIAL)
  })

  it('masks the channel’s credential', async () => {
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
    'falls over from an upstream that only sends %j; meanwhile the client gets comments',
    async (quiet) => {
      first.answer(forever('text/event-stream', quiet))
      const { status, text } = await ask(name)
      expect([status, text.includes(SPARE)]).toEqual([200, true])
      expect(text).toMatch(/^: keep-alive\n\n/)
    },
  )

  it('falls over from an upstream that only sends white space instead of JSON', async () => {
    spareAnswers(name, false)
    first.answer(forever('application/json', ' \n'))
    expect((await ask(name, { stream: false })).text).toContain(SPARE)
  })

  it('keeps a running answer alive during pings', async () => {
    first.answer(async (_call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      await written(res, begin.join(''))
      // Longer in total than the idle timeout.
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

it('falls over from a converted messages upstream that only sends pings', async () => {
  first.answer(forever('text/event-stream', 'event: ping\ndata: {"type":"ping"}\n\n'))
  spareAnswers('messages')
  expect((await ask('chat', { model: 'messages' })).text).toContain('spare')
})

it('falls over from an answer without choices', async () => {
  for (const stream of [true, false]) {
    spareAnswers('chat', stream)
    first.answer((_call, res) => json(res, 200, { id: 'c', object: 'chat.completion', choices: [] }))
    expect((await ask('chat', { stream })).text).toContain(SPARE)
  }
})

it('[DONE] without a finish reason is an error, unless the channel has none', async () => {
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
  expect((await ask('chat', { model: 'reasonless' })).text).toBe([...cut, 'data: [DONE]\n\n'].join(''))
})

it('ends a response on a socket with an error if the upstream sends invalid JSON', async () => {
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
