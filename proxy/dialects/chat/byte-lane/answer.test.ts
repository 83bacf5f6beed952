import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import '../../index.ts'
import { sseEvents } from '../../core/sse/events.ts'
import { chat } from '../index.ts'

const MESSAGES = [{ role: 'user' as const, content: 'Hi' }]
function request(fields: Record<string, unknown> = {}) {
  const body = { model: 'm', messages: MESSAGES, stream: true, ...fields }
  return chat.parseRequest(Buffer.from(JSON.stringify(body)), { maxDepth: 64, maxKeys: 1000 }, {})
}
const WANTS_USAGE = { stream_options: { include_usage: true } }
const CALLS = [
  { id: 'call_1', type: 'function', function: { name: 'a', arguments: '{"x":1}' } },
  { id: 'call_2', type: 'function', function: { name: 'b', arguments: '{}' } },
]
const COMPLETION = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'up',
  service_tier: 'flex',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'Grüße',
        reasoning_content: 'hm',
        refusal: null,
        annotations: [],
        tool_calls: CALLS,
      },
      logprobs: null,
      finish_reason: 'tool_calls',
    },
  ],
  usage: {
    prompt_tokens: 9,
    completion_tokens: 5,
    total_tokens: 14,
    prompt_tokens_details: { cached_tokens: 4 },
  },
}
const read = (value: unknown, fields = {}, asStream = false) =>
  chat.byteLane.readAnswer(Buffer.from(JSON.stringify(value)), request(fields), asStream)

function streamed(value: unknown, fields = {}): Buffer {
  const answer = read(value, fields, true)
  if (!('body' in answer)) throw new Error('no answer')
  return answer.body
}

describe('readAnswer', () => {
  test('an answer keeps its bytes and reports usage, tier and output size', () => {
    const body = Buffer.from(` ${JSON.stringify(COMPLETION, null, 1)}\n`)
    expect(chat.byteLane.readAnswer(body, request(), false)).toEqual({
      body,
      usage: {
        input: 5,
        cachedInput: 4,
        cacheWrite: 0,
        cacheWriteLong: 0,
        output: 5,
        reasoning: 0,
        images: 0,
      },
      tier: 'flex',
      delivered: { deltas: 4, bytes: 7 + 2 + 7 + 2 },
    })
  })

  test('without usage the message still reports the output size', () => {
    const message = { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } }
    const delivered = { deltas: 1, bytes: 2 }
    expect(read({ choices: [{ message }] })).toMatchObject({ usage: undefined, delivered })
  })

  test.each<[string, unknown, object]>([
    ['an error', { error: { code: 'insufficient_quota' } }, { class: 'quota', detail: 'error_in_answer' }],
    [
      'an error beside choices',
      { ...COMPLETION, error: { code: 429, message: 'x' } },
      { class: 'rate_limit' },
    ],
    [
      'an error in a choice',
      { ...COMPLETION, choices: [{ index: 0, message: {}, error: { code: 429, message: 'x' } }] },
      { class: 'rate_limit' },
    ],
    [
      'an invalid finish reason',
      { ...COMPLETION, choices: [{ index: 0, message: { content: 'Par' }, finish_reason: 'error' }] },
      { detail: 'error_in_answer' },
    ],
    ['an error text', { error: 'x' }, { class: 'unknown' }],
    ['no choices', { id: 'x' }, { class: 'unknown', detail: 'no_answer' }],
    ['choices that are not a list', { choices: {} }, { class: 'unknown' }],
    ['a list', [COMPLETION], { class: 'unknown' }],
    ['null', null, { class: 'unknown' }],
  ])('%s is a failure', (_, value, failure) => {
    expect(read(value)).toMatchObject({ ...failure, status: 200 })
  })

  test.each(['', '<html>busy</html>', '{"choices":['])('%j is a failure', (text) => {
    expect(chat.byteLane.readAnswer(Buffer.from(text), request(), false)).toMatchObject({
      class: 'unknown',
      detail: 'no_answer',
    })
  })

  test('an answer too deep to be streamed is a failure', () => {
    const content = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
    const body = Buffer.from(`{"choices":[{"message":{"content":${content}}}]}`)
    expect(chat.byteLane.readAnswer(body, request(), true)).toMatchObject({
      class: 'unknown',
      detail: 'answer_too_deep',
    })
    expect(chat.byteLane.readAnswer(body, request(), false)).toMatchObject({ body })
  })

  test('a null error is ignored', () => {
    expect(read({ ...COMPLETION, error: null })).toHaveProperty('body')
  })
})

describe('as a stream', () => {
  test('role, texts, tool calls, finish, usage, [DONE]', () => {
    const events = [...sseEvents(streamed(COMPLETION, WANTS_USAGE))].map((e) => e.data)
    expect(events.pop()).toBe('[DONE]')
    const chunks = events.map((data) => JSON.parse(data))
    for (const chunk of chunks) {
      expect(chunk).toMatchObject({
        id: 'chatcmpl-1',
        object: 'chat.completion.chunk',
        created: 1_700_000_000,
        model: 'up',
        service_tier: 'flex',
      })
    }
    const last = chunks.pop()
    expect(last).toMatchObject({ choices: [], usage: COMPLETION.usage })
    expect(chunks.map((c) => c.usage)).toEqual(chunks.map(() => null))
    expect(chunks.map((c) => [c.choices[0].delta, c.choices[0].finish_reason])).toEqual([
      [{ role: 'assistant', content: '', refusal: null }, null],
      [{ reasoning_content: 'hm' }, null],
      [{ content: 'Grüße' }, null],
      [{ tool_calls: CALLS.map((call, index) => ({ ...call, index })) }, null],
      [{}, 'tool_calls'],
    ])
  })

  test('no usage for a client that did not request it', () => {
    expect(streamed(COMPLETION).toString()).not.toContain('usage')
  })

  test('the observer accepts it as a finished stream', () => {
    const observer = chat.byteLane.observe(request(WANTS_USAGE), 100_000, true)
    const bytes = streamed(COMPLETION, WANTS_USAGE)
    expect(observer.push(bytes)).toEqual(bytes)
    expect(observer).toMatchObject({
      finished: true,
      failure: undefined,
      tier: 'flex',
      delivered: { deltas: 4, bytes: 18 },
    })
    expect(observer.usage).toMatchObject({ input: 5, cachedInput: 4, output: 5 })
  })

  test('the official SDK assembles the same answer', async () => {
    const two = {
      ...COMPLETION,
      choices: [
        ...COMPLETION.choices,
        { index: 1, message: { role: 'assistant', content: 'b' }, finish_reason: 'stop' },
      ],
    }
    const body = streamed(two, WANTS_USAGE)
    const client = new OpenAI({
      apiKey: 'none',
      fetch: async () =>
        new Response(new Uint8Array(body), { headers: { 'content-type': 'text/event-stream' } }),
    })
    const completion = await client.chat.completions
      .stream({ model: 'm', messages: MESSAGES })
      .finalChatCompletion()
    expect(completion.choices).toHaveLength(2)
    expect(completion.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { role: 'assistant', content: 'Grüße' },
    })
    expect(completion.choices[0]?.message.tool_calls).toMatchObject(CALLS)
    expect(completion.choices[1]).toMatchObject({ finish_reason: 'stop', message: { content: 'b' } })
    expect(completion.usage).toEqual(COMPLETION.usage)
  })
})
