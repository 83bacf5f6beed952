/** Compactions from a client of the responses API over each upstream, and back. */
import { describe, expect, it } from 'vitest'
import { featuresOf } from '../../../../contract/profiles.ts'
import { ephemeralKeyRing } from '../../../../store/sealing.ts'
import {
  assertComplete,
  readResponsesStream,
} from '../../../../test/conformance/dialects/strict-responses.ts'
import type { ClientApi } from '../../core/dialect.ts'
import { createEnvelopes } from '../../core/hub/envelope.ts'
import { type Fields, isRecord } from '../../core/json/value.ts'
import { lanesOf } from '../../core/lanes/index.ts'
import { DIALECTS } from '../../index.ts'
import { responses } from '../index.ts'
import { compact } from './index.ts'
import { INSTRUCTION } from './prompts.ts'

const ENVELOPES = createEnvelopes(ephemeralKeyRing(), 'account', DIALECTS)
const TYPES = { chat: 'chat_completion', responses: 'responses', messages: 'messages' } as const
type Name = keyof typeof TYPES
const NAMES: Name[] = ['chat', 'responses', 'messages']

/** A request as codex sends it. */
const TOOL = {
  type: 'function',
  name: 'shell',
  parameters: { type: 'object', properties: {} },
  strict: false,
}
const CALL = { type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{}' }
const OUTPUT = { type: 'function_call_output', call_id: 'c1', output: 'a.ts' }
const TRIGGER = { type: 'compaction_trigger' }
const user = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })
const CONVERSATION = [user('List the files.'), CALL, OUTPUT]
const BODY = {
  model: 'm',
  instructions: 'You are an agent.',
  input: [...CONVERSATION, TRIGGER],
  tools: [TOOL],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  text: { verbosity: 'low', format: { type: 'json_object', later: 1 } },
  include: ['reasoning.encrypted_content'],
  context_management: [{ type: 'compaction', compact_threshold: 9000 }],
  store: true,
}

function open(name: Name, body: object, client: ClientApi = responses) {
  const limits = { maxDepth: 64, maxKeys: 10_000 }
  const parsed = client.parseRequest(Buffer.from(JSON.stringify(body)), limits, {})
  const about = { parsed, id: 'X', created: 1700, inputTokens: 5, envelopes: ENVELOPES, rewriteModel: false }
  const settings = { unsupported: 'Reject', defaultMaxOutputTokens: 500 } as const
  return lanesOf({ client, ...about, ...settings }, DIALECTS).open({
    lane: name === 'responses' ? 'byte' : 'hub',
    api: name,
    model: 'up',
    features: featuresOf(TYPES[name], undefined, { compaction: false }),
    channel: 'd/c',
    withoutCarriers: false,
  })
}

const sent = (name: Name, body: object, client?: ClientApi): Fields =>
  JSON.parse(open(name, body, client).body.toString())

const CHAT_TOOL = {
  type: 'function',
  function: { name: 'shell', parameters: TOOL.parameters },
}

describe('the request for a summary', () => {
  it('of a chat upstream', () => {
    expect(sent('chat', BODY)).toEqual({
      model: 'up',
      messages: [
        { role: 'system', content: 'You are an agent.' },
        { role: 'user', content: 'List the files.' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'shell', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'a.ts' },
        { role: 'user', content: INSTRUCTION },
      ],
      tools: [CHAT_TOOL],
      tool_choice: 'none',
    })
  })

  it('of a messages upstream', () => {
    expect(sent('messages', BODY)).toEqual({
      model: 'up',
      max_tokens: 500,
      system: [{ type: 'text', text: 'You are an agent.' }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'List the files.' }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'shell', input: {} }] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'c1', content: 'a.ts' },
            { type: 'text', text: INSTRUCTION },
          ],
        },
      ],
      tools: [{ name: 'shell', input_schema: TOOL.parameters }],
      tool_choice: { type: 'none' },
    })
  })

  it('of a responses upstream without compaction', () => {
    expect(sent('responses', BODY)).toEqual({
      model: 'up',
      instructions: 'You are an agent.',
      input: [...CONVERSATION, user(INSTRUCTION)],
      tools: [TOOL],
      tool_choice: 'none',
      store: false,
    })
  })

  it('of a responses upstream, for a conversation that is one text or stored there', () => {
    expect(sent('responses', { model: 'm', input: 'Hi' }, compact)).toEqual({
      model: 'up',
      input: [{ type: 'message', role: 'user', content: 'Hi' }, user(INSTRUCTION)],
      store: false,
    })
    const body = { model: 'm', input: [], previous_response_id: 'resp_1', stream: false }
    expect(sent('responses', body, compact)).toEqual({
      model: 'up',
      input: [user(INSTRUCTION)],
      previous_response_id: 'resp_1',
      stream: false,
      store: false,
    })
  })

  it('keeps the limit of the client', () => {
    expect(sent('chat', { ...BODY, max_output_tokens: 77 }).max_tokens).toBe(77)
  })
})

const SUMMARY = 'Goal: ship it.'
const USAGE = { prompt_tokens: 40, completion_tokens: 9, total_tokens: 49 }
const chatAnswer = (message: object, finish_reason = 'stop') =>
  Buffer.from(
    JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'up',
      choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
      usage: USAGE,
    }),
  )
const WANTED_USAGE = {
  input_tokens: 40,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 9,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 49,
}

/** The value with its summary opened, because the sealed bytes are random. */
function unsealed<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (key, inner: unknown) => {
    if (key !== 'encrypted_content' || typeof inner !== 'string') return inner
    const opened = ENVELOPES.open(inner)
    expect(inner).toMatch(/^slc1\.compaction\./)
    return typeof opened === 'string' ? opened : opened.value
  })
}
const ITEM = { id: 'cmp_X00', type: 'compaction', encrypted_content: SUMMARY }

describe('the answer', () => {
  it('is one compaction', () => {
    const answer = open('chat', BODY).readAnswer(chatAnswer({ content: SUMMARY }), false)
    if (!('body' in answer)) throw new Error(answer.detail)
    expect(unsealed(JSON.parse(answer.body.toString()))).toMatchObject({
      id: 'resp_X',
      object: 'response',
      status: 'completed',
      incomplete_details: null,
      output: [ITEM],
      usage: WANTED_USAGE,
    })
    // The model's output is billed.
    expect(answer.delivered).toEqual({ deltas: 1, bytes: 14 })
    expect(answer.usage).toMatchObject({ input: 40, output: 9 })
  })

  it('of a responses upstream has ids of the gateway, because the upstream stores no compaction', () => {
    const body = {
      id: 'resp_up',
      object: 'response',
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      model: 'up',
      output: [
        { id: 'rs', type: 'reasoning', summary: [], encrypted_content: 'E' },
        { id: 'msg', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: SUMMARY }] },
      ],
    }
    const answer = open('responses', BODY).readAnswer(Buffer.from(JSON.stringify(body)), false)
    if (!('body' in answer)) throw new Error(answer.detail)
    expect(unsealed(JSON.parse(answer.body.toString()))).toMatchObject({
      id: 'resp_X',
      status: 'completed',
      incomplete_details: null,
      output: [ITEM],
    })
  })

  it('without a summary is a failure', () => {
    const call = { id: 'c', type: 'function', function: { name: 'shell', arguments: '{}' } }
    const body = chatAnswer({ content: null, tool_calls: [call] }, 'tool_calls')
    expect(open('chat', BODY).readAnswer(body, false)).toEqual({
      class: 'unknown',
      status: 200,
      blameless: true,
      detail: 'no_summary',
    })
  })
})

const STREAMED = { ...BODY, stream: true }
const chunk = (delta: object, finish_reason: string | null = null) =>
  Buffer.from(
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
  )

function eventsOf(bytes: Buffer | undefined): Fields[] {
  const lines = (bytes?.toString() ?? '').split('\n').filter((line) => line.startsWith('data: '))
  return lines.map((line) => unsealed(JSON.parse(line.slice('data: '.length))))
}

const EVENTS = [
  { type: 'response.created', response: { id: 'resp_X', status: 'in_progress', output: [] } },
  { type: 'response.in_progress', response: { status: 'in_progress', output: [] } },
  { type: 'response.output_item.added', output_index: 0, item: ITEM },
  { type: 'response.output_item.done', output_index: 0, item: ITEM },
  { type: 'response.completed', response: { id: 'resp_X', status: 'completed', output: [ITEM] } },
].map((event, sequence_number) => ({ ...event, sequence_number }))

describe('a stream', () => {
  it('starts when the summary is complete', () => {
    const stream = open('chat', STREAMED).observe(10_000)
    expect(stream.push(chunk({ role: 'assistant', reasoning_content: 'Hm.' }))).toBeUndefined()
    expect(stream.push(chunk({ content: 'Goal: ' }))).toBeUndefined()
    expect(stream.push(chunk({ content: 'ship it.' }))).toBeUndefined()
    const last = stream.push(chunk({}, 'length'))
    const rest = stream.flush()
    expect(eventsOf(Buffer.concat([last, rest].filter((bytes) => bytes !== undefined)))).toMatchObject(EVENTS)
    expect(stream.failure).toBeUndefined()
    expect(stream.finished).toBe(true)
    expect(stream.delivered).toEqual({ deltas: 3, bytes: 17 })
  })

  it('is also written from a whole answer', () => {
    const answer = open('chat', STREAMED).readAnswer(chatAnswer({ content: SUMMARY }), true)
    if (!('body' in answer)) throw new Error(answer.detail)
    expect(eventsOf(answer.body)).toMatchObject(EVENTS)
    const response = readResponsesStream(answer.body.toString())
    assertComplete(response)
    expect(unsealed(response.output)).toEqual([ITEM])
  })

  it('without a summary fails before it starts', () => {
    const stream = open('chat', STREAMED).observe(10_000)
    expect(stream.push(chunk({ reasoning_content: 'Hm.' }))).toBeUndefined()
    expect(stream.push(chunk({}, 'stop'))).toBeUndefined()
    expect(stream.push(Buffer.from('data: [DONE]\n\n'))).toBeUndefined()
    expect(stream.flush()).toBeUndefined()
    expect(stream.failure).toEqual({ class: 'unknown', status: 200, blameless: true, detail: 'no_summary' })
    expect(stream.finished).toBe(false)
  })
})

describe('the endpoint', () => {
  it('answers with the user’s messages and the compaction', () => {
    const image = { type: 'input_image', image_url: 'https://x/y.png' }
    const input = [
      { role: 'developer', content: 'D' },
      { role: 'user', content: 'First' },
      CALL,
      OUTPUT,
      { type: 'message', role: 'user', id: 'msg_1', content: [image] },
      {
        type: 'compaction',
        encrypted_content: ENVELOPES.seal({ dialect: 'responses', kind: 'compaction', value: 'Old' }),
      },
      { type: 'message', role: 'assistant', content: 'Yes.' },
    ]
    const body = { model: 'm', input, instructions: 'I', tools: [TOOL], parallel_tool_calls: true }
    for (const request of [body, { ...body, input: [...input, TRIGGER] }]) {
      const answer = open('chat', request, compact).readAnswer(chatAnswer({ content: SUMMARY }), false)
      if (!('body' in answer)) throw new Error(answer.detail)
      expect(unsealed(JSON.parse(answer.body.toString()))).toEqual({
        id: 'resp_X',
        object: 'response.compaction',
        created_at: 1700,
        output: [
          { ...user('First'), id: 'msg_X00', status: 'completed' },
          { type: 'message', role: 'user', id: 'msg_1', status: 'completed', content: [image] },
          ITEM,
        ],
        usage: WANTED_USAGE,
      })
    }
  })

  it('makes an item from a text', () => {
    const lane = open('messages', { model: 'm', input: 'Hi' }, compact)
    const answer = lane.readAnswer(
      Buffer.from(
        JSON.stringify({
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'up',
          content: [{ type: 'text', text: SUMMARY }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 40, output_tokens: 9 },
        }),
      ),
      false,
    )
    if (!('body' in answer)) throw new Error(answer.detail)
    expect(unsealed(JSON.parse(answer.body.toString()))).toMatchObject({
      output: [user('Hi'), ITEM],
      usage: WANTED_USAGE,
    })
  })
})

/** All texts in user messages, in any dialect. */
function userTexts(body: Fields): string[] {
  const list = Array.isArray(body.messages) ? body.messages : body.input
  if (!Array.isArray(list)) return []
  const contents = list
    .filter((item: unknown) => isRecord(item) && item.role === 'user')
    .flatMap(({ content }) => content)
  return contents.map((part: unknown) => (isRecord(part) ? String(part.text) : String(part)))
}

describe('the item, sent back', () => {
  it.each(NAMES)('is a user text for a %s upstream', (name) => {
    const answer = open('chat', BODY).readAnswer(chatAnswer({ content: SUMMARY }), false)
    const { output } = JSON.parse('body' in answer ? answer.body.toString() : '{}')
    const texts = userTexts(sent(name, { model: 'm', input: [user('First'), ...output, user('Go on')] }))
    expect(texts).toEqual(['First', expect.stringMatching(/summary.*\n\nGoal: ship it\.$/s), 'Go on'])
  })

  it('of a vendor passes to a responses upstream and is refused for others', () => {
    const item = { type: 'compaction', encrypted_content: 'gAAAA' }
    const body = { model: 'm', input: [user('First'), item] }
    const refused = expect.objectContaining({ code: 'unsupported_parameter', param: 'input[1]' })
    expect(() => open('chat', body)).toThrow(refused)
    expect(() => open('messages', body)).toThrow(refused)
    expect(sent('responses', body).input).toEqual([user('First'), item])
  })
})
