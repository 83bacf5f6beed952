import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EventShape } from './shape.ts'

const latin1 = (text: string) => Buffer.from(text).toString('latin1')
const chat = (content: string, more: object = {}) =>
  latin1(`data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content } }], ...more })}\n\n`)
const response = (delta: string, sequence: number, obfuscation: string) => {
  const type = 'response.output_text.delta'
  const data = JSON.stringify({
    type,
    sequence_number: sequence,
    item_id: 'i',
    delta,
    logprobs: [],
    obfuscation,
  })
  return latin1(`event: ${type}\ndata: ${data}\n\n`)
}

function learned(event: string, bytes: number): EventShape {
  const shape = new EventShape()
  shape.learn(event, 0, event.length, bytes)
  return shape
}
const sizeIn = (shape: EventShape, event: string) => shape.textWeight(event, 0, event.length)

describe('an event like the learned one', () => {
  test('is recognized at any position, with the size of its own text', () => {
    const stream = chat('one') + chat('drei €') + chat('x')
    const start = chat('one').length
    const end = start + chat('drei €').length
    expect(learned(chat('one'), 3).textWeight(stream, start, end)).toBe(Buffer.byteLength('drei €'))
  })

  test('is never one with usage, which may be the last', () => {
    const event = chat('one', { usage: { total_tokens: 1 } })
    expect(sizeIn(learned(event, 3), event)).toBe(-1)
    const none = chat('one', { usage: null })
    expect(sizeIn(learned(none, 3), none)).toBe(3)
  })

  test('counts CJK as four bytes a character, and emoji too', () => {
    const shape = learned(chat('日本'), 8)
    expect(sizeIn(shape, chat('こんにちは'))).toBe(20)
    expect(sizeIn(shape, chat('aé'))).toBe(3)
    expect(sizeIn(shape, chat('😀😀'))).toBe(8)
  })

  test('may have another number and other padding', () => {
    const shape = learned(response('Hi', 9, 'abc'), 2)
    expect(sizeIn(shape, response('there', 10, ''))).toBe(5)
  })

  test('may have escapes, which count as the characters that they encode', () => {
    expect(sizeIn(learned(chat('one'), 3), chat('a\n"\\b'))).toBe(5)
    const escaped = chat('x').replace('"x"', '"\\u65e5\\u672c"')
    expect(sizeIn(learned(chat('one'), 3), escaped)).toBe(6)
  })
})

describe('not recognized:', () => {
  const shape = learned(chat('one'), 3)
  test.each([
    ['an event without text', chat('')],
    ['an event with more fields', chat('two', { error: 'x' })],
    ['an event with another value', chat('two').replace('"index":0', '"index":1')],
    ['a cut event', chat('two').replace('}}]}', '')],
    ['an event with more lines', chat('two').replace('two', 'two\ndata: ')],
    ['a bad escape', chat('two').replace('two', '\\x')],
    ['a bad code', chat('two').replace('two', '\\u12g4')],
    ['a raw tab', chat('two').replace('two', '\t')],
    ['a text without its end', chat('two').replace('two"', 'two')],
    ['a shorter event', 'data: {}\n\n'],
  ])('%s', (_, event) => {
    expect(sizeIn(shape, event)).toBe(-1)
  })

  test.each(['007', '', '-1', '1e5', '1.5', 'x'])('a number that is %j', (number) => {
    const event = response('Hi', 77, 'a').replace('77', number)
    expect(sizeIn(learned(response('Hi', 9, 'a'), 2), event)).toBe(-1)
  })

  test.each([
    ['before an event is learned', new EventShape()],
    ['after an event with two texts', learned(chat('one', { text: 'two' }), 3)],
    ['after an event whose counted text differs', learned(chat('one'), 2)],
    ['after an event with an escape', learned(chat('a\nb'), 3)],
  ])('any event %s', (_, other) => {
    expect(sizeIn(other, chat('one'))).toBe(-1)
  })
})

test('a recognized event is valid JSON and differs from the learned one only in its texts', () => {
  const piece = fc.constantFrom('"', '\\', '\n', ',', ':', '{', '}', 'a', 'content', '1', ' ', '\\u00e9', '€')
  const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''))
  fc.assert(
    fc.property(text, fc.nat(300), fc.nat(300), (noise, from, to) => {
      const model = response('Hi', 12, 'pad')
      const event = model.slice(0, from) + noise + model.slice(Math.max(from, to))
      if (sizeIn(learned(model, 2), event) <= 0) return
      const data = Buffer.from(event.slice(event.indexOf('data: ') + 6), 'latin1').toString()
      const { delta, sequence_number, obfuscation, ...rest } = JSON.parse(data)
      expect([typeof delta, typeof sequence_number, typeof obfuscation]).toEqual([
        'string',
        'number',
        'string',
      ])
      expect(rest).toEqual({ type: 'response.output_text.delta', item_id: 'i', logprobs: [] })
    }),
  )
})
