import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { GatewayError } from '../../../errors.ts'
import { parseJsonObject } from './body.ts'
import { BodyValue } from './body-value.ts'
import { scanObject } from './scanner.ts'

const LIMITS = { maxDepth: 8, maxKeys: 100 }
const READ = new Set(['model', 'stream'])

function refusal(body: string | Buffer): GatewayError {
  try {
    parseJsonObject(Buffer.from(body), LIMITS, READ)
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('the body was accepted')
}

describe('parseJsonObject', () => {
  test('returns the value and its members', () => {
    const { value, members } = parseJsonObject(Buffer.from(' {"model":"m","x":[1]}'), LIMITS, READ)
    expect(value).toEqual({ model: 'm', x: [1] })
    expect(members.map((m) => m.rawKey)).toEqual(['model', 'x'])
  })

  test('finds keys and values behind characters of several bytes', () => {
    const body = Buffer.from('{"ü":"😀","model":"m","größe":1}')
    const { members } = parseJsonObject(body, LIMITS, READ)
    expect(members.map((m) => m.rawKey)).toEqual(['ü', 'model', 'größe'])
    expect(members.map((m) => body.toString('utf8', m.start, m.end))).toEqual(['"😀"', '"m"', '1'])
  })

  test('a field that JSON.parse may not show is refused, or seen', () => {
    const bait = String.raw`{"model":"m","tools":[{"typ\\":1}]}`
    expect(parseJsonObject(Buffer.from(bait), LIMITS, READ).value).toEqual({
      model: 'm',
      tools: [{ 'typ\\': 1 }],
    })
    const disguised = String.raw`{"model":"m","tools":[{"typ\u0065":"web_search"},{"a\\":1}]}`
    expect(refusal(disguised).message).toBe('The keys of the body must not have letters written as escapes.')
  })

  test('scans a body that was not scanned while it arrived', () => {
    const arrived = Buffer.from('{"model":"m"}')
    const scanned = { bytes: arrived, members: scanObject(arrived) }
    const limits = { ...LIMITS, scanned }
    expect(parseJsonObject(arrived, limits, READ).members).toBe(scanned.members)
    const other = Buffer.from('{"x":"m","y":1}')
    expect(parseJsonObject(other, limits, READ).members.map((m) => m.rawKey)).toEqual(['x', 'y'])
  })

  test.each([
    ['many lists', `{"a":${'['.repeat(60_000)}`, 'nests deeper than 8'],
    ['many objects', '{"a":'.repeat(20_000), 'nests deeper than 8'],
    ['many keys of a large message', `{${'"a":1,'.repeat(30_000)}`, 'more than 100 object keys'],
  ])('%s are refused before they are parsed', (_, body, problem) => {
    const parse = vi.spyOn(JSON, 'parse')
    onTestFinished(() => parse.mockRestore())
    expect(refusal(body).message).toContain(problem)
    expect(parse).not.toHaveBeenCalled()
  })

  test.each([
    ['', /not valid JSON: it is incomplete/],
    ['{"model":"m"', /not valid JSON/],
    ['{"model":"m",}', /at character 13/],
    ['[1]', /must be a JSON object/],
    ['null', /must be a JSON object/],
    ['"model"', /must be a JSON object/],
    ['{}{}', /not valid JSON/],
    ['\uFEFF{}', /not valid JSON/],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /not valid UTF-8/],
    [Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]), /not valid UTF-8/],
  ])('refuses %j', (body, message) => {
    const error = refusal(body)
    expect(error.code).toBe('invalid_request')
    expect(error.message).toMatch(message)
  })

  test('never quotes the body, even if it imitates a message of the parser', () => {
    for (const body of [
      '{"secret-word": nul}',
      '{"a": "secret-word" "b"}',
      'secret-word in JSON at position 99',
    ]) {
      const error = refusal(body)
      expect(error.message).not.toMatch(/secret|99/)
      expect(error.cause).toBeUndefined()
    }
  })

  test('keys that the gateway reads must occur once and unescaped', () => {
    expect(refusal('{"model":"a","x":1,"model":"b"}')).toMatchObject({
      param: 'model',
      message: expect.stringMatching(/twice/),
    })
    expect(refusal('{"mod\\u0065l":"a"}')).toMatchObject({
      param: 'model',
      message: expect.stringMatching(/escape/),
    })
    expect(refusal('{"model":"a","\\u0073tream":true}')).toMatchObject({ param: 'stream' })
  })

  test('other keys, and keys of inner objects, may repeat', () => {
    const body = '{"model":"a","x":1,"x":2,"\\u0079":{"model":1,"model":2}}'
    expect(parseJsonObject(Buffer.from(body), LIMITS, READ).value).toEqual({
      model: 'a',
      x: 2,
      y: { model: 2 },
    })
  })
})

test('a dropped body is parsed again from its bytes', () => {
  const value = { model: 'a' }
  const held = new BodyValue(Buffer.from('{"model":"a"}'), value)
  expect(held.get()).toBe(value)
  held.drop()
  expect(held.get()).not.toBe(value)
  expect(held.get()).toEqual(value)
})
