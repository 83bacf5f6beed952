/** The official Node SDKs: models, chat, streams, tools, structured output and aborted requests. */
import type OpenAI from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { anthropic, collect, HELLO, openai, rejection } from '../harness/sdk.ts'
import {
  chatAnswer,
  chatEvents,
  completion,
  json,
  type ScriptedUpstream,
  startUpstream,
} from '../harness/upstream.ts'

const KEY = 'sk-node-sdk-0123456789'
const LIMITED = 'sk-node-sdk-limited-0123456789'
const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
const MODELS = ['alpha', 'beta', 'vendor/gamma', 'vendor/team/delta', 'epsilon']

let upstream: ScriptedUpstream
let gateway: RunningGateway
let client: OpenAI

beforeAll(async () => {
  upstream = await startUpstream()
  gateway = await startGateway({
    'upstream.yaml': channel('up', upstream.baseURL),
    'routes.yaml':
      MODELS.map((model, i) => route(`r${i}`, model, ['up'])).join('') + route('wild', 'any/*', ['up']),
    'keys.yaml': apiKey('full', KEY) + apiKey('limited', LIMITED, { models: ['vendor/*'] }),
  })
  client = openai(gateway.base, KEY)
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

/** Body of the upstream's last request. */
const sentBody = () => JSON.parse(upstream.calls.at(-1)?.body.toString() ?? '')

describe('models', () => {
  it.each(['/v1', '/api/v1'])('OpenAI lists them under %s', async (path) => {
    const models = await collect(openai(gateway.base, KEY, { path }).models.list())
    expect(models.map(({ id }) => id).sort()).toEqual([...MODELS].sort())
    for (const model of models) {
      expect(model.object).toBe('model')
      expect(Number.isInteger(model.created)).toBe(true)
      expect(model.owned_by).not.toBe('')
    }
  })

  it.each([1, 2, 5, 100])('Anthropic lists them in pages of %i', async (limit) => {
    const models = await collect(anthropic(gateway.base, KEY).models.list({ limit }))
    expect(models.map(({ id }) => id).sort()).toEqual([...MODELS].sort())
    for (const model of models) {
      expect(model.type).toBe('model')
      expect(model.display_name).not.toBe('')
      expect(Date.parse(model.created_at)).not.toBeNaN()
    }
  })

  it('Anthropic lists them backwards, and under /api', async () => {
    const { models } = anthropic(`${gateway.base}/api`, KEY)
    const forwards = (await collect(models.list())).map(({ id }) => id)
    const last = forwards.at(-1) ?? ''
    const pages = await collect((await models.list({ limit: 2, before_id: last })).iterPages())
    expect(pages.map(({ data }) => data.map(({ id }) => id))).toEqual([
      forwards.slice(2, 4),
      forwards.slice(0, 2),
    ])
  })

  it.each(['alpha', 'vendor/gamma', 'vendor/team/delta', 'any/thing/at:all'])(
    'both SDKs retrieve %s',
    async (id) => {
      expect(await client.models.retrieve(id)).toMatchObject({ id, object: 'model' })
      expect(await anthropic(gateway.base, KEY).models.retrieve(id)).toMatchObject({ id, type: 'model' })
    },
  )

  it('a limited key sees only the models that it may use', async () => {
    const ids = (await collect(openai(gateway.base, LIMITED).models.list())).map(({ id }) => id)
    expect(ids.sort()).toEqual(['vendor/gamma', 'vendor/team/delta'])
  })
})

describe('chat', () => {
  it.each(['/v1', '/api/v1'])('returns an answer under %s, with the request id', async (path) => {
    upstream.answer(chatAnswer({ content: 'Good day', usage: USAGE }))
    const answer = await openai(gateway.base, KEY, { path }).chat.completions.create({
      model: 'vendor/gamma',
      messages: HELLO,
    })
    expect(answer.choices[0]?.message).toEqual({ role: 'assistant', content: 'Good day', refusal: null })
    expect(answer.usage).toEqual(USAGE)
    expect(upstream.calls.at(-1)?.path).toBe('/v1/chat/completions')
    expect(sentBody()).toEqual({ model: 'vendor/gamma', messages: HELLO })
    const logged = await until(
      () => gateway.requests().find(({ requestId }) => requestId === answer._request_id),
      'the request in the log',
    )
    expect(logged.status).toBe(200)
  })

  it('accepts the key as x-api-key', async () => {
    upstream.answer(chatAnswer())
    const other = openai(gateway.base, 'none', { defaultHeaders: { authorization: null, 'x-api-key': KEY } })
    const answer = await other.chat.completions.create({ model: 'alpha', messages: HELLO })
    expect(answer.choices[0]?.message.content).toBe('Hello there')
    expect(JSON.stringify(upstream.calls.at(-1)?.headers)).not.toContain(KEY)
  })

  it('streams without usage unless the client requests it', async () => {
    upstream.answer(chatAnswer({ content: 'one two three', usage: USAGE }))
    const { data, response, request_id } = await client.chat.completions
      .create({ model: 'alpha', messages: HELLO, stream: true })
      .withResponse()
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(request_id).toMatch(/^req_/)
    const chunks = await collect(data)
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('one two three')
    expect(chunks.filter(({ usage, choices }) => usage || choices.length === 0)).toEqual([])
    expect(sentBody().stream_options).toEqual({ include_usage: true })
  })

  it('streams usage at the end if the client requests it', async () => {
    upstream.answer(chatAnswer({ usage: USAGE }))
    const stream_options = { include_usage: true }
    const chunks = await collect(
      await client.chat.completions.create({ model: 'alpha', messages: HELLO, stream: true, stream_options }),
    )
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: USAGE })
  })

  it('satisfies the strict stream helper', async () => {
    upstream.answer(chatAnswer({ content: 'a b c d', usage: USAGE }))
    const stream_options = { include_usage: true }
    const runner = client.chat.completions.stream({ model: 'alpha', messages: HELLO, stream_options })
    const deltas: string[] = []
    runner.on('content', (delta) => deltas.push(delta))
    const final = await runner.finalChatCompletion()
    expect(deltas).toEqual(['a ', 'b ', 'c ', 'd'])
    expect(final.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'a b c d' } })
    expect(final.usage).toEqual(USAGE)
  })

  it('forwards images, audio, unknown fields and big numbers unchanged', async () => {
    upstream.answer(chatAnswer())
    const request = {
      model: 'alpha',
      messages: [
        {
          role: 'user' as const,
          content: [
            { type: 'text' as const, text: 'What is “this”? \u2028 𝄞' },
            {
              type: 'image_url' as const,
              image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'high' as const },
            },
            { type: 'input_audio' as const, input_audio: { data: 'UklGRg==', format: 'wav' as const } },
          ],
        },
      ],
      temperature: 0.1,
      seed: 9_007_199_254_740_991,
      made_up: { deep: [null, { x: 1e-7 }] },
    }
    await client.chat.completions.create(request)
    expect(sentBody()).toEqual(request)
  })
})

describe('tools', () => {
  const tool = (name: string) => ({
    type: 'function' as const,
    function: { name, parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  })
  const tools = [tool('weather'), tool('time')]

  /** The deltas of two calls, their arguments interleaved. */
  const deltas = [
    { index: 0, id: 'call_a', type: 'function', function: { name: 'weather', arguments: '' } },
    { index: 1, id: 'call_b', type: 'function', function: { name: 'time', arguments: '' } },
    { index: 0, function: { arguments: '{"city":' } },
    { index: 1, function: { arguments: '{"city":"Ul' } },
    { index: 0, function: { arguments: '"Łódź"}' } },
    { index: 1, function: { arguments: 'm"}' } },
  ]
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`

  it('streams two calls', async () => {
    upstream.answer((_call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(chunk({ role: 'assistant', content: null }))
      for (const delta of deltas) res.write(chunk({ tool_calls: [delta] }))
      res.end(`${chunk({}, 'tool_calls')}data: [DONE]\n\n`)
    })
    const final = await client.chat.completions
      .stream({ model: 'alpha', messages: HELLO, tools, parallel_tool_calls: true })
      .finalChatCompletion()
    expect(final.choices[0]?.message.tool_calls).toMatchObject([
      { id: 'call_a', type: 'function', function: { name: 'weather', arguments: '{"city":"Łódź"}' } },
      { id: 'call_b', type: 'function', function: { name: 'time', arguments: '{"city":"Ulm"}' } },
    ])
    expect(sentBody().tools).toEqual(tools)
  })

  it('runs a whole turn: call, result, answer', async () => {
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'weather', arguments: '{"city":"Ulm"}' },
    }
    upstream.answer(({ body }, res) => {
      const { messages } = JSON.parse(body.toString()) as { messages: { role: string; content: string }[] }
      const result = messages.find(({ role }) => role === 'tool')
      const message = { role: 'assistant', content: null, refusal: null, tool_calls: [call] }
      const asking = { choices: [{ index: 0, message, finish_reason: 'tool_calls', logprobs: null }] }
      const answer = completion('m', `It is ${result?.content}.`, USAGE)
      json(res, 200, result === undefined ? { ...answer, ...asking } : answer)
    })
    const inputs: unknown[] = []
    const runner = client.chat.completions.runTools({
      model: 'alpha',
      messages: HELLO,
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'Weather of a city',
            parameters: { type: 'object', properties: { city: { type: 'string' } } },
            parse: JSON.parse,
            function: (input: unknown) => {
              inputs.push(input)
              return 'sunny'
            },
          },
        },
      ],
    })
    expect(await runner.finalContent()).toBe('It is sunny.')
    expect(inputs).toEqual([{ city: 'Ulm' }])
  })
})

it('structured output: the upstream gets the schema, the SDK parses the answer', async () => {
  const shape = z.object({ city: z.string(), degrees: z.number() })
  upstream.answer(chatAnswer({ content: '{"city":"Ulm","degrees":21.5}' }))
  const response_format = zodResponseFormat(shape, 'weather')
  const answer = await client.chat.completions.parse({ model: 'alpha', messages: HELLO, response_format })
  expect(answer.choices[0]?.message.parsed).toEqual({ city: 'Ulm', degrees: 21.5 })
  expect(sentBody().response_format.json_schema.schema).toEqual(response_format.json_schema.schema)
})

describe('a client that leaves', () => {
  it('in mid-stream closes the upstream call', async () => {
    upstream.answer((_call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(chatEvents('m', 'first second', null).slice(0, 2).join(''))
    })
    const stream = await client.chat.completions.create({ model: 'alpha', messages: HELLO, stream: true })
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break
    await until(() => upstream.calls.at(-1)?.aborted, 'the upstream to see the end')
  })

  it('before the answer closes the upstream call', async () => {
    const before = upstream.calls.length
    upstream.answer(() => undefined)
    const leave = new AbortController()
    const { signal } = leave
    const answer = rejection(client.chat.completions.create({ model: 'alpha', messages: HELLO }, { signal }))
    await until(() => upstream.calls.length > before, 'the request at the upstream')
    leave.abort()
    await answer
    await until(() => upstream.calls.at(-1)?.aborted, 'the upstream to see the end')
    expect(upstream.calls.length).toBe(before + 1)
  })
})

it('logs times with at most three decimals', async () => {
  await until(() => gateway.requests().length > 20, 'the log of the requests above')
  const texts = gateway.requests().flatMap(({ ms }) => Object.values(Object(ms)).map(String))
  expect(texts.filter((text) => !/^\d+(\.\d{1,3})?$/.test(text))).toEqual([])
})
