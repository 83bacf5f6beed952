import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ExampleUpstream, startExampleUpstream } from './server.ts'

let upstream: ExampleUpstream
beforeAll(async () => {
  upstream = await startExampleUpstream({ port: 0, host: '127.0.0.1' })
})
afterAll(() => upstream.close())

const question = { model: 'example-model', messages: [{ role: 'user', content: 'one two' }] }
const reply = 'Hello from the example upstream. You said: one two'

function post(body: unknown, key = 'example-upstream-key', path = '/v1/chat/completions') {
  return fetch(`http://127.0.0.1:${upstream.port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

describe('example upstream', () => {
  test('answers a question whole, with usage in words', async () => {
    const response = await post(question)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { role: 'assistant', content: reply }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 2, completion_tokens: 9, total_tokens: 11 },
    })
  })

  test('reads text parts and stops at the limit', async () => {
    const content = [{ type: 'text', text: 'one' }, { type: 'image_url' }]
    const response = await post({ ...question, messages: [{ role: 'user', content }], max_tokens: 2 })
    expect(await response.json()).toMatchObject({
      choices: [{ message: { content: 'Hello from' }, finish_reason: 'length' }],
      usage: { prompt_tokens: 1, completion_tokens: 2 },
    })
  })

  test('streams role, words, finish, usage and [DONE]', async () => {
    const response = await post({ ...question, stream: true, stream_options: { include_usage: true } })
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    const events = (await response.text()).split('\n\n').filter((event) => event !== '')
    expect(events.at(-1)).toBe('data: [DONE]')
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event.slice('data: '.length)))
    expect(chunks[0].choices[0].delta.role).toBe('assistant')
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(reply)
    expect(chunks.at(-2).choices[0].finish_reason).toBe('stop')
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 11 } })
  })

  test('leaves usage out of a stream that did not ask for it', async () => {
    const text = await (await post({ ...question, stream: true })).text()
    expect(text).toContain('finish_reason')
    expect(text).not.toContain('usage')
  })

  test('embeds texts as vectors of length 1, in their order', async () => {
    const input = ['one two', 'three']
    const response = await post({ model: 'example-model', input }, undefined, '/v1/embeddings')
    const { data, ...rest } = (await response.json()) as { data: { index: number; embedding: number[] }[] }
    expect(rest).toMatchObject({ object: 'list', usage: { prompt_tokens: 3, total_tokens: 3 } })
    expect(data.map(({ index }) => index)).toEqual([0, 1])
    for (const { embedding } of data) expect(Math.hypot(...embedding)).toBeCloseTo(1)
    expect(data[0]?.embedding).not.toEqual(data[1]?.embedding)
  })

  test.each([
    ['/v1/images/generations', { model: 'example-model', prompt: 'A dot', n: 2 }, 2],
    ['/v1/images/edits', 'a form', 1],
  ])('%s: a PNG of one pixel', async (path, body, count) => {
    const response = await post(body, undefined, path)
    const { data } = (await response.json()) as { data: { b64_json: string }[] }
    expect(data).toHaveLength(count)
    const png = Buffer.from(data[0]?.b64_json ?? '', 'base64')
    expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n')
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([1, 1])
  })

  test.each([
    ['a wrong key', () => post(question, 'wrong'), 401, 'invalid_api_key'],
    ['another path', () => post(question, undefined, '/v1/audio/speech'), 404, 'unknown_url'],
    ['another model', () => post({ ...question, model: 'gpt' }), 404, 'model_not_found'],
    ['no JSON', () => post('{'), 400, 'invalid_request'],
    ['no messages', () => post({ model: 'example-model' }), 400, 'invalid_request'],
    ['no input', () => post({ model: 'example-model' }, undefined, '/v1/embeddings'), 400, 'invalid_request'],
  ])('refuses %s', async (_what, send, status, code) => {
    const response = await send()
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { code, type: 'invalid_request_error' } })
  })
})
