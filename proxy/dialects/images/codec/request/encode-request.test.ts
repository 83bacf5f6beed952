import { describe, expect, test } from 'vitest'
import type { ApiName } from '../../../../../contract/apis.ts'
import { featuresOf } from '../../../../../contract/profiles.ts'
import type { Media, ModelRequest, Tool, UserPart } from '../../../core/neutral/types.ts'
import { noLosses, type SourcedRequest } from '../../../testing.ts'
import { readBoundary } from '../../form/boundary.ts'
import { parseForm } from '../../form/parse.ts'
import { images } from '../../index.ts'
import { GIF, JPEG, PNG, refusalOf, WEBP } from '../../testing.ts'

const text = (value: string): UserPart => ({ type: 'text', text: value })
const data = (bytes: Buffer, mediaType = 'image/png'): Media => ({
  kind: 'data',
  mediaType,
  base64: bytes.toString('base64'),
})
const image = (source: Media): UserPart => ({ type: 'image', source })
const user = (...parts: UserPart[]) => ({ role: 'user', parts }) as const
const imageTool = (tool: object): Tool => ({
  type: 'hosted',
  dialect: 'responses',
  name: 'image_generation',
  tool: { type: 'image_generation', ...tool },
})

function encode(fields: Partial<SourcedRequest>) {
  const losses = noLosses(fields.source ?? 'responses')
  const request: SourcedRequest = {
    source: 'responses',
    model: 'm',
    stream: true,
    turns: [user(text('A cat'))],
    tools: [],
    ...fields,
  }
  const features = featuresOf('images', undefined)
  const encoded = images.codec.encodeRequest(request, {
    model: 'up',
    features,
    defaultMaxOutputTokens: 9,
    losses,
  })
  return { ...encoded, losses: losses.names }
}

/** The fields of an encoded form. */
function fieldsOf({ form }: ReturnType<typeof encode>) {
  const { contentType = '', bytes = Buffer.alloc(0) } = form ?? {}
  return parseForm(bytes, readBoundary(contentType), 80).map(({ start, end, ...head }) => [
    ...Object.values(head),
    bytes.toString('latin1', start, end),
  ])
}

describe('a conversation that requests an image', () => {
  test('the last text is the prompt', () => {
    expect(encode({})).toEqual({ body: { model: 'up', prompt: 'A cat' }, losses: [] })
    expect(encode({ turns: [user(text('A cat\ud83d'), text('in a hat'))], user: 'u' })).toEqual({
      body: { model: 'up', prompt: 'A cat\ufffd\n\nin a hat', user: 'u' },
      losses: [],
    })
  })

  test.each<[ApiName, string, ModelRequest['turns']]>([
    ['chat', 'messages', []],
    ['responses', 'input', [user()]],
    ['messages', 'messages', [user(text(' \n'))]],
    ['chat', 'messages', [user(image(data(PNG)))]],
    ['chat', 'messages', [user(text('x')), { role: 'assistant', parts: [{ type: 'text', text: 'y' }] }]],
  ])('%s: %s must end in a text (%#)', (source, param, turns) => {
    expect(refusalOf(() => encode({ source, turns }))).toEqual(['unsupported_parameter', param])
  })

  test('other turns and settings are losses', () => {
    const { body, losses } = encode({
      source: 'chat',
      turns: [
        { role: 'system', placement: 'message', parts: [{ type: 'text', text: 'S' }] },
        user(text('before')),
        { role: 'assistant', parts: [{ type: 'text', text: 'y' }] },
        user(text('A cat'), {
          type: 'file',
          source: data(PNG, 'application/pdf'),
        }),
      ],
      toolChoice: { type: 'auto' },
      temperature: 0,
      maxOutputTokens: 5,
      store: true,
      tier: 'flex',
      reasoning: { effort: 'low' },
    })
    expect(body).toEqual({ model: 'up', prompt: 'A cat' })
    expect(losses).toEqual([
      'messages',
      'messages.content.file',
      'temperature',
      'service_tier',
      'reasoning_effort',
      'store',
    ])
  })

  test('parts and settings of other dialects', () => {
    const last: UserPart[] = [
      { type: 'text', text: 'A cat', cache: {} },
      { type: 'image', source: data(PNG), detail: 'low' },
      { type: 'audio', base64: 'AA', format: 'wav' },
      { type: 'hosted', dialect: 'messages', name: 'x', item: {} },
    ]
    const reasoning = { budgetTokens: 5, thinking: 'adaptive', summary: 'auto' } as const
    expect(encode({ turns: [user(...last)], reasoning, store: false }).losses).toEqual([
      'input.content.prompt_cache_breakpoint',
      'input.content.detail',
      'input.content.input_audio',
      'input',
      'budgetTokens',
      'thinking',
      'reasoning.summary',
    ])
  })

  test.each<[string, Partial<SourcedRequest>]>([
    ['n', { source: 'chat', choices: 2 }],
    ['tools', { tools: [{ type: 'function', name: 'f' }] }],
    ['tools', { source: 'messages', tools: [imageTool({}), { type: 'web-search' }] }],
    ['response_format', { source: 'chat', format: { type: 'json' } }],
    ['text.format', { format: { type: 'schema', schema: {} } }],
    ['output_config.format', { source: 'messages', format: { type: 'schema', schema: {} } }],
    ['tool_choice', { toolChoice: { type: 'required' } }],
    ['tool_choice', { toolChoice: { type: 'tool', kind: 'function', name: 'f' } }],
    ['tool_choice', { toolChoice: { type: 'hosted', dialect: 'responses', name: 'mcp', choice: {} } }],
  ])('%s cannot be dropped', (param, fields) => {
    expect(refusalOf(() => encode(fields))).toEqual(['unsupported_parameter', param])
  })
})

describe('options of the tool', () => {
  test('become fields, and others are losses', () => {
    const tools = [
      imageTool({
        size: '1x2',
        quality: 'low',
        background: 'opaque',
        output_format: 'webp',
        output_compression: 50,
        moderation: 'low',
        action: 'auto',
        partial_images: 0,
        user: null,
      }),
    ]
    const toolChoice = {
      type: 'hosted',
      dialect: 'responses',
      name: 'image_generation',
      choice: {},
    } as const
    expect(encode({ tools, toolChoice })).toEqual({
      body: {
        model: 'up',
        prompt: 'A cat',
        size: '1x2',
        quality: 'low',
        background: 'opaque',
        output_format: 'webp',
        output_compression: 50,
        moderation: 'low',
      },
      losses: [],
    })
    for (const tool of [
      { partial_images: 2 },
      { model: 'x' },
      { size: { w: 1 } },
      { prompt: 'x' },
      { input_fidelity: 'high' },
    ]) {
      expect(encode({ tools: [imageTool(tool)] })).toEqual({
        body: { model: 'up', prompt: 'A cat' },
        losses: ['tools'],
      })
    }
  })
})

describe('images of the last turn', () => {
  test('are edited as a form, with media types from the bytes', () => {
    const parts = [text('A hat'), image(data(JPEG, 'image/png')), image(data(WEBP))]
    const encoded = encode({
      turns: [user(...parts)],
      tools: [imageTool({ input_fidelity: 'high', output_compression: 5 })],
    })
    expect(encoded).toMatchObject({ path: '/images/edits', body: {}, losses: [] })
    expect(fieldsOf(encoded)).toEqual([
      ['model', 'up'],
      ['prompt', 'A hat'],
      ['input_fidelity', 'high'],
      ['output_compression', '5'],
      ['image[]', 'image-1.jpg', 'image/jpeg', JPEG.toString('latin1')],
      ['image[]', 'image-2.webp', 'image/webp', WEBP.toString('latin1')],
    ])
  })

  test('a single one is the field image', () => {
    const encoded = encode({ turns: [user(image(data(PNG)), text('é'))] })
    expect(fieldsOf(encoded)).toEqual([
      ['model', 'up'],
      ['prompt', 'Ã©'],
      ['image', 'image-1.png', 'image/png', PNG.toString('latin1')],
    ])
  })

  test('with URLs are sent as JSON', () => {
    const parts = [text('A hat'), image({ kind: 'url', url: 'https://e.x/1' }), image(data(PNG))]
    expect(encode({ turns: [user(...parts)] })).toEqual({
      path: '/images/edits',
      body: {
        model: 'up',
        prompt: 'A hat',
        images: [
          { image_url: 'https://e.x/1' },
          { image_url: `data:image/png;base64,${PNG.toString('base64')}` },
        ],
      },
      losses: [],
    })
  })

  test.each<[string, Media[]]>([
    ['a file of a vendor', [{ kind: 'id', id: 'f', vendor: 'openai' }]],
    ['a GIF', [data(GIF)]],
    ['a text', [{ kind: 'text', mediaType: 'text/plain', text: 'x' }]],
    ['too many', Array.from({ length: 17 }, () => data(PNG))],
  ])('%s is refused', (_, sources) => {
    const turns = [user(text('A hat'), ...sources.map(image))]
    expect(refusalOf(() => encode({ source: 'chat', turns }))).toEqual([
      'unsupported_parameter',
      'messages.content.image_url',
    ])
  })

  test('of earlier turns are losses', () => {
    const encoded = encode({ turns: [user(text('x'), image(data(PNG))), user(text('A cat'))] })
    expect(encoded).toEqual({ body: { model: 'up', prompt: 'A cat' }, losses: ['input'] })
  })
})
