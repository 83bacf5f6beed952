/** Failures of optional endpoints do not count against a channel. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { call } from '../harness/http.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { json, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'
import { answerBody, dialectOf, scripted } from './dialects/scripted-upstream.ts'

const KEY = 'sk-optional-endpoints-0123456789'
/** More than the consecutive failures that eject a channel. */
const MANY = 5

let first: ScriptedUpstream
let spare: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  first = await startUpstream((call, res) =>
    /count_tokens|embeddings|compact|images/.test(call.path)
      ? json(res, 404, { error: { message: 'Not Found' } })
      : scripted({ text: 'Fine' })(call, res),
  )
  spare = await startUpstream(scripted({ text: 'Spare' }))
  const ejection = { consecutiveFailures: 2 }
  const pairOf = (type: string, more: object = {}) => {
    const base = (url: string) => (type === 'messages' ? url.replace(/\/v1$/, '') : url)
    const name = type.replace('_', '-')
    return (
      channel(`first-${name}`, base(first.baseURL), { type, ejection, ...more }) +
      channel(`spare-${name}`, base(spare.baseURL), { type, ejection, ...more }) +
      route(name, name, [
        { name: `first-${name}`, priority: 0 },
        { name: `spare-${name}`, priority: 1 },
      ])
    )
  }
  gateway = await startGateway({
    'all.yaml': [
      apiKey('key', KEY),
      pairOf('messages'),
      pairOf('chat_completion'),
      pairOf('responses', { features: { images: false } }),
    ].join(''),
  })
})
afterAll(async () => {
  await gateway?.stop()
  await first?.close()
  await spare?.close()
})

const post = (path: string, body: object) =>
  call(`${gateway.base}/v1/${path}`, {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
  })

describe.each([
  ['messages', 'messages/count_tokens', { messages: [{ role: 'user', content: 'Hi' }] }],
  ['chat-completion', 'embeddings', { input: 'Hi' }],
  ['chat-completion', 'images/generations', { prompt: 'A cat' }],
  ['responses', 'responses/compact', { input: 'Hi' }],
  // Over responses a tool generates images, and this model never calls it.
  ['responses', 'images/generations', { prompt: 'A cat' }],
  ['responses', 'embeddings', { input: 'Hi' }],
])('%s: a failing %s', (model, path, body) => {
  it('does not eject the channel', async () => {
    for (let i = 0; i < MANY; i++) await post(path, { model, ...body })
    const before = first.calls.length
    const text =
      model === 'messages'
        ? await post('messages', { model, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] })
        : model === 'responses'
          ? await post('responses', { model, input: 'Hi' })
          : await post('chat/completions', { model, messages: [{ role: 'user', content: 'Hi' }] })
    expect(text).toMatchObject({ status: 200, text: expect.stringContaining('Fine') })
    expect(first.calls.length).toBe(before + 1)
  })
})

it('a channel that fails at its main endpoint is ejected', async () => {
  first.answer((call, res) =>
    dialectOf(call) === 'chat' ? json(res, 404, {}) : json(res, 200, answerBody(dialectOf(call), {})),
  )
  const ask = () =>
    post('chat/completions', { model: 'chat-completion', messages: [{ role: 'user', content: 'Hi' }] })
  for (let i = 0; i < MANY; i++) expect((await ask()).text).toContain('Spare')
  const before = first.calls.length
  await ask()
  expect(first.calls.length).toBe(before)
})
