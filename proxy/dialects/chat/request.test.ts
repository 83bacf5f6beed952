import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../errors.ts'
import { chat } from './index.ts'

const LIMITS = { maxDepth: 64, maxKeys: 50_000 }
const USER = { role: 'user', content: 'Hi' }
const parse = (value: unknown) => chat.parseRequest(Buffer.from(JSON.stringify(value)), LIMITS, {})

function refusal(fields: Record<string, unknown>): GatewayError {
  try {
    parse({ model: 'm', messages: [USER], ...fields })
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('the request was accepted')
}

describe('parseRequest', () => {
  test('reads the fields for routing and holds', () => {
    const { head } = parse({
      model: 'gpt-x',
      messages: [USER],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 10,
      max_completion_tokens: 20,
      n: 3,
      service_tier: 'priority',
    })
    expect(head).toMatchObject({
      model: 'gpt-x',
      stream: true,
      wantsStreamUsage: true,
      maxOutputTokens: 20,
      choices: 3,
      tier: 'priority',
    })
  })

  test('nulls and absent fields stand for the default', () => {
    const bare = parse({ model: 'm', messages: [USER] }).head
    const nulls = {
      stream: null,
      stream_options: null,
      max_tokens: null,
      max_completion_tokens: null,
      n: null,
      service_tier: null,
      tools: null,
    }
    expect(bare).toEqual({
      model: 'm',
      stream: false,
      choices: 1,
      wantsStreamUsage: false,
      input: { textBytes: 2, images: 0, audioBytes: 0, fileBytes: 0, tools: 0 },
    })
    expect(parse({ model: 'm', messages: [USER], ...nulls }).head).toEqual(bare)
    expect(
      parse({ model: 'm', messages: [USER], max_tokens: 7, max_completion_tokens: null }).head
        .maxOutputTokens,
    ).toBe(7)
  })

  test.each([
    [1, 100_000, 100_000],
    [100_000, 1, 100_000],
    [undefined, 10_000_000, 10_000_000],
    [10_000_000, undefined, 10_000_000],
  ])(
    'the hold uses the larger of max_completion_tokens %s and max_tokens %s',
    (max_completion_tokens, max_tokens, held) => {
      const { head } = parse({ model: 'm', messages: [USER], max_completion_tokens, max_tokens })
      expect(head.maxOutputTokens).toBe(held)
    },
  )

  test.each(['auto', 'default'])('tier %s is none', (service_tier) => {
    expect(parse({ model: 'm', messages: [USER], service_tier }).head.tier).toBeUndefined()
  })

  test.each<[string, Record<string, unknown>]>([
    ['model', { model: undefined }],
    ['model', { model: 7 }],
    ['model', { model: '' }],
    ['model', { model: 'x'.repeat(257) }],
    ['model', { model: 'a\nb' }],
    ['model', { model: 'a\u0085b' }],
    ['messages', { messages: undefined }],
    ['messages', { messages: [] }],
    ['messages', { messages: { 0: USER } }],
    ['messages[1]', { messages: [USER, 'Hi'] }],
    ['messages[0]', { messages: [[]] }],
    ['messages[1].role', { messages: [USER, { content: 'x' }] }],
    ['messages[2].content', { messages: [USER, USER, { role: 'user' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: null }] }],
    ['messages[0].content', { messages: [{ role: 'assistant', content: null, tool_calls: null }] }],
    ['messages[0].content', { messages: [{ role: 'assistant', content: null, tool_calls: [] }] }],
    ['messages[0].content', { messages: [{ role: 'assistant', content: null, thinking_blocks: [] }] }],
    ['messages[0].content', { messages: [{ role: 'function', name: 'f' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: { type: 'text' } }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 5 }] }],
    ['messages[0].content[1]', { messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }, 'b'] }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ text: 'a' }] }] }],
    ['stream', { stream: 'true' }],
    ['stream', { stream: 1 }],
    ['stream_options', { stream: true, stream_options: true }],
    ['stream_options', { stream_options: { include_usage: true } }],
    ['stream_options', { stream: false, stream_options: {} }],
    ['stream_options.include_usage', { stream: true, stream_options: { include_usage: 'yes' } }],
    ['max_tokens', { max_tokens: 0 }],
    ['max_tokens', { max_tokens: -1 }],
    ['max_tokens', { max_tokens: 1.5 }],
    ['max_tokens', { max_tokens: '5' }],
    ['max_tokens', { max_tokens: 1e300 }],
    ['max_tokens', { max_tokens: 10_000_001 }],
    ['max_completion_tokens', { max_completion_tokens: 0 }],
    ['max_completion_tokens', { max_completion_tokens: 10_000_001, max_tokens: 5 }],
    ['n', { n: 0 }],
    ['n', { n: 129 }],
    ['n', { n: true }],
    ['service_tier', { service_tier: 5 }],
    ['tools', { tools: {} }],
  ])('400 naming %s: %j', (param, fields) => {
    const error = refusal(fields)
    expect(error).toMatchObject({ code: 'invalid_request', status: 400, param })
    expect(error.message).toContain(param)
  })

  test.each<[string, unknown]>([
    ['tool_calls', [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }]],
    ['function_call', { name: 'f', arguments: '{}' }],
    ['audio', { id: 'audio_1' }],
    ['refusal', 'No.'],
    ['reasoning_content', 'hm'],
    ['reasoning', 'hm'],
    ['reasoning_details', [{ type: 'reasoning.text', text: 'hm' }]],
    ['thinking_blocks', [{ type: 'thinking', thinking: 'hm' }]],
  ])('content may be absent with %s', (field, value) => {
    for (const content of [null, undefined]) {
      expect(() =>
        parse({ model: 'm', messages: [USER, { role: 'assistant', content, [field]: value }] }),
      ).not.toThrow()
    }
  })

  test('the result of a function may be null', () => {
    expect(() =>
      parse({ model: 'm', messages: [USER, { role: 'function', name: 'f', content: null }] }),
    ).not.toThrow()
  })

  test('values beyond limits and a repeated model are refused', () => {
    const deep = { model: 'm', messages: [USER], x: JSON.parse(`${'['.repeat(64)}${']'.repeat(64)}`) }
    expect(() => parse(deep)).toThrow(/deeper than 64/)
    const doubled = Buffer.from('{"model":"a","model":"b","messages":[{"role":"user","content":"x"}]}')
    expect(() => chat.parseRequest(doubled, LIMITS, {})).toThrow(/model occurs twice/)
  })

  test('unknown fields are accepted', () => {
    const fields = { temperature: 'hot', reasoning_effort: 9, functions: 'none', metadata: { a: { b: [] } } }
    expect(() => parse({ model: 'm', messages: [{ ...USER, extra: 1 }], ...fields })).not.toThrow()
  })
})

describe('input size', () => {
  const size = (fields: Record<string, unknown>) =>
    parse({ model: 'm', messages: [USER], ...fields }).head.input
  const base64 = (bytes: number) => Buffer.alloc(bytes).toString('base64')

  test('all text counts, in bytes of UTF-8 but for CJK, of which each character counts as four', () => {
    const messages = [
      { role: 'system', content: 'äöü', name: 'bob' },
      {
        role: 'user',
        content: [
          { type: 'text', text: '12345' },
          { type: 'refusal', refusal: '1234' },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'fn', arguments: '{"a":1}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '日本' },
    ]
    expect(size({ messages }).textBytes).toBe(6 + 3 + 5 + 4 + 2 + 7 + 8)
  })

  test('schemas count as JSON and as tools', () => {
    const tools = [
      { type: 'function', function: { name: 'a' } },
      { type: 'function', function: { name: 'b' } },
    ]
    const response_format = { type: 'json_object' }
    expect(size({ tools, functions: [{}], response_format })).toMatchObject({
      tools: 3,
      textBytes: 2 + JSON.stringify(tools).length + '[{}]'.length + JSON.stringify(response_format).length,
    })
  })

  test('media do not count as text', () => {
    const content = [
      { type: 'image_url', image_url: { url: `data:image/png;base64,${base64(3000)}` } },
      { type: 'image_url', image_url: { url: 'https://images.example/cat.png' } },
      { type: 'input_audio', input_audio: { data: base64(1000), format: 'wav' } },
      { type: 'file', file: { file_data: `data:application/pdf;base64,${base64(2000)}`, filename: 'a.pdf' } },
      { type: 'video_url', video_url: { url: `data:video/mp4;base64,${base64(500)}` } },
    ]
    expect(size({ messages: [{ role: 'user', content }] })).toEqual({
      textBytes: 5,
      images: 2,
      audioBytes: 1000,
      fileBytes: 2500,
      tools: 0,
    })
  })

  test('text that only looks like a data URL stays text', () => {
    expect(size({ messages: [{ role: 'user', content: 'data: 1, 2 and 3' }] })).toMatchObject({
      textBytes: 16,
      fileBytes: 0,
    })
  })

  test('other top-level values count if they are large', () => {
    expect(size({ user: 'x'.repeat(500) }).textBytes).toBe(2)
    expect(size({ prediction: { content: 'x'.repeat(2000) } }).textBytes).toBeGreaterThan(2000)
  })
})

describe('splice', () => {
  const edit = (body: string, addStreamUsage: boolean, model = 'up/m"1') =>
    chat.byteLane
      .splice(chat.parseRequest(Buffer.from(body), LIMITS, {}), { model, addStreamUsage })
      .toString()
  const messages = '"messages":[{"role":"user","content":"é"}]'

  test('replaces the model and keeps all other bytes', () => {
    expect(edit(` { "x" : 1.0, "model" :\t"a" , ${messages}, "big":12345678901234567890 }\n`, false)).toBe(
      ` { "x" : 1.0, "model" :\t"up/m\\"1" , ${messages}, "big":12345678901234567890 }\n`,
    )
  })

  test.each([
    ['a', '"model":"a","max_tokens":9'],
    ['b', '"model":"b","max_tokens":9'],
  ])('adds a limit on output tokens behind the model %s', (model, written) => {
    const request = parse({ x: 1, model: 'a', messages: [USER] })
    const limit = { field: 'max_tokens', tokens: 9 }
    const edited = chat.byteLane.splice(request, { model, addStreamUsage: false, limit }).toString()
    expect(edited).toBe(request.body.toString().replace('"model":"a"', written))
  })

  test('sets a limit on output tokens where the request has null, so that it has one only', () => {
    const request = parse({ max_tokens: null, model: 'a', messages: [USER] })
    const limit = { field: 'max_tokens', tokens: 9 }
    const edited = chat.byteLane.splice(request, { model: 'a', addStreamUsage: false, limit }).toString()
    expect(edited).toBe(request.body.toString().replace('null', '9'))
  })

  test('splices a copy of a request like the request', () => {
    const request = parse({ x: 1, model: 'a', messages: [USER], stream: true, stream_options: {} })
    const edits = { model: 'b', addStreamUsage: true }
    expect(chat.byteLane.splice({ ...request }, edits)).toEqual(chat.byteLane.splice(request, edits))
  })

  test('without changes it returns the body itself', () => {
    const unchanged = (fields: object, addStreamUsage: boolean) => {
      const request = parse({ model: 'a', messages: [USER], ...fields })
      return chat.byteLane.splice(request, { model: 'a', addStreamUsage }) === request.body
    }
    const asking = { stream: true, stream_options: { x: { include_usage: false }, include_usage: true } }
    expect(unchanged({}, true)).toBe(true)
    expect(unchanged({ stream: true }, false)).toBe(true)
    expect(unchanged(asking, true)).toBe(true)
    expect(unchanged({ stream: true }, true)).toBe(false)
  })

  test.each(['include_usage', 'include\\u005fusage'])(
    'replaces a repeated option, once as %s, to request usage',
    (key) => {
      const body = `{"model":"a",${messages},"stream":true,"stream_options":{"${key}":false,"include_usage":true}}`
      expect(edit(body, true, 'a')).toBe(
        `{"model":"a",${messages},"stream":true,"stream_options":{"include_usage":true}}`,
      )
      expect(edit(body, false, 'a')).toBe(body)
    },
  )

  test('requests usage only in a stream whose client does not', () => {
    expect(edit(`{"model":"a",${messages}}`, true, 'b')).toBe(`{"model":"b",${messages}}`)
    expect(edit(`{"model":"a",${messages},"stream":true}`, true, 'b')).toBe(
      `{"stream_options":{"include_usage":true},"model":"b",${messages},"stream":true}`,
    )
    expect(
      edit(`{"stream_options": {"include_usage": true},"model":"a",${messages},"stream":true}`, true, 'b'),
    ).toBe(`{"stream_options": {"include_usage": true},"model":"b",${messages},"stream":true}`)
    expect(
      edit(
        `{"model":"a",${messages},"stream":true,"stream_options": {"x":[1], "include_usage":false} }`,
        true,
        'b',
      ),
    ).toBe(`{"model":"b",${messages},"stream":true,"stream_options": {"x":[1],"include_usage":true} }`)
    expect(edit(`{"stream_options":null,"model":"a",${messages},"stream":true}`, true, 'b')).toBe(
      `{"stream_options":{"include_usage":true},"model":"b",${messages},"stream":true}`,
    )
  })

  test('changes only these two fields of any request', () => {
    const extra = fc.dictionary(
      fc.string({ unit: 'grapheme' }).map((k) => `x${k}`),
      fc.jsonValue(),
      { maxKeys: 4 },
    )
    const options = fc.constantFrom(
      undefined,
      null,
      {},
      { include_usage: false },
      { include_usage: true, include_obfuscation: false },
    )
    fc.assert(
      fc.property(
        extra,
        extra,
        options,
        fc.boolean(),
        fc.nat(3),
        fc.string({ unit: 'grapheme' }),
        (before, after, stream_options, ask, indent, model) => {
          const request = {
            ...before,
            model: 'old',
            messages: [USER],
            stream: true,
            ...(stream_options !== undefined && { stream_options }),
            ...after,
          }
          const edited = JSON.parse(edit(JSON.stringify(request, null, indent), ask, model))
          const usageOption = ask ? { stream_options: { ...stream_options, include_usage: true } } : {}
          expect(edited).toEqual(JSON.parse(JSON.stringify({ ...request, model, ...usageOption })))
        },
      ),
    )
  })
})
