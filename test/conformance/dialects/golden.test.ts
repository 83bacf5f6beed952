/** The conversation of golden.ts in all six directions, the answer of golden-stream.ts in all nine. */
import { describe, expect, it } from 'vitest'
import { isRecord } from '../../../proxy/dialects/core/json/value.ts'
import { convert, type DialectName, envelopes, NAMES } from './codecs.ts'
import { chatRequest, messagesRequest, OUT, responsesRequest } from './golden.ts'
import { STREAM } from './golden-stream.ts'
import { transmit } from './laws.ts'
import { readStrictly } from './strict.ts'
import { type View, viewOf } from './views.ts'

type Json = Record<string, unknown>

/** Normalizes contents: a string becomes a list of one text. */
function spelled(body: Json): Json {
  const list = Array.isArray(body.messages) ? 'messages' : 'input'
  const items = Array.isArray(body[list]) ? body[list].filter(isRecord) : []
  return { ...body, [list]: items.map((item) => ({ ...item, ...contentOf(item) })) }
}

function contentOf(item: Json): Json {
  const type = item.type === 'message' ? (item.role === 'assistant' ? 'output_text' : 'input_text') : 'text'
  if (typeof item.content === 'string') return { content: [{ type, text: item.content }] }
  if (!Array.isArray(item.content)) return {}
  const content = item.content.filter(isRecord).map((part) => {
    if (part.type !== 'tool_result' || typeof part.content !== 'string') return part
    return { ...part, content: [{ type: 'text', text: part.content }] }
  })
  return { content }
}

describe('request', () => {
  it('chat to responses', () => {
    const { body, losses } = convert('chat', chatRequest(), 'responses')
    // A responses upstream cannot use a signature of messages. The gateway itself cuts at END.
    expect(spelled(body)).toEqual(spelled({ ...responsesRequest({ reasoning: [] }), model: 'up' }))
    expect(losses).toEqual(['messages.reasoning_content', 'messages.reasoning_details'])
  })

  it('chat to messages', () => {
    const { body, losses } = convert('chat', chatRequest(), 'messages')
    expect(spelled(body)).toEqual(spelled({ ...messagesRequest({ isError: false }), model: 'up' }))
    expect(losses).toEqual([
      'messages.content.image_url.detail',
      'response_format.json_schema.name',
      'response_format.json_schema.strict',
    ])
  })

  it('responses to chat', () => {
    const { body, losses } = convert('responses', responsesRequest(), 'chat')
    const { stop: _stop, messages, ...rest } = chatRequest()
    const expected = messages.map(({ reasoning_details: _details, ...message }) => message)
    expect(spelled(body)).toEqual(spelled({ ...rest, model: 'up', messages: expected }))
    expect(losses).toEqual(['input.encrypted_content'])
  })

  it('responses to messages', () => {
    const { body, losses } = convert('responses', responsesRequest(), 'messages')
    const { stop_sequences: _stop, ...rest } = messagesRequest({ reasoning: [], isError: false })
    expect(spelled(body)).toEqual(spelled({ ...rest, model: 'up' }))
    expect(losses).toEqual([
      'input.content.detail',
      'input.encrypted_content',
      'input.summary',
      'text.format.name',
      'text.format.strict',
    ])
  })

  it('messages to chat', () => {
    const { body, losses } = convert('messages', messagesRequest(), 'chat')
    const { messages, ...rest } = chatRequest()
    const format = { type: 'json_schema', json_schema: { name: 'response', strict: true, schema: OUT } }
    const expected = messages.map(({ reasoning_details: _details, ...message }) => withoutDetail(message))
    expect(spelled(body)).toEqual(
      spelled({ ...rest, model: 'up', response_format: format, messages: expected }),
    )
    expect(losses).toEqual(['messages.content.is_error', 'messages.content.signature'])
  })

  it('messages to responses', () => {
    const { body, losses } = convert('messages', messagesRequest(), 'responses')
    const { input, ...rest } = responsesRequest({ reasoning: [] })
    const format = { type: 'json_schema', name: 'response', strict: true, schema: OUT }
    expect(spelled(withSystemFirst(body))).toEqual(
      spelled({ ...rest, model: 'up', text: { format }, input: input.map((item) => withDetail(item)) }),
    )
    expect(losses).toEqual([
      'messages.content.is_error',
      'messages.content.signature',
      'messages.content.thinking',
    ])
  })
})

/** Messages has no detail of images. */
function withoutDetail(item: object): Json {
  return JSON.parse(JSON.stringify(item, (key, value) => (key === 'detail' ? undefined : value)))
}

/** Responses requires one. */
function withDetail(item: object): Json {
  return JSON.parse(JSON.stringify(item, (key, value) => (key === 'detail' ? 'auto' : value)))
}

/** Normalizes system texts: a field or the first message. */
function withSystemFirst({ instructions, ...body }: Json): Json {
  if (typeof instructions !== 'string' || !Array.isArray(body.input)) return body
  const first = { type: 'message', role: 'system', content: [{ type: 'input_text', text: instructions }] }
  return { ...body, input: [first, ...body.input] }
}

const SAID: View = {
  text: 'Hi',
  refusal: '',
  reasoning: 'T2',
  calls: [{ id: 'call_9', kind: 'function', name: 'get_weather', input: { city: 'Oslo' } }],
  finish: 'tool-calls',
  usage: { prompt: 100, cached: 40, written: 10, output: 30, reasoning: 12 },
}

/** The vendor state of each upstream's answer, opened. */
const CARRIER = {
  chat: { dialect: 'chat', kind: 'details', value: '[{"type":"reasoning.text","signature":"SIG2"}]' },
  responses: { dialect: 'responses', kind: 'encrypted', value: 'ENC2', id: 'rs_1' },
  messages: { dialect: 'messages', kind: 'signature', value: 'SIG2' },
} as const

const STATE = { chat: 'SIG2', responses: 'ENC2', messages: 'SIG2' }

describe.each(NAMES)('answer of %s', (upstream) => {
  it.each(NAMES)('to a client of %s', (client) => {
    const { text, finished } = transmit(client, upstream, [Buffer.from(STREAM[upstream])])
    expect(finished).toBe(true)
    const answer = readStrictly(client, text)
    expect(viewOf(client, answer)).toEqual(SAID)
    if (client === upstream) return
    expect(opened(stateIn(client, answer))).toEqual(opened(CARRIER[upstream]))
  })

  it.each(NAMES)('comes back unchanged from a client of %s', (client) => {
    const { text } = transmit(client, upstream, [Buffer.from(STREAM[upstream])])
    const { body } = convert(client, followUp(client, readStrictly(client, text)), upstream)
    expect(JSON.stringify(body)).toContain(`"${STATE[upstream]}"`)
    expect(JSON.stringify(body)).not.toContain('slc1.')
  })
})

/** The fields of an answer that carry vendor state. */
function stateIn(client: DialectName, answer: unknown): unknown {
  const pattern = {
    chat: /"(?:signature|data)":"([^"]+)"/,
    responses: /"encrypted_content":"([^"]+)"/,
    messages: /"signature":"([^"]+)"/,
  }
  return pattern[client].exec(JSON.stringify(answer))?.[1]
}

/** A sealed carrier with its kind; a signature of messages may be unsealed. */
function opened(state: unknown): unknown {
  if (typeof state !== 'string') return state
  const carrier = envelopes.open(state)
  return carrier === 'foreign' ? { dialect: 'messages', kind: 'signature', value: state } : carrier
}

/** The next request of a client, with the whole answer in its history. */
function followUp(client: DialectName, answer: unknown): Json {
  const whole = isRecord(answer) ? answer : {}
  const tools = {
    chat: chatRequest().tools,
    responses: responsesRequest().tools,
    messages: messagesRequest().tools,
  }
  const base = { model: 'M', tools: tools[client] }
  if (client === 'chat') {
    const choice = Array.isArray(whole.choices) ? whole.choices[0] : {}
    const result = { role: 'tool', tool_call_id: 'call_9', content: '3C' }
    return { ...base, messages: [{ role: 'user', content: 'Hello' }, choice.message, result] }
  }
  if (client === 'responses') {
    const output = Array.isArray(whole.output) ? whole.output : []
    const result = { type: 'function_call_output', call_id: 'call_9', output: '3C' }
    return { ...base, store: false, input: [{ role: 'user', content: 'Hello' }, ...output, result] }
  }
  const result = { type: 'tool_result', tool_use_id: 'call_9', content: '3C' }
  return {
    ...base,
    max_tokens: 100,
    thinking: { type: 'adaptive' },
    messages: [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: whole.content },
      { role: 'user', content: [result] },
    ],
  }
}
