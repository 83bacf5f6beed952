/**
 * Faults of images and vectors known from other gateways; the numbers are those of the list of pitfalls, as in
 * test/conformance/dialects.
 */
import { describe, expect, it } from 'vitest'
import { featuresOf } from '../../../contract/profiles.ts'
import type { ClientApi } from '../../../proxy/dialects/core/dialect.ts'
import { convert, hubLane } from '../../../proxy/dialects/core/lanes/hub.ts'
import { sseEvents } from '../../../proxy/dialects/core/sse/events.ts'
import { embeddings } from '../../../proxy/dialects/embeddings/index.ts'
import { imageEdits, images } from '../../../proxy/dialects/images/index.ts'
import { editForm, GIF, generation, JPEG, PNG, WEBP } from '../../../proxy/dialects/images/testing.ts'
import { chunked } from '../../harness/sse.ts'
import { dialectOf, envelopes, parse } from '../dialects/codecs.ts'

const STREAM = { model: 'm', prompt: 'A cat', stream: true }
const event = (type: string, fields: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const PARTIAL = event('image_generation.partial_image', { b64_json: 'AA==', partial_image_index: 0 })
const COMPLETED = event('image_generation.completed', {
  b64_json: 'AAAA',
  usage: { input_tokens: 5, output_tokens: 100 },
})

/** A stream of images as its client gets it. */
function streamed(text: string, size = text.length) {
  const observer = images.byteLane.observe(generation(STREAM), 100_000, false)
  const out = chunked(Buffer.from(text), size).map((chunk) => observer.push(chunk))
  const bytes = Buffer.concat([...out, observer.flush()].filter((piece) => piece !== undefined))
  return { observer, events: sseEvents(bytes), text: bytes.toString() }
}

function answerOf(api: ClientApi, body: object, answer: object, asStream = false) {
  const request = api.parseRequest(Buffer.from(JSON.stringify(body)), { maxDepth: 20, maxKeys: 1_000 }, {})
  return api.byteLane.readAnswer(Buffer.from(JSON.stringify(answer)), request, asStream)
}

describe('7.11 framing', () => {
  const spelled: [string, string][] = [
    ['LF', PARTIAL + COMPLETED],
    ['CR', (PARTIAL + COMPLETED).replaceAll('\n', '\r')],
    ['CRLF', (PARTIAL + COMPLETED).replaceAll('\n', '\r\n')],
    ['comments', `: one\n\n${PARTIAL}: two\n\n${COMPLETED}`],
    ['no spaces', (PARTIAL + COMPLETED).replaceAll('data: ', 'data:').replaceAll('event: ', 'event:')],
    ['no names', (PARTIAL + COMPLETED).replace(/^event.*\n/gm, '')],
    ['no final blank line', (PARTIAL + COMPLETED).trimEnd()],
    ['more after the end', `${PARTIAL}${COMPLETED}data: [DONE]\n\n`],
  ]
  it.each(spelled)('%s, byte by byte', (_name, text) => {
    const { observer, events } = streamed(text, 1)
    expect(events.map(({ data }) => JSON.parse(data).type)).toEqual([
      'image_generation.partial_image',
      'image_generation.completed',
    ])
    expect(observer).toMatchObject({ finished: true, usage: { input: 5, output: 100, images: 1 } })
  })
})

describe('7.12 content types are not trusted', () => {
  it('JSON in answer to a streaming request becomes a stream', () => {
    const answer = answerOf(images, STREAM, { created: 5, data: [{ b64_json: 'AAAA' }] }, true)
    if (!('body' in answer)) throw new Error(answer.detail)
    expect(sseEvents(answer.body).map(({ event, data }) => [event, JSON.parse(data)])).toEqual([
      ['image_generation.completed', { type: 'image_generation.completed', b64_json: 'AAAA', created_at: 5 }],
    ])
  })

  it('an error as the first event fails before anything is sent', () => {
    const { observer, text } = streamed(event('error', { error: { type: 'server_error', message: 'No.' } }))
    expect([text, observer.finished, observer.failure?.detail]).toEqual(['', false, 'error_event'])
  })

  it.each<[string, ClientApi, object]>([
    ['images', images, { model: 'm', prompt: 'A cat' }],
    ['vectors', embeddings, { model: 'm', input: 'a' }],
  ])('an error under status 200 is not returned as %s', (_, api, body) => {
    const answer = answerOf(api, body, { error: { message: 'No.', type: 'server_error' }, data: [] })
    expect(answer).toMatchObject({ status: 200, detail: 'error_in_answer' })
  })
})

it('7.13 a keep-alive is a comment', () => {
  for (const api of [images, imageEdits, embeddings])
    expect(api.keepAlive.toString()).toMatch(/^:[^\n]*\n\n$/)
})

describe('7.14 a truncated answer', () => {
  it('is not complete with half an image', () => {
    expect(streamed(PARTIAL).observer.finished).toBe(false)
    expect(streamed(COMPLETED + PARTIAL).observer.finished).toBe(true)
  })
})

describe('7.23 images', () => {
  const url = (header: string, bytes: Buffer) => `data:${header},${bytes.toString('base64')}`
  const edit = (image_url: string) => () =>
    imageEdits.parseRequest(
      Buffer.from(JSON.stringify({ model: 'm', prompt: 'A hat', images: [{ image_url }] })),
      { maxDepth: 20, maxKeys: 1_000 },
      { 'content-type': 'application/json' },
    )

  it('have the type of their bytes, whatever their label says', () => {
    expect(edit(url('image/gif;base64', PNG))().head.input.images).toBe(1)
    expect(edit(url('image/png;base64', GIF))).toThrow(
      expect.objectContaining({ status: 400, param: 'images[0].image_url' }),
    )
    const file = (bytes: Buffer) => () =>
      editForm([
        ['model', 'm'],
        ['prompt', 'x'],
        ['image', bytes, 'a.png', 'image/png'],
      ])
    for (const bytes of [PNG, JPEG, WEBP]) expect(file(bytes)().head.input.images).toBe(1)
    expect(file(GIF)).toThrow(expect.objectContaining({ status: 400, param: 'image' }))
  })

  it('may have parameters in their URL and no padding', () => {
    const bare = url('image/png;charset=utf-8;base64', PNG).replace(/=+$/, '')
    expect(edit(bare)().head.input.images).toBe(1)
  })

  it.each(['chat', 'responses', 'messages'] as const)('reach an image upstream from %s', (client) => {
    const source = url('image/jpeg;charset=utf-8;base64', PNG).replace(/=+$/, '')
    const parts = {
      chat: { type: 'image_url', image_url: { url: source } },
      responses: { type: 'input_image', image_url: source },
      messages: {
        type: 'image',
        source: { type: 'base64', media_type: 'image/jpeg', data: PNG.toString('base64') },
      },
    }
    const text = { type: client === 'responses' ? 'input_text' : 'text', text: 'A hat' }
    const turns = [{ role: 'user', content: [text, parts[client]] }]
    const body = client === 'responses' ? { model: 'm', input: turns } : { model: 'm', messages: turns }
    const { codec, lossNames } = dialectOf(client)
    const parsed = parse(client, client === 'messages' ? { ...body, max_tokens: 9 } : body)
    const about = { parsed, id: 'X', created: 1_700, inputTokens: 9, envelopes }
    const from = { codec, lossNames }
    const request = codec.decodeRequest(parsed, envelopes)
    const target = {
      upstream: images,
      model: 'up',
      features: featuresOf('images', undefined),
      withoutCarriers: false,
      defaultMaxOutputTokens: 9,
      unsupported: 'Drop' as const,
    }
    const lane = hubLane(from, { ...about, request }, target, convert(from, request, target))
    expect(lane.path).toBe('/images/edits')
    const form = lane.body.toString('latin1')
    expect(form).toContain('content-type: image/png\r\n')
    expect(form).toContain(`\r\n\r\n${PNG.toString('latin1')}\r\n`)
  })
})

describe('7.24 vectors', () => {
  const vector = (index: number, embedding: number[] | string) => ({ object: 'embedding', index, embedding })
  /** 1 and -2.5 as little-endian float32. */
  const BASE64 = 'AACAPwAAIMA='

  function vectorsOf(body: object, ...data: object[]): unknown {
    const answer = answerOf(embeddings, { model: 'm', ...body }, { object: 'list', data })
    if (!('body' in answer)) throw new Error(answer.detail)
    return JSON.parse(answer.body.toString()).data
  }

  it('are in the order of their inputs', () => {
    expect(vectorsOf({ input: ['a', 'b', 'c'] }, vector(2, [3]), vector(0, [1]), vector(1, [2]))).toEqual([
      vector(0, [1]),
      vector(1, [2]),
      vector(2, [3]),
    ])
  })

  it('have the requested encoding', () => {
    const withFormat = (encoding_format?: string) => ({ input: 'a', encoding_format })
    expect(vectorsOf(withFormat('base64'), vector(0, [1, -2.5]))).toEqual([vector(0, BASE64)])
    expect(vectorsOf(withFormat('float'), vector(0, BASE64))).toEqual([vector(0, [1, -2.5])])
    expect(vectorsOf(withFormat(), vector(0, BASE64))).toEqual([vector(0, [1, -2.5])])
  })

  it('of tokens: a list of numbers is one input, a list of lists is several', () => {
    expect(vectorsOf({ input: [1, 2, 3] }, vector(0, [1]))).toHaveLength(1)
    expect(vectorsOf({ input: [[1, 2], [3]] }, vector(0, [1]), vector(1, [2]))).toHaveLength(2)
    expect(() => vectorsOf({ input: [1, 2, 3] }, vector(0, [1]), vector(1, [2]))).toThrow('wrong_count')
  })
})

describe('7.24 images to edit', () => {
  it.each(['image', 'image[]', 'image[0]'])('may be called %s', (name) => {
    const form = editForm([
      [name, PNG, 'a.png'],
      ['model', 'm'],
      [name, WEBP, 'b.webp'],
      ['prompt', 'x'],
    ])
    expect(form.head).toMatchObject({ model: 'm', input: { images: 2 } })
    const sent = imageEdits.byteLane.splice(form, { model: 'up', addStreamUsage: false }).toString('latin1')
    expect(sent.split(`name="${name}"; filename=`)).toHaveLength(3)
  })
})
