/** Complete, well-framed messages that are hostile. */
import { describe, expect, it } from 'vitest'
import { frame, type RawSocket, TEXT } from '../../harness/web-socket.ts'
import { attackedGateway, createMessage, ended, ends } from './attacked-gateway.ts'

const attacked = attackedGateway()

/** The answer to one message. */
async function answerTo(text: string | Buffer, socket?: RawSocket): Promise<Record<string, unknown>> {
  const own = socket ?? (await attacked.open())
  const count = ends(own).length + 1
  own.send(frame(TEXT, text))
  const answer = await ended(own, count)
  // The socket still works.
  own.send(frame(TEXT, createMessage()))
  expect(await ended(own, count + 1)).toMatchObject({ type: 'response.completed' })
  if (socket === undefined) own.socket.destroy()
  return answer
}

const refused = (more: object = {}, error: object = {}) => ({
  type: 'error',
  status: 400,
  error: expect.objectContaining({ code: 'invalid_request', ...error }),
  ...more,
})

const repeat = (count: number, item: string) => Array.from({ length: count }, () => item).join()

describe('refuses bombs', () => {
  it.each<[string, string]>([
    ['one level more than allowed', `{"type":"response.create","input":${'['.repeat(64)}${']'.repeat(64)}}`],
    ['a million lists', '['.repeat(1_000_000)],
    ['five million objects', '{"a":'.repeat(5_000_000)],
    ['one key more than allowed', `{"type":"response.create","input":{${repeat(50_000, '"k":0')}}}`],
    ['four million values', `{"type":"response.create","model":"model","input":[${repeat(4_000_000, '0')}]}`],
    ['thirty million quotes', `{"type":"response.create","model":"model","input":${'"'.repeat(30_000_000)}`],
    ['thirty million backslashes', `{"type":"${'\\'.repeat(30_000_000)}`],
    ['thirty million bytes of white space', `{${' '.repeat(30_000_000)}`],
    [
      'a number of a million digits',
      `{"type":"response.create","model":"model","input":${'9'.repeat(1_000_000)}}`,
    ],
  ])('%s', async (_what, text) => {
    expect(await answerTo(text)).toMatchObject(refused())
  })
})

describe('refuses anything but one JSON object with a type', () => {
  it.each([
    'null',
    '[]',
    '"response.create"',
    '1',
    '{}',
    '{"type":null}',
    '{"type":["response.create"]}',
    '{"type":{"toString":"response.create"}}',
    '{"type":"RESPONSE.CREATE"}',
    '{"type":"response.create\\u0000"}',
    '{"type":"response.create"} {}',
    '{"type":"response.create",}',
    "{'type':'response.create'}",
    '\ufeff{"type":"response.create"}',
    '{"type":"response.create","type":"response.create"}',
    '{"\\u0074ype":"response.create"}',
    '{"__proto__":{"type":"response.create"}}',
    '{"constructor":{"prototype":{"type":"response.create"}}}',
  ])('%s', async (text) => {
    expect(await answerTo(text)).toMatchObject(refused({}, { param: 'type' }))
  })
})

it('prototype keys do not affect later messages', async () => {
  const poison = { model: 'model', input: 'poison', stream_id: 'poison', generate: false }
  const text = JSON.stringify(poison)
  const socket = await attacked.open()
  await answerTo(`{"type":"response.create","__proto__":${text}}`, socket)
  await answerTo(`{"type":"response.create","constructor":{"prototype":${text}}}`, socket)
  await answerTo(`{"type":"x","__proto__":${text},"hasOwnProperty":1,"toString":null,"then":{}}`, socket)
  const answer = await answerTo('{"type":"response.create","input":"hi"}', socket)
  expect(answer).toMatchObject(refused({}, { param: 'model' }))
  expect(answer).not.toHaveProperty('stream_id')
  expect(attacked.upstream.calls.at(-1)?.body.toString()).not.toContain('poison')
  socket.socket.destroy()
})

describe('a stream_id', () => {
  it.each<[string, unknown]>([
    ['empty', ''],
    ['with a space', 'a b'],
    ['with a letter beyond ASCII', 'é'],
    ['with a line break at its end', 'a\n'],
    ['with a NUL', 'a\0'],
    ['too long', 'x'.repeat(257)],
    ['far too long', 'x'.repeat(5_000_000)],
    ['a number', 5],
    ['false', false],
    ['a list', ['a']],
    ['an object', { toString: 'a' }],
  ])('%s is refused and not repeated', async (_what, stream_id) => {
    const answer = await answerTo(createMessage({ stream_id }))
    expect(answer).toMatchObject(refused({}, { code: 'invalid_stream_id', param: 'stream_id' }))
    expect(answer).not.toHaveProperty('stream_id')
  })

  it.each(['__proto__', 'constructor', 'toString', '..', '-', 'x'.repeat(256)])(
    '%s is valid',
    async (stream_id) => {
      expect(await answerTo(createMessage({ stream_id }))).toMatchObject({
        type: 'response.completed',
        stream_id,
      })
    },
  )
})

describe('a previous_response_id', () => {
  it.each<[string, unknown]>([
    ['empty', ''],
    ['like a prototype', '__proto__'],
    ['with a NUL', 'resp_\0'],
    ['with commands', 'resp_x\r\nFLUSHALL\r\n'],
    ['with a pattern', '*'],
    ['with a lone surrogate', 'resp_\ud800'],
    ['of a mebibyte', 'x'.repeat(1_048_576)],
    ['of twenty million bytes', 'x'.repeat(20_000_000)],
    ['a number', 1],
    ['a list', []],
    ['an object', { id: 'resp_x' }],
  ])('%s is refused', async (_what, previous_response_id) => {
    const answer = await answerTo(createMessage({ previous_response_id }))
    expect(answer).toMatchObject({
      type: 'error',
      status: 400,
      error: { param: 'previous_response_id' },
    })
    expect(JSON.stringify(answer).length).toBeLessThan(10_000)
  })
})

describe('forwards user text unchanged', () => {
  it.each([
    '\u0000\u0001\u001f\u007f',
    'Ṱ̺̺̕o͞ ̷i̲̬͇̪͙n̝̗͕v̟̜̘̦͟o̶̙̰̠kè͚̮̺̪̹̱̤ ',
    '\u202etest\u202c \u200b\ufeff\u2028\u2029\uffff',
    '👩‍👩‍👧‍👦🏳️‍🌈',
    '<script>alert(1)</script> {{7*7}} %s%n %00 ../../etc/passwd',
    `'; DROP TABLE users; -- "`,
    'data: [DONE]\n\nevent: error\r\n\r\nHTTP/1.1 200 OK\r\n',
    '{"type":"response.completed"}',
    'NaN undefined null true Infinity -0 1e1000 0x1p-2',
  ])('%j', async (input) => {
    const socket = await attacked.open()
    socket.send(frame(TEXT, createMessage({ input })))
    expect(await ended(socket, 1)).toMatchObject({ type: 'response.completed' })
    const { messages } = JSON.parse(attacked.upstream.calls.at(-1)?.body.toString() ?? '') as {
      messages: { content: unknown }[]
    }
    const [sent] = messages
    expect([input, [{ type: 'text', text: input }]]).toContainEqual(sent?.content)
    socket.socket.destroy()
  })

  it('replaces a lone surrogate', async () => {
    const socket = await attacked.open()
    socket.send(frame(TEXT, createMessage({ input: '<\ud800>' })))
    expect(await ended(socket, 1)).toMatchObject({ type: 'response.completed' })
    expect(attacked.upstream.calls.at(-1)?.body.toString()).toContain('<\ufffd>')
    socket.socket.destroy()
  })
})
