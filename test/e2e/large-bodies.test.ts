/** Bodies that a thread parses and converts reach the upstream as small ones do. */
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { call, expectError, jsonHeaders } from '../harness/http.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { chatAnswer, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-large-bodies'
const TEXT = 'Größe "x"\n漢字 '.repeat(100_000)
const VALUES = Array.from({ length: 300_000 }, (_, n) => n)

let gateway: RunningGateway
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = await startUpstream(chatAnswer())
  gateway = await startGateway({
    'all.yaml':
      apiKey('caller', KEY) +
      channel('main', upstream.baseURL) +
      route('r', 'm', [{ name: 'main', model: 'up' }]),
  })
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

async function send(path: string, text: string, headers: Record<string, string> = {}) {
  const body = headers['content-encoding'] === 'gzip' ? gzipSync(text) : text
  const before = upstream.calls.length
  const answer = await call(`${gateway.base}${path}`, { body, headers: jsonHeaders(KEY, headers) })
  return {
    answer,
    sent: upstream.calls.slice(before).map(({ body, headers }) => ({ body: String(body), headers })),
  }
}

const chat = (content: string, more: object = {}) =>
  JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], ...more })

describe.each([{}, { 'content-encoding': 'gzip' }])('%j', (headers: Record<string, string>) => {
  it.each([
    ['a long text', chat(TEXT)],
    ['many values', chat('x', { vendor: VALUES })],
  ])('%s keeps its bytes on the byte lane, but for the model', async (_, text) => {
    const { answer, sent } = await send('/v1/chat/completions', text, headers)
    expect(answer.status).toBe(200)
    const expected = text.replace('"m"', '"up"')
    expect(sent.map(({ body }) => body === expected)).toEqual([true])
    expect(sent[0]?.headers['content-length']).toBe(String(Buffer.byteLength(expected)))
  })

  it('a long text is converted', async () => {
    const text = chat(TEXT, { max_tokens: 9, vendor: 1 })
    const { answer, sent } = await send('/v1/messages', text, headers)
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.text)).toMatchObject({ type: 'message', content: [{ text: 'Hello there' }] })
    expect(answer.headers['x-sluice-dropped']).toBe('vendor')
    const { messages, model } = JSON.parse(sent[0]?.body ?? '')
    expect(model).toBe('up')
    expect(messages[0].content === TEXT).toBe(true)
  })
})

it('a large body that is invalid is refused like a small one', async () => {
  const text = chat(TEXT).slice(0, -1)
  const { answer, sent } = await send('/v1/chat/completions', `${text} "x":1}`)
  expectError(answer, 400, 'invalid_request')
  expect(answer.text).toContain(`The body is not valid JSON (at character ${text.length + 1}).`)
  const wrong = await send('/v1/messages', chat(TEXT))
  expect(wrong.answer.status).toBe(400)
  expect(wrong.answer.text).toContain('max_tokens is required')
  expect([...sent, ...wrong.sent]).toEqual([])
})
