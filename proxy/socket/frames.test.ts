import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GatewayError } from '../errors.ts'
import { type ClientFrame, readFrame } from './frames.ts'

const LIMITS = { maxDepth: 64, maxKeys: 50_000 }

function read(text: string): ClientFrame {
  return readFrame(Buffer.from(text), LIMITS)
}

/** The error and the stream of a refused message. */
function refusal(text: string) {
  const frame = read(text)
  if (frame.kind !== 'refused') throw new Error(`was taken as ${frame.kind}`)
  const { code, status, param } = frame.error
  return { stream: frame.stream, code, status, param }
}

function bodyOf(text: string): string {
  const frame = read(text)
  if (frame.kind !== 'create') throw new Error(`was ${frame.kind}`)
  return frame.body.toString()
}

describe('response.create', () => {
  test('members of the message are removed, the rest keeps its bytes', () => {
    expect(
      bodyOf(
        '{"type":"response.create", "model" : "m",\n "stream_id":"a", "x":1.0e+2,"generate":true,"input":"\\u0041, {}" ,"stream":false}',
      ),
    ).toBe('{ "model" : "m", "x":1.0e+2,"input":"\\u0041, {}","stream":true}')
  })

  test.each([
    ['{"type":"response.create"}', '{"stream":true}'],
    [' \n{"model":"m","type":"response.create"} ', '{"model":"m","stream":true}'],
    ['{"type":"response.create" , "model":"m"\n,"x":1 }', '{ "model":"m","x":1,"stream":true}'],
    ['{"model":"m" , "type" : "response.create" }', '{"model":"m","stream":true}'],
    [
      '{"type":"response.create","input":[{"type":"message","stream_id":"b"}]}',
      '{"input":[{"type":"message","stream_id":"b"}],"stream":true}',
    ],
  ])('%s', (text, body) => expect(bodyOf(text)).toBe(body))

  test('it names its stream and the response that it continues', () => {
    expect(
      read('{"type":"response.create","stream_id":"A.b-c_9","previous_response_id":"resp_1"}'),
    ).toMatchObject({ kind: 'create', stream: 'A.b-c_9', previous: 'resp_1', generate: true })
    const plain = read('{"type":"response.create","stream_id":null,"generate":null}')
    expect(plain).toMatchObject({ kind: 'create', stream: undefined, generate: true })
    expect(plain).not.toHaveProperty('previous')
  })

  test.each([
    ['"generate":false', false],
    ['"generate":true', true],
    ['"prompt_cache_options":{"prewarm":true}', false],
    ['"prompt_cache_options":{"prewarm":false}', true],
    ['"prompt_cache_options":true', true],
  ])('with %s it generates: %s', (member, generate) => {
    expect(read(`{"type":"response.create",${member}}`)).toMatchObject({ kind: 'create', generate })
  })

  test('any request comes out as its HTTP body', () => {
    const key = fc
      .string({ unit: 'binary' })
      .filter((k) => !/^(type|stream_id|generate|stream|__proto__)$/.test(k))
    const own = fc.constantFrom('{"stream_id":"s"}', '{"generate":false}', '{"stream":1}', '{}')
    fc.assert(
      fc.property(
        fc.dictionary(key, fc.jsonValue({ maxDepth: 2 })),
        own,
        fc.nat(),
        fc.nat(3),
        (fields, extra, at, space) => {
          const members: [string, unknown][] = Object.entries({ ...fields })
          members.splice(
            at % (members.length + 1),
            0,
            ['type', 'response.create'],
            ...Object.entries(JSON.parse(extra)),
          )
          const text = JSON.stringify(Object.fromEntries(members), null, space)
          expect(JSON.parse(bodyOf(text))).toEqual({ ...JSON.parse(JSON.stringify(fields)), stream: true })
        },
      ),
    )
  })
})

describe('other messages', () => {
  test('a steer is read with its stream', () => {
    expect(
      read('{"type":"response.steer","stream_id":"a","previous_response_id":"r","input":[{"x":1}]}'),
    ).toEqual({ kind: 'steer', stream: 'a', previous: 'r', input: [{ x: 1 }] })
  })

  test('response.processed is ignored', () => {
    expect(read('{"type":"response.processed","response_id":"r"}')).toEqual({ kind: 'ignored' })
  })
})

describe('refused', () => {
  const invalid = { stream: undefined, code: 'invalid_request', status: 400, param: 'type' }
  test.each([
    ['no JSON', '{'],
    ['nothing', ''],
    ['an array', '[]'],
    ['null', 'null'],
    ['a string', '"response.create"'],
    ['no type', '{}'],
    ['another type', '{"type":"session.update"}'],
    ['a type that is not a string', '{"type":1}'],
    ['response.append', '{"type":"response.append","input":[]}'],
    ['response.inject', '{"type":"response.inject"}'],
    ['two types', '{"type":"response.create","type":"response.create"}'],
    ['an escaped type', '{"t\\u0079pe":"response.create"}'],
  ])('%s', (_, text) => expect(refusal(text)).toEqual(invalid))

  test.each(['stream_id', 'generate', 'stream'])('two %s', (key) => {
    expect(refusal(`{"type":"response.create","${key}":null,"${key}":null}`)).toEqual({
      ...invalid,
      param: key,
    })
  })

  const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
  const keys = (count: number) => `{${Array.from({ length: count }, (_, n) => `"k${n}":1`).join()}}`
  test.each([
    ['too deep, after its stream', `{"type":"response.create","stream_id":"a.1","x":${deep(64)}}`],
    ['too deep, before its stream', `{"type":"response.create","x":${deep(64)} , "stream_id" :\n"a.1" }`],
    ['too deep, with other streams inside', `{"x":[{"stream_id":"b"},${deep(64)}],"stream_id":"a.1"}`],
    ['too deep, with similar strings', `{"a":"stream_id","b":"c","x":${deep(64)},"stream_id":"a.1"}`],
    ['too many keys', `{"x":${keys(50_001)},"stream_id":"a.1"}`],
    ['too many keys at the top level', `${keys(50_001).slice(0, -1)},"stream_id":"a.1"}`],
  ])('%s: refused on its stream, without a field', (_, text) => {
    expect(refusal(text)).toEqual({ ...invalid, stream: 'a.1', param: undefined })
  })

  test.each([
    ['given twice', `"stream_id":"b","stream_id":"a"`],
    ['a list', `"stream_id":["a"]`],
    ['a number followed by a string', `"stream_id":1,"x":"a"`],
    ['a list followed by a string', `"stream_id":[],"a":"b"`],
    ['too long a name', `"stream_id":"${'a'.repeat(257)}"`],
    ['with a space', `"stream_id":"a b"`],
    ['nothing', `"x":"stream_id","y":"a"`],
  ])('too deep, and its stream is %s', (_, members) => {
    expect(refusal(`{"x":${deep(64)},${members}}`)).toEqual({ ...invalid, param: undefined })
  })

  test.each([
    ['early enough', 4_194_000, 'a.1'],
    ['too late', 4_195_000, undefined],
  ])('too deep, and its stream stands %s', (_, bytes, stream) => {
    const space = ' '.repeat(bytes)
    expect(refusal(`{"x":${deep(64)},${space}"stream_id":"a.1"}`)).toMatchObject({ stream })
  })

  test('an incomplete message: refused on its stream', () => {
    expect(refusal('{"type":"response.create","stream_id":"a","x":')).toEqual({ ...invalid, stream: 'a' })
  })

  test('a message that is too deep, with the longest stream name', () => {
    const name = 'a'.repeat(256)
    expect(refusal(`{"stream_id":"${name}","x":${deep(64)}}`)).toMatchObject({ stream: name })
  })

  test('generate that is not a boolean', () => {
    expect(refusal('{"type":"response.create","stream_id":"a","generate":1}')).toEqual({
      ...invalid,
      stream: 'a',
      param: 'generate',
    })
  })

  test.each(['""', '"a b"', '"ä"', '1', '{}', `"${'a'.repeat(257)}"`])('stream_id %s', (id) => {
    expect(refusal(`{"type":"response.create","stream_id":${id}}`)).toEqual({
      stream: undefined,
      code: 'invalid_stream_id',
      status: 400,
      param: 'stream_id',
    })
  })

  test('the longest stream_id is accepted', () => {
    const stream = 'a'.repeat(256)
    expect(read(`{"type":"response.create","stream_id":"${stream}"}`)).toMatchObject({
      kind: 'create',
      stream,
    })
  })

  test('an unknown type on a named stream is refused on that stream', () => {
    expect(refusal('{"type":"x","stream_id":"a"}')).toEqual({ ...invalid, stream: 'a' })
  })

  test('a steer that is too large to be returned', () => {
    const text = `{"type":"response.steer","input":"${'x'.repeat(1_048_576)}"}`
    expect(refusal(text)).toMatchObject({ code: 'request_too_large', status: 413 })
  })
})

test('any bytes give a result or a GatewayError', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      const frame = readFrame(Buffer.from(bytes), LIMITS)
      if (frame.kind === 'refused') expect(frame.error).toBeInstanceOf(GatewayError)
    }),
  )
})
