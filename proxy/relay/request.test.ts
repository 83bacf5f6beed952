import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GatewayError } from '../errors.ts'
import { parseRelayRequest } from './request.ts'

const LIMITS = { maxDepth: 50, maxKeys: 100 }
const parse = (text: string) => parseRelayRequest(Buffer.from(text), LIMITS)
const VERSION = { 'anthropic-version': '2023-06-01' }
const FAST = { ...VERSION, 'anthropic-beta': 'fast-mode-2026-02-01' }
const inBody = (body: string) => parse(`{"url":"u","format":"f","body":${body}}`)

function refusal(text: string) {
  try {
    parse(text)
  } catch (error) {
    if (error instanceof GatewayError) return { code: error.code, status: error.status, param: error.param }
    throw error
  }
  return 'taken'
}

test.each([
  ['openai', 'chat'],
  ['', 'chat'],
  ['responses', 'chat'],
  ['message', 'chat'],
  ['anthropic', 'messages'],
  ['Anthropic-Messages', 'messages'],
  ['x-CLAUDE-3', 'messages'],
  ['MESSAGES', 'messages'],
])('format %j has the %s style', (format, style) => {
  expect(parse(JSON.stringify({ url: 'u', format, body: { model: 'm' } })).style).toBe(style)
})

test('the body keeps its bytes from the request', () => {
  const body =
    '{ "model" : "m\\u0041",\r\n\t"a": 1.50, "a": 2, "big":123456789012345678901234567890 , "é":"\\/"}'
  expect(inBody(` \n${body} \t`).body.toString()).toBe(body)
})

test('any JSON body keeps its bytes, before and after the other fields', () => {
  const spaces = fc.stringMatching(/^[ \n\r\t]{0,3}$/)
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })),
      spaces,
      fc.nat(3),
      (more, space, indent) => {
        const body = JSON.stringify({ ...more, model: 'm' }, null, indent)
        const first = parseRelayRequest(
          Buffer.from(`{"body"${space}:${space}${body}${space},"url":"}","format":"\\""}`),
          { maxDepth: 50, maxKeys: 10_000 },
        )
        expect(first.body.toString()).toBe(body)
      },
    ),
  )
})

test.each([
  ['{"model":"m"}', false, VERSION],
  ['{"model":"m","stream":true}', true, VERSION],
  ['{"model":"m","stream":1,"speed":"fast"}', false, FAST],
  ['{"model":"m","speed":null}', false, FAST],
  ['{"model":"m","sp\\u0065ed":"fast"}', false, FAST],
  ['{"model":"m","x":{"speed":"fast","stream":true}}', false, VERSION],
  ['{"model":"m","__proto__":{"speed":1,"stream":true}}', false, VERSION],
])('the body %s decides on streaming and on the headers of its dialect', (body, stream, headers) => {
  expect(parse(`{"url":"u","format":"claude","body":${body}}`)).toMatchObject({ stream })
  expect(parse(`{"url":"u","format":"claude","body":${body}}`).headers).toEqual(headers)
  expect(inBody(body).headers).toEqual({})
})

describe('refused', () => {
  const good = '"url":"u","format":"f","body":{"model":"m"}'
  test.each<[string, string | undefined]>([
    ['', undefined],
    ['[]', undefined],
    ['null', undefined],
    ['{', undefined],
    [`{${good}`, undefined],
    ['{"format":"f","body":{"model":"m"}}', 'url'],
    ['{"url":1,"format":"f","body":{"model":"m"}}', 'url'],
    ['{"url":"u","body":{"model":"m"}}', 'format'],
    ['{"url":"u","format":["claude"],"body":{"model":"m"}}', 'format'],
    ['{"url":"u","format":"f"}', 'body'],
    ['{"url":"u","format":"f","body":null}', 'body'],
    ['{"url":"u","format":"f","body":[]}', 'body'],
    ['{"url":"u","format":"f","body":"{}"}', 'body'],
    ['{"url":"u","format":"f","body":{}}', 'body.model'],
    ['{"url":"u","format":"f","body":{"model":""}}', 'body.model'],
    ['{"url":"u","format":"f","body":{"model":1}}', 'body.model'],
    ['{"url":"u","format":"f","body":{"__proto__":{"model":"m"}}}', 'body.model'],
    ['{"__proto__":{"url":"u","format":"f","body":{"model":"m"}}}', 'url'],
    [`{${good},"url":"v"}`, 'url'],
    [`{${good},"body":{"model":"n"}}`, 'body'],
    [`{${good},"format":"claude"}`, 'format'],
    ['{"\\u0075rl":"u","format":"f","body":{"model":"m"}}', 'url'],
    ['{"url":"u","format":"f","bod\\u0079":{"model":"m"}}', 'body'],
    [`{${good},"x":${'['.repeat(51)}${']'.repeat(51)}}`, undefined],
  ])('%s', (text, param) => {
    expect(refusal(text)).toEqual({ code: 'invalid_request', status: 400, param })
  })

  test('bytes that are not UTF-8', () => {
    const bytes = Buffer.from(`{${good},"x":"\xff"}`, 'latin1')
    expect(() => parseRelayRequest(bytes, LIMITS)).toThrow(GatewayError)
  })
})

test('other fields than the three are ignored', () => {
  expect(refusal('{"url":"u","format":"f","body":{"model":"m"},"headers":{"cookie":"c"},"x":1}')).toBe(
    'taken',
  )
})

test('any bytes are accepted or refused with a GatewayError', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '{',
      '}',
      '"',
      ':',
      ',',
      '[',
      '\\',
      'url',
      'format',
      'body',
      '"model":"m"',
      '\u0000',
      '\ud800',
    ),
    fc.json(),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      try {
        parse(pieces.join(''))
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError)
      }
    }),
  )
})
