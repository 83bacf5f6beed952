import { describe, expect, test } from 'vitest'
import { zeroUsage } from '../../../../../contract/usage.ts'
import { GatewayError } from '../../../../errors.ts'
import type { AssistantPart, ModelAnswer, StreamPart } from '../../../core/neutral/types.ts'
import { sseEvents } from '../../../core/sse/events.ts'
import { imageEdits, images } from '../../index.ts'
import { clientOf, editForm, generation, PNG, VALID_FORM, VALID_REQUEST } from '../../testing.ts'

const BASE64 = PNG.toString('base64')
const MADE = { size: '1x2', quality: 'low', background: 'opaque', format: 'webp' }
const SHARED = { size: '1x2', quality: 'low', background: 'opaque', output_format: 'webp' }
const USAGE = { input_tokens: 50, output_tokens: 1000 }
const image = (base64: string, made: object = {}): AssistantPart => ({
  type: 'image',
  source: { kind: 'data', mediaType: 'image/webp', base64 },
  made,
})

describe('an answer of an upstream', () => {
  const read = (value: unknown) => images.codec.decodeAnswer(value, generation(VALID_REQUEST))

  test('has images, how they were made, and their usage', () => {
    const data = [
      { b64_json: 'AAAA', revised_prompt: 'A fat cat' },
      { b64_json: BASE64 },
      { b64_json: `data:image/jpeg;base64,AAAA` },
      { url: 'https://e.x/1' },
      { revised_prompt: 'nothing' },
    ]
    expect(read({ created: 5, data, ...SHARED, usage: USAGE })).toEqual({
      parts: [
        image('AAAA', { ...MADE, revisedPrompt: 'A fat cat' }),
        { type: 'image', source: { kind: 'data', mediaType: 'image/png', base64: BASE64 }, made: MADE },
        { type: 'image', source: { kind: 'data', mediaType: 'image/jpeg', base64: 'AAAA' }, made: MADE },
        { type: 'image', source: { kind: 'url', url: 'https://e.x/1' }, made: MADE },
      ],
      finish: { reason: 'stop' },
      usage: { ...zeroUsage(), input: 50, output: 1000, images: 4 },
    })
  })

  test.each<[unknown, object]>([
    [undefined, { class: 'unknown', status: 200, detail: 'no_answer' }],
    [{ data: [] }, { class: 'unknown', status: 200, detail: 'no_answer' }],
    [{ error: { code: 'invalid_api_key' } }, { class: 'credential', status: 200, detail: 'error_in_answer' }],
  ])('%j is a failure', (value, failure) => {
    expect(read(value)).toMatchObject(failure)
  })

  function decode(n: number, ...events: object[]) {
    const parts: StreamPart[] = []
    const decoder = images.codec.decodeStream((part) => parts.push(part), generation({ ...VALID_REQUEST, n }))
    for (const event of events) decoder.event('', JSON.stringify(event))
    decoder.end()
    return { parts, decoder }
  }
  const partial = { type: 'image_edit.partial_image', b64_json: 'AA', partial_image_index: 1, ...SHARED }
  const completed = { type: 'image_edit.completed', b64_json: 'AAAA', ...SHARED, usage: USAGE }

  test('a stream', () => {
    const { parts, decoder } = decode(2, {}, partial, completed, completed, partial)
    expect(decoder).toMatchObject({ done: true, finished: true, failure: undefined })
    expect(parts).toEqual([
      { type: 'start' },
      { type: 'partial-image', id: '0', index: 1, base64: 'AA', made: MADE },
      { type: 'whole', id: '0', part: image('AAAA', MADE) },
      { type: 'whole', id: '1', part: image('AAAA', MADE) },
      {
        type: 'finish',
        finish: { reason: 'stop' },
        usage: { ...zeroUsage(), input: 100, output: 2000, images: 2 },
      },
    ])
  })

  test('a stream that is cut or fails', () => {
    expect(decode(1, partial)).toMatchObject({ decoder: { finished: false }, parts: { length: 2 } })
    expect(decode(2, completed, partial).decoder).toMatchObject({ finished: false, done: false })
    const failed = decode(2, completed, { type: 'error', code: 'insufficient_quota' }, completed)
    expect(failed.decoder).toMatchObject({ failure: { class: 'quota' }, finished: false, done: true })
    expect(failed.parts.map(({ type }) => type)).toEqual(['start', 'whole'])
  })
})

describe('an answer for a client', () => {
  const answer = (parts: AssistantPart[], fields: Partial<ModelAnswer> = {}): ModelAnswer => ({
    parts,
    finish: { reason: 'stop' },
    ...fields,
  })
  const usage = { ...zeroUsage(), input: 40, cachedInput: 10, output: 7, images: 1 }

  test('an image', () => {
    const parts: AssistantPart[] = [
      { type: 'reasoning', texts: ['T'] },
      image('AAAA', { ...MADE, revisedPrompt: 'A fat cat' }),
      { type: 'text', text: 'Here it is.' },
    ]
    const client = clientOf(generation(VALID_REQUEST))
    expect(images.codec.encodeAnswer(answer(parts, { usage }), client)).toEqual({
      created: 1700,
      ...SHARED,
      data: [{ b64_json: 'AAAA', revised_prompt: 'A fat cat' }],
      usage: {
        input_tokens: 50,
        input_tokens_details: { image_tokens: 0, text_tokens: 50 },
        output_tokens: 7,
        total_tokens: 57,
      },
    })
    const link: AssistantPart = { type: 'image', source: { kind: 'url', url: 'https://e.x' } }
    expect(imageEdits.codec?.encodeAnswer(answer([link], { usage }), clientOf(editForm(VALID_FORM)))).toEqual(
      {
        created: 1700,
        data: [{ url: 'https://e.x' }],
        usage: { input_tokens: 50, output_tokens: 7, total_tokens: 57 },
      },
    )
  })

  test.each<[ModelAnswer, string | undefined, string | undefined]>([
    [answer([image('AA')]), undefined, undefined],
    [answer([{ type: 'text', text: 'Which cat?' }]), 'unknown', undefined],
    [answer([{ type: 'image', source: { kind: 'id', id: 'f', vendor: 'openai' } }]), 'unknown', undefined],
    [answer([], { finish: { reason: 'content-filter' } }), 'caller_fault', 'content_filter'],
    [answer([{ type: 'refusal', text: 'No.' }]), 'caller_fault', 'content_filter'],
  ])('is a failure without an image: %j', (value, failure, code) => {
    const failed = images.codec.missingContent?.(value)
    expect([failed?.class, failed?.forCaller?.code]).toEqual([failure, code])
  })

  function encode(
    parts: StreamPart[],
    api = images,
    parsed = generation({ ...VALID_REQUEST, stream: true }),
  ) {
    const encoder = api.codec.encodeStream(clientOf(parsed))
    for (const part of parts) encoder.part(part)
    const events = sseEvents(Buffer.from(encoder.take())).map(({ event, data }) => [event, JSON.parse(data)])
    return { events, encoder }
  }
  const whole = (part: AssistantPart): StreamPart => ({ type: 'whole', id: 'x', part: part as never })
  const finish: StreamPart = { type: 'finish', finish: { reason: 'stop' }, usage }

  test('a stream', () => {
    const partial: StreamPart = {
      type: 'partial-image',
      id: 'x',
      index: 2,
      base64: BASE64,
      made: { size: '1x2' },
    }
    const { events, encoder } = encode([{ type: 'start' }, partial, whole(image('AAAA', MADE)), finish])
    expect(encoder.failure).toBeUndefined()
    expect(events).toEqual([
      [
        'image_generation.partial_image',
        {
          type: 'image_generation.partial_image',
          b64_json: BASE64,
          partial_image_index: 2,
          created_at: 1700,
          size: '1x2',
          quality: 'auto',
          background: 'auto',
          output_format: 'png',
        },
      ],
      [
        'image_generation.completed',
        {
          type: 'image_generation.completed',
          b64_json: 'AAAA',
          created_at: 1700,
          ...SHARED,
          usage: {
            input_tokens: 50,
            input_tokens_details: { image_tokens: 0, text_tokens: 50 },
            output_tokens: 7,
            total_tokens: 57,
          },
        },
      ],
    ])
  })

  test('a stream of edits with several images', () => {
    const parts = [whole(image('AAAA')), whole(image('BBBB')), finish]
    const { events } = encode(parts, imageEdits, editForm(VALID_FORM))
    expect(events).toMatchObject([
      ['image_edit.completed', { b64_json: 'AAAA' }],
      ['image_edit.completed', { b64_json: 'BBBB', usage: { input_tokens: 50, total_tokens: 57 } }],
    ])
    expect(events[0]?.[1]).not.toHaveProperty('usage')
  })

  test('a stream without an image fails and writes nothing', () => {
    const { events, encoder } = encode([{ type: 'start' }, { type: 'text-start', id: 't' }, finish])
    expect(events).toEqual([])
    expect(encoder.failure).toMatchObject({ class: 'unknown', detail: 'no_picture' })
    const refused = encode([{ type: 'refusal-start', id: 'r' }, finish])
    expect(refused.encoder.failure).toMatchObject({ class: 'caller_fault' })
    expect(encoder.error(new GatewayError('upstream_error', 'It broke.'), 'r')).toBe(
      'event: error\ndata: {"error":{"message":"It broke.","type":"server_error","param":null,"code":"upstream_error"}}\n\n',
    )
  })
})
