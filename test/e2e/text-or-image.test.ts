/** An image never replaces a text answer that failed, a tool call or JSON output. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { connect } from '../../proxy/socket/testing.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { type Answer, call, jsonHeaders } from '../harness/http.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { json, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-text-or-image-0123456789'
const IMAGE = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1').toString('base64')

let images: ScriptedUpstream
let text: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  images = await startUpstream((_call, res) => json(res, 200, { created: 1, data: [{ b64_json: IMAGE }] }))
  text = await startUpstream((_call, res) => json(res, 500, { error: { message: 'no' } }))
  gateway = await startGateway({
    'all.yaml': [
      apiKey('caller', KEY),
      channel('pics', images.baseURL, { type: 'images' }),
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
  await Promise.all([images?.close(), text?.close()])
})

beforeEach(() => {
  images.calls.length = 0
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
  it.each(REQUESTS)('never answers a %s request with an image', async (_name, path, body) => {
    for (const model of ['later', 'weighted', 'off', 'keyless']) {
      for (const form of FORMS) {
        // Often enough to eject the text channel.
        for (let i = 0; i < 3; i++) expect((await send(path, { model, ...body, ...form })).status).toBe(502)
      }
    }
    expect(images.calls).toEqual([])
  })

  it('still generates images on request', async () => {
    for (const model of ['later', 'off']) {
      const made = await send('images/generations', { model, prompt: 'A cat' })
      expect([made.status, images.calls.length]).toEqual([200, 1])
      images.calls.length = 0
    }
  })

  it('explains why the images channel is not eligible', async () => {
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

describe('a route with only images channels', () => {
  it.each(REQUESTS)('answers a %s request with an image', async (_name, path, body) => {
    for (const form of FORMS)
      expect((await send(path, { model: 'alone', ...body, ...form })).status).toBe(200)
    expect(images.calls.map((call) => call.path)).toEqual(Array(2).fill('/v1/images/generations'))
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
  ])('refuses %s, which an image cannot satisfy (%i)', async (field, request, more) => {
    const [name, path, body] = REQUESTS[request] ?? ['', '', {}]
    for (const form of FORMS) {
      const answer = await send(path, { model: 'alone', ...body, ...more, ...form })
      expect(answer.status).toBe(400)
      const { error } = JSON.parse(answer.text) as { error: Record<string, unknown> }
      expect(error).toMatchObject({ code: 'unsupported_parameter', type: 'invalid_request_error' })
      expect(error.message).toContain(field)
      if (name !== 'messages') expect(error.param).toBe(field)
    }
    expect(images.calls).toEqual([])
  })

  it('accepts the image generation tool and the plain text format', async () => {
    const request = { model: 'alone', input: 'A cat', tools: [{ type: 'image_generation' }] }
    expect((await send('responses', { ...request, text: { format: { type: 'text' } } })).status).toBe(200)
  })
})

it('behaves the same over a WebSocket', async () => {
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
  expect(images.calls).toEqual([])
  expect(await create({ model: 'alone' }, 3)).toMatchObject({ type: 'response.completed' })
})
