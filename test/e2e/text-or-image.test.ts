/** Text is not answered by a picture because a text channel failed, and a picture is no call and no JSON. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { connect } from '../../proxy/socket/testing.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { type Answer, call, jsonHeaders } from '../harness/http.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { json, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-text-or-picture-0123456789'
const PICTURE = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1').toString('base64')

let pictures: ScriptedUpstream
let text: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  pictures = await startUpstream((_call, res) =>
    json(res, 200, { created: 1, data: [{ b64_json: PICTURE }] }),
  )
  text = await startUpstream((_call, res) => json(res, 500, { error: { message: 'no' } }))
  gateway = await startGateway({
    'all.yaml': [
      apiKey('caller', KEY),
      channel('pics', pictures.baseURL, { type: 'images' }),
      channel('text', text.baseURL, {
        type: 'responses',
        features: { images: false },
        ejection: { consecutiveFailures: 2, interval: '1h' },
      }),
      channel('off', text.baseURL, { disabled: true }),
      channel('keyless', text.baseURL, { secretRef: { name: 'nowhere' } }),
      route('later', 'later', ['text', { name: 'pics', priority: 1 }]),
      route('weighted', 'weighted', ['text', { name: 'pics', weight: 1000 }]),
      route('off', 'off', ['off', 'pics']),
      route('keyless', 'keyless', ['keyless', 'pics']),
      route('alone', 'alone', ['pics', 'not-there']),
    ].join(''),
  })
})

afterAll(async () => {
  await gateway?.stop()
  await Promise.all([pictures?.close(), text?.close()])
})

beforeEach(() => {
  pictures.calls.length = 0
})

const send = (path: string, body: object): Promise<Answer> =>
  call(`${gateway.base}/v1/${path}`, { body: JSON.stringify(body), headers: jsonHeaders(KEY) })

const messages = [{ role: 'user', content: 'Sum up the contract' }]
const REQUESTS: [string, string, object][] = [
  ['chat', 'chat/completions', { messages }],
  ['responses', 'responses', { input: 'Sum up the contract' }],
  ['messages', 'messages', { messages, max_tokens: 100 }],
]
const FORMS = [{}, { stream: true }]

describe('a route with other channels', () => {
  it.each(REQUESTS)('answers no %s request by a picture', async (_name, path, body) => {
    for (const model of ['later', 'weighted', 'off', 'keyless']) {
      for (const form of FORMS) {
        // Often enough for the text channel to be ejected.
        for (let i = 0; i < 3; i++) expect((await send(path, { model, ...body, ...form })).status).toBe(502)
      }
    }
    expect(pictures.calls).toEqual([])
  })

  it('makes pictures all the same where they are asked for', async () => {
    for (const model of ['later', 'off']) {
      const made = await send('images/generations', { model, prompt: 'A cat' })
      expect([made.status, pictures.calls.length]).toEqual([200, 1])
      pictures.calls.length = 0
    }
  })

  it('says so in its explanation', async () => {
    const hash = createHash('sha256').update(KEY).digest('hex')
    const ask = async (model: string) =>
      JSON.parse((await call(`${gateway.admin}/explain?keyHash=${hash}&model=${model}&endpoint=chat`)).text)
    expect(await ask('off')).toMatchObject({
      refusal: { status: 502 },
      candidates: [
        { channel: 'pics', state: 'not_eligible', reason: expect.stringContaining('other types') },
      ],
    })
    expect(await ask('alone')).toMatchObject({ candidates: [{ channel: 'pics', state: 'ready' }] })
  })
})

describe('a route with images channels alone', () => {
  it.each(REQUESTS)('answers a %s request by a picture', async (_name, path, body) => {
    for (const form of FORMS)
      expect((await send(path, { model: 'alone', ...body, ...form })).status).toBe(200)
    expect(pictures.calls.map((made) => made.path)).toEqual(Array(2).fill('/v1/images/generations'))
  })

  const f = { name: 'f', parameters: { type: 'object', properties: {} } }
  const schema = { type: 'object', properties: {}, additionalProperties: false }
  it.each<[string, number, object]>([
    ['tools', 0, { tools: [{ type: 'function', function: f }] }],
    ['tools', 0, { tools: [{ type: 'function', function: f }], tool_choice: 'none' }],
    ['response_format', 0, { response_format: { type: 'json_object' } }],
    ['response_format', 0, { response_format: { type: 'json_schema', json_schema: { name: 's', schema } } }],
    ['tools', 1, { tools: [{ type: 'function', ...f }] }],
    ['tools', 1, { tools: [{ type: 'image_generation' }, { type: 'web_search' }] }],
    ['text.format', 1, { text: { format: { type: 'json_object' } } }],
    ['text.format', 1, { text: { format: { type: 'json_schema', name: 's', schema } } }],
    ['tools', 2, { tools: [{ name: 'f', input_schema: schema }] }],
    ['output_config.format', 2, { output_config: { format: { type: 'json_schema', schema } } }],
  ])('refuses %s that no picture can answer (%i)', async (field, request, more) => {
    const [name, path, body] = REQUESTS[request] ?? ['', '', {}]
    for (const form of FORMS) {
      const answer = await send(path, { model: 'alone', ...body, ...more, ...form })
      expect(answer.status).toBe(400)
      const { error } = JSON.parse(answer.text) as { error: Record<string, unknown> }
      expect(error).toMatchObject({ code: 'unsupported_parameter', type: 'invalid_request_error' })
      expect(error.message).toContain(field)
      if (name !== 'messages') expect(error.param).toBe(field)
    }
    expect(pictures.calls).toEqual([])
  })

  it('takes the tool that asks for a picture, and plain text', async () => {
    const asked = { model: 'alone', input: 'A cat', tools: [{ type: 'image_generation' }] }
    expect((await send('responses', { ...asked, text: { format: { type: 'text' } } })).status).toBe(200)
  })
})

it('is so over a WebSocket', async () => {
  const url = `${gateway.base.replace('http', 'ws')}/v1/responses`
  const client = await connect(url, { headers: { authorization: `Bearer ${KEY}` } })
  const create = async (fields: object, count: number) => {
    client.send({ type: 'response.create', input: 'Sum it up', ...fields })
    const over = () => client.messages.filter(({ type }) => type === 'error' || type === 'response.completed')
    await until(() => over().length === count, 'the answer')
    return over().at(-1)
  }
  expect(await create({ model: 'later' }, 1)).toMatchObject({ type: 'error', status: 502 })
  const tools = [{ type: 'function', name: 'f', parameters: {} }]
  expect(await create({ model: 'alone', tools }, 2)).toMatchObject({
    type: 'error',
    status: 400,
    error: { param: 'tools' },
  })
  expect(pictures.calls).toEqual([])
  expect(await create({ model: 'alone' }, 3)).toMatchObject({ type: 'response.completed' })
})
