import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { zeroUsage } from '../../../../contract/usage.ts'
import { GatewayError } from '../../../errors.ts'
import { images } from '../index.ts'
import { generation, VALID_REQUEST } from '../testing.ts'

const sse = (type: string, fields: object = {}, end = '\n\n') =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}${end}`
const partial = sse('image_generation.partial_image', { b64_json: 'AA', partial_image_index: 0 })
const completed = sse('image_generation.completed', {
  b64_json: 'AAAA',
  usage: { input_tokens: 5, input_tokens_details: { cached_tokens: 2 }, output_tokens: 100 },
})
const USAGE = { ...zeroUsage(), input: 3, cachedInput: 2, output: 100, images: 1 }

function follow(text: string, { n = 1, size = text.length, maxEventBytes = 10_000 } = {}) {
  const observer = images.byteLane.observe(
    generation({ ...VALID_REQUEST, n, stream: true }),
    maxEventBytes,
    false,
  )
  const bytes = Buffer.from(text)
  const out: Buffer[] = []
  for (let i = 0; i < bytes.length; i += size)
    out.push(observer.push(bytes.subarray(i, i + size)) ?? Buffer.alloc(0))
  out.push(observer.flush() ?? Buffer.alloc(0))
  return { observer, out: Buffer.concat(out).toString() }
}

describe('a stream of images', () => {
  test('passes unchanged until its last image', () => {
    const text = `: hello\r\n\r\n${partial.replaceAll('\n', '\r\n')}${completed}`
    for (const size of [1, 7, 1000]) {
      const { observer, out } = follow(`${text}data: more\n\n`, { size })
      expect(out).toBe(text)
      expect(observer).toMatchObject({ done: true, finished: true, failure: undefined, usage: USAGE })
      expect(observer.delivered).toEqual({ deltas: 0, bytes: 0, images: 1 })
    }
  })

  test('edits, without an event line', () => {
    const text = partial + sse('image_edit.completed', { b64_json: 'AA' }).replace(/^event.*\n/, '')
    const { observer, out } = follow(text)
    expect(out).toBe(text)
    expect(observer).toMatchObject({ done: true, usage: undefined })
  })

  test('ends after the requested number of images, each with its own usage', () => {
    const { observer, out } = follow(completed + partial + completed + completed, { n: 2 })
    expect(out).toBe(completed + partial + completed)
    expect(observer).toMatchObject({
      done: true,
      usage: { input: 6, cachedInput: 4, output: 200, images: 2 },
    })
  })

  test('counts every image, even if only the last one has the usage', () => {
    const silent = sse('image_generation.completed', { b64_json: 'AA' })
    expect(follow(silent + completed, { n: 2 }).observer.usage).toEqual({ ...USAGE, images: 2 })
  })

  test('may end with fewer images than requested, but not with a partial one', () => {
    expect(follow(completed, { n: 2 }).observer).toMatchObject({ done: false, finished: true })
    expect(follow(completed + partial, { n: 2 }).observer).toMatchObject({ done: false, finished: false })
    expect(follow(partial).observer).toMatchObject({ finished: false, usage: undefined })
    expect(follow('').observer).toMatchObject({ finished: false })
  })

  test('accepts a last event without its empty line, but not half an event', () => {
    expect(follow(completed.trimEnd())).toMatchObject({ out: completed, observer: { finished: true } })
    expect(follow(completed.trimEnd().slice(0, -1))).toMatchObject({ out: '', observer: { finished: false } })
  })

  test.each([
    'event: error\ndata: {"error":{"code":"rate_limit_exceeded"}}\n\n',
    'data: {"type":"error","code":"rate_limit_exceeded"}\n\n',
    'data: {"error":{"code":"rate_limit_exceeded"}}\n\n',
  ])('holds back an error: %j', (error) => {
    const { observer, out } = follow(partial + error + completed)
    expect(out).toBe(partial)
    expect(observer).toMatchObject({
      failure: { class: 'rate_limit', detail: 'error_event' },
      finished: false,
    })
  })

  test.each(['data: {}\n\n', 'data: null\n\n', 'data: [DONE]\n\n', 'data: {"detail":"no"}\n\n'])(
    'drops events that are not image events: %j',
    (text) => {
      const { observer, out } = follow(partial + text + completed)
      expect(out).toBe(partial)
      expect(observer).toMatchObject({ finished: false, failure: {} })
    },
  )

  test('sends errors to the client as an event', () => {
    const { observer } = follow(partial)
    const error = new GatewayError('upstream_error', 'It broke.')
    expect(observer.errorEvent(error, 'r').toString()).toBe(
      'event: error\ndata: {"error":{"message":"It broke.","type":"server_error","param":null,"code":"upstream_error"}}\n\n',
    )
    expect(images.errorEvent(error, 'r')).toEqual(observer.errorEvent(error, 'r'))
  })

  test('fails on an event that is too large', () => {
    expect(() => follow(completed, { maxEventBytes: 20 })).toThrow('larger than 20 bytes')
  })

  test('ignores noise', () => {
    const noise = fc.constantFrom(
      'data: {"type":"image_generation.news"}\n\n',
      'data:\n\n',
      '\n',
      'event: x\n',
      ': c\n\n',
    )
    fc.assert(
      fc.property(fc.array(noise), fc.integer({ min: 1, max: 50 }), (pieces, size) => {
        const { observer, out } = follow(`${pieces.join('')}\n\n${completed}`, { size })
        expect(out.endsWith(completed)).toBe(true)
        expect(observer).toMatchObject({ finished: true, usage: USAGE })
      }),
    )
  })
})
