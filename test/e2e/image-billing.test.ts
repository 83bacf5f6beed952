/** Billing of images and of token counting. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { call } from '../harness/http.ts'
import { lineOf, nanos } from '../harness/ledger.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { json, type Script, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-images-0123456789'
const POOR = 'sk-images-of-the-poor'
const IMAGE = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1').toString('base64')
const BY_SIZE = [
  { size: '1024x1024', quality: 'high', amount: '0.2' },
  { size: '1024x1024', amount: '0.1' },
  { quality: 'low', amount: '0.01' },
]
/** Output tokens held per image. */
const TOKENS = 8_192

let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await startUpstream()
  const { baseURL } = upstream
  const price = { perImage: '0.04' }
  const tokens = { input: '1', output: '10' }
  gateway = await startGateway({
    'all.yaml': [
      channel('images', baseURL, { type: 'images' }),
      channel('responses', baseURL, { type: 'responses', features: { images: false } }),
      channel('chat', baseURL),
      channel('messages', baseURL.replace(/\/v1$/, ''), { type: 'messages' }),
      route('image', 'image', ['images'], { price }),
      route('tokens', 'tokens', ['images'], { price: tokens }),
      route('sizes', 'sizes', ['images'], { price: { perImage: '0.05', images: BY_SIZE } }),
      route('sized-tool', 'sized-tool', ['responses'], {
        price: { perImage: '0.05', images: BY_SIZE, input: '0', output: '0' },
      }),
      route('tool', 'tool', ['responses'], { price: { ...price, ...tokens } }),
      route('chat', 'chat', ['chat'], { price: tokens }),
      route('messages', 'messages', ['messages'], { price: tokens, retry: { attempts: 1 } }),
      account('rich', '100') + apiKey('rich', KEY, { accountRef: { name: 'rich' } }),
      account('poor', '0.1') + apiKey('poor', POOR, { accountRef: { name: 'poor' } }),
    ].join(''),
  })
})
beforeEach(() => upstream.answer(returnImages))
afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

/** Returns as many images as requested, without usage. */
const returnImages: Script = ({ path, body }, res) => {
  const { n = 1 } = JSON.parse(body.toString()) as { n?: number }
  if (path.endsWith('/responses')) {
    const item = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: IMAGE }
    return json(res, 200, { id: 'resp_1', object: 'response', status: 'completed', output: [item] })
  }
  json(res, 200, { created: 1, data: Array.from({ length: n }, () => ({ b64_json: IMAGE })) })
}

async function ask(path: string, body: object, key = KEY) {
  const answer = await call(`${gateway.base}/v1/${path}`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const line = await lineOf(gateway, answer)
  return {
    ...answer,
    hold: line.hold === undefined ? undefined : nanos(line.hold),
    settled: line.settled === undefined ? undefined : nanos(line.settled),
  }
}

const chat = (model: string) => ({ model, messages: [{ role: 'user', content: 'A cat' }] })

describe('images', () => {
  it('are held and charged per image', async () => {
    const made = await ask('images/generations', { model: 'image', prompt: 'A cat', n: 3 })
    expect(made).toMatchObject({ status: 200, hold: nanos('0.12'), settled: nanos('0.12') })
  })

  const sized = (body: object) => ask('images/generations', { model: 'sizes', prompt: 'A cat', ...body })

  it.each([
    [{ size: '1024x1024', quality: 'high' }, '0.2'],
    [{ size: '1024x1024', quality: 'medium' }, '0.1'],
    [{ size: '1536x1024', quality: 'low' }, '0.01'],
    [{ size: '1536x1024', quality: 'high' }, '0.05'],
  ])('are held and charged by size and quality: %j', async (kind, price) => {
    const made = await sized({ ...kind, n: 2 })
    const both = 2 * nanos(price)
    expect(made).toMatchObject({ status: 200, hold: both, settled: both })
  })

  it('whose size and quality are left to the upstream are held as the most expensive, and charged as it made them', async () => {
    upstream.answer((_, res) =>
      json(res, 200, { created: 1, size: '1024x1024', quality: 'low', data: [{ b64_json: IMAGE }] }),
    )
    const hold = nanos('0.2')
    expect(await sized({ size: 'auto' })).toMatchObject({ status: 200, hold, settled: nanos('0.1') })
    upstream.answer(returnImages)
    expect(await sized({ quality: 'auto' })).toMatchObject({ status: 200, hold, settled: hold })
  })

  it('of a stream are charged as they were made', async () => {
    upstream.answer((_, res) => {
      const event = { type: 'image_generation.completed', b64_json: IMAGE, size: '1536x1024', quality: 'low' }
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.end(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    })
    const made = await sized({ stream: true })
    expect(made).toMatchObject({ status: 200, hold: nanos('0.2'), settled: nanos('0.01') })
  })

  it.each(['responses', 'chat/completions'])(
    'of a tool over %s are charged as they were made',
    async (path) => {
      upstream.answer((_, res) => {
        const made = { size: '1024x1024', quality: 'high', result: IMAGE }
        const item = { type: 'image_generation_call', id: 'ig_1', status: 'completed', ...made }
        const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
        json(res, 200, { id: 'resp_1', object: 'response', status: 'completed', output: [item], usage })
      })
      const body = path === 'responses' ? { model: 'sized-tool', input: 'A cat' } : chat('sized-tool')
      expect(await ask(path, body)).toMatchObject({ status: 200, settled: nanos('0.2') })
    },
  )

  it('are refused if the funds do not cover all of them', async () => {
    const calls = upstream.calls.length
    const made = await ask('images/generations', { model: 'image', prompt: 'A cat', n: 3 }, POOR)
    expect([made.status, upstream.calls.length]).toEqual([402, calls])
  })

  it('with a token price hold the tokens of the largest image', async () => {
    const made = await ask('images/generations', { model: 'tokens', prompt: 'A cat', n: 2 })
    // The prompt is held at two bytes per token, plus 64 tokens.
    expect(made).toMatchObject({ status: 200, hold: 2 * TOKENS * 10_000 + 67 * 1_000 })
  })

  it.each([
    ['chat/completions', chat('image')],
    ['responses', { model: 'image', input: 'A cat' }],
    ['messages', { ...chat('image'), max_tokens: 9 }],
  ])('cost the same through %s', async (path, body) => {
    expect(await ask(path, body)).toMatchObject({
      status: 200,
      hold: nanos('0.04'),
      settled: nanos('0.04'),
    })
  })
})

it('an image from a tool is held and charged like any other', async () => {
  const made = await ask('images/generations', { model: 'tool', prompt: 'A cat' })
  // 2,048 tokens for an image without usage, two for the prompt.
  expect(made).toMatchObject({
    status: 200,
    hold: nanos('0.04') + TOKENS * 10_000 + 67 * 1_000,
    settled: nanos('0.04') + 2_048 * 10_000 + 2 * 1_000,
  })
})

describe('counting tokens', () => {
  it('is estimated if the upstream cannot count, marked as such and free', async () => {
    const calls = upstream.calls.length
    const counted = await ask('messages/count_tokens', chat('chat'))
    expect(counted).toMatchObject({ status: 200, hold: undefined, settled: undefined })
    expect(counted.headers['x-sluice-estimated']).toBe('true')
    // Four bytes per token.
    expect(JSON.parse(counted.text)).toEqual({ input_tokens: 2 })
    expect(upstream.calls.length).toBe(calls)
  })

  it('comes from the upstream if it can count, and is free', async () => {
    upstream.answer((_, res) => json(res, 200, { input_tokens: 77 }))
    const counted = await ask('messages/count_tokens', chat('messages'))
    expect(counted).toMatchObject({ status: 200, text: '{"input_tokens":77}', hold: undefined })
    expect(counted.headers).not.toHaveProperty('x-sluice-estimated')
    expect(upstream.calls.at(-1)?.path).toBe('/v1/messages/count_tokens')
  })

  it('is also estimated if the upstream fails', async () => {
    upstream.answer((_, res) => json(res, 404, { type: 'error', error: { type: 'not_found_error' } }))
    const counted = await ask('messages/count_tokens', chat('messages'))
    expect([counted.status, counted.headers['x-sluice-estimated']]).toEqual([200, 'true'])
  })
})
