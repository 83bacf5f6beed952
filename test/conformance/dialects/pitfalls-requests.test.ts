/** Faults of converted requests that other gateways are known for; the numbers are those of the list of pitfalls. */
import { describe, expect, it } from 'vitest'
import { convert, type DialectName, dialectOf, laneOf, minimalRequest } from './codecs.ts'

type Json = Record<string, unknown>

const user = (content: unknown) => ({ role: 'user', content })

describe('7.20 fields that upstreams refuse', () => {
  const ask = (client: DialectName, more: object, target: DialectName, features: object = {}) =>
    convert(client, minimalRequest(client, more), target, features).body

  it('max_tokens or max_completion_tokens, as the upstream requires', () => {
    const body = { max_output_tokens: 100 }
    expect(ask('responses', body, 'chat', { maxCompletionTokens: true })).toHaveProperty(
      'max_completion_tokens',
      100,
    )
    expect(ask('responses', body, 'chat', { maxCompletionTokens: true })).not.toHaveProperty('max_tokens')
    expect(ask('responses', body, 'chat', { maxCompletionTokens: false })).toHaveProperty('max_tokens', 100)
    expect(ask('responses', body, 'chat', { maxCompletionTokens: false })).not.toHaveProperty(
      'max_completion_tokens',
    )
  })

  it('no temperature for models that refuse it', () => {
    for (const target of ['responses', 'messages'] as const) {
      const body = ask('chat', { temperature: 0.5, top_p: 0.5 }, target, { sampling: false })
      expect(body).not.toHaveProperty('temperature')
      expect(body).not.toHaveProperty('top_p')
    }
  })

  it('no tool choice and no parallel calls without tools', () => {
    for (const target of ['responses', 'messages'] as const) {
      const body = ask('chat', { tools: [], tool_choice: 'auto', parallel_tool_calls: false }, target)
      for (const field of ['tools', 'tool_choice', 'parallel_tool_calls'])
        expect(body).not.toHaveProperty(field)
    }
  })

  it('no strict if the client sent none', () => {
    const tools = [{ name: 'f', input_schema: { type: 'object' } }]
    expect(JSON.stringify(ask('messages', { tools }, 'chat'))).not.toContain('"strict":true')
    expect(JSON.stringify(ask('messages', { tools }, 'responses'))).toContain('"strict":false')
  })

  it('stream_options only with a stream', () => {
    expect(ask('responses', {}, 'chat')).not.toHaveProperty('stream_options')
    expect(ask('responses', { stream: true }, 'chat')).toHaveProperty('stream_options.include_usage', true)
    expect(ask('responses', { stream: true }, 'chat', { streamUsage: false })).not.toHaveProperty(
      'stream_options',
    )
  })

  it('no fields that only the client’s dialect has', () => {
    const more = { brand_new: 1, logit_bias: { 1: 1 }, seed: 1 }
    for (const target of ['responses', 'messages'] as const) {
      const text = JSON.stringify(ask('chat', more, target))
      for (const field of Object.keys(more)) expect(text).not.toContain(field)
    }
  })
})

describe('7.21 headers of messages', () => {
  const headers = { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'fast-mode-2026-02-01' }
  const parsed = () =>
    dialectOf('messages').parseRequest(
      Buffer.from(JSON.stringify(minimalRequest('messages'))),
      { maxDepth: 100, maxKeys: 1000 },
      headers,
    )

  it('pass between equal dialects', () => {
    expect(dialectOf('messages').byteLane.upstreamHeaders(parsed())).toEqual(headers)
  })

  it('go to no other vendor, and messages upstreams get a version', () => {
    expect(laneOf('messages', minimalRequest('messages'), 'chat').headers).toEqual({})
    expect(laneOf('chat', minimalRequest('chat'), 'messages').headers).toEqual({
      'anthropic-version': '2023-06-01',
    })
  })
})

it('7.22 guarantees that only the vendor can give are refused by name', () => {
  const body = minimalRequest('messages', { safeguards: { level: 'high' } })
  expect(() => convert('messages', body, 'chat')).toThrow(
    expect.objectContaining({ code: 'unsupported_parameter', param: 'safeguards' }),
  )
})

describe('7.23 inline images', () => {
  const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk'
  const image = (url: string) => {
    const body = minimalRequest('chat', { messages: [user([{ type: 'image_url', image_url: { url } }])] })
    const { messages } = convert('chat', body, 'messages').body as { messages: { content: Json[] }[] }
    return messages[0]?.content[0]?.source
  }
  const source = { type: 'base64', media_type: 'image/png', data: PNG }

  it.each([
    ['a charset', `data:image/png;charset=utf-8;base64,${PNG}`],
    ['a lie about the type', `data:image/jpeg;base64,${PNG}`],
    ['capital letters', `data:IMAGE/PNG;base64,${PNG}`],
  ])('with %s', (_name, url) => {
    expect(image(url)).toEqual(source)
  })

  it('without padding', () => {
    const unpadded = PNG.slice(0, -1)
    expect(image(`data:image/png;base64,${unpadded}`)).toEqual({ ...source, data: `${unpadded}=` })
  })

  it('of a kind that messages does not accept are refused', () => {
    expect(() => image('data:image/tiff;base64,SUkqAA==')).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter' }),
    )
  })
})

describe('7.25 spellings of responses', () => {
  it.each<[string, object]>([
    ['a string', { input: 'a' }],
    ['an item without type', { input: [{ role: 'user', content: 'a' }] }],
    ['a typed item with a string', { input: [{ type: 'message', role: 'user', content: 'a' }] }],
    ['parts', { input: [{ role: 'user', content: [{ type: 'input_text', text: 'a' }] }] }],
  ])('%s', (_name, body) => {
    expect(convert('responses', { model: 'm', ...body }, 'chat').body.messages).toEqual([
      { role: 'user', content: 'a' },
    ])
  })

  it('assistant strings, output lists, reasoning without summary, system in the input', () => {
    const input = [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'a' },
      { type: 'reasoning', id: 'rs_1' },
      { role: 'assistant', content: 'b' },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'r' }] },
    ]
    const tools = [{ type: 'function', name: 'f', parameters: {}, strict: false }]
    const { body } = convert('responses', { model: 'm', input, tools }, 'chat')
    expect(body.messages).toMatchObject([
      { role: 'system', content: 'S' },
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b', tool_calls: [{ id: 'c1' }] },
      { role: 'tool', tool_call_id: 'c1', content: 'r' },
    ])
  })
})
