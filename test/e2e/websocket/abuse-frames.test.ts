/** Frames that violate RFC 6455, sections 5 and 7: each closes its own connection with the right code. */
import { describe, expect, it } from 'vitest'
import {
  BINARY,
  CLOSE,
  CONTINUATION,
  closeFrame,
  frame,
  NO_CODE,
  PING,
  PONG,
  TEXT,
} from '../../harness/web-socket.ts'
import { attackedGateway, createMessage, ended } from './attacked-gateway.ts'

const PROTOCOL_ERROR = 1002
const UNSUPPORTED = 1003
const NOT_UTF8 = 1007
const POLICY = 1008
const TOO_BIG = 1009

const attacked = attackedGateway()
const text = createMessage()
const more = { fin: false }

async function endOf(...frames: Buffer[]): Promise<number> {
  const seen = attacked.upstream.calls.length
  const socket = await attacked.open()
  // Nothing after the invalid frame is read.
  socket.send(...frames, frame(TEXT, text))
  const code = await socket.ended
  expect(attacked.upstream.calls.length).toBe(seen)
  return code
}

describe('closes with 1002', () => {
  it.each<[string, Buffer[]]>([
    ['a text without a mask', [frame(TEXT, text, { masked: false })]],
    ['a ping without a mask', [frame(PING, '', { masked: false })]],
    ['a close without a mask', [frame(CLOSE, '', { masked: false })]],
    ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode): [string, Buffer[]] => [
      `opcode ${opcode}`,
      [frame(opcode, 'x')],
    ]),
    ...[1, 2, 3, 4, 5, 6, 7].map((rsv): [string, Buffer[]] => [
      `reserved bits ${rsv}`,
      [frame(TEXT, text, { rsv })],
    ]),
    ['a reserved bit on a ping', [frame(PING, '', { rsv: 4 })]],
    ['a reserved bit in a continuation', [frame(TEXT, 'x', more), frame(CONTINUATION, 'x', { rsv: 4 })]],
    ['a fragmented ping', [frame(PING, 'x', more)]],
    ['a fragmented pong', [frame(PONG, 'x', more)]],
    ['a fragmented close', [frame(CLOSE, '', more)]],
    ['a ping of 126 bytes', [frame(PING, Buffer.alloc(126))]],
    ['a pong of 65,536 bytes', [frame(PONG, Buffer.alloc(65_536))]],
    ['a close of 126 bytes', [closeFrame(1000, Buffer.alloc(124, 'x'))]],
    ['a ping with a long length field', [frame(PING, 'x', { lengthBits: 16 })]],
    ['a ping of 2^63 bytes', [frame(PING, '', { length: 2n ** 63n })]],
    ['a continuation without a message', [frame(CONTINUATION, 'x')]],
    [
      'a continuation after a complete message',
      [frame(TEXT, '{"type":"response.processed"}'), frame(CONTINUATION)],
    ],
    ['a text within a text', [frame(TEXT, '{', more), frame(TEXT, '}')]],
    ['a binary within a text', [frame(TEXT, '{', more), frame(BINARY, '}')]],
    ['a close of one byte', [frame(CLOSE, Buffer.from([3]))]],
    ...[0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535].map(
      (code): [string, Buffer[]] => [`the close code ${code}`, [closeFrame(code, 'x')]],
    ),
  ])('%s', async (_what, frames) => {
    expect(await endOf(...frames)).toBe(PROTOCOL_ERROR)
  })
})

describe('answers a close with its code', () => {
  it.each([1000, 1001, 1003, 1007, 1008, 1011, 1012, 1013, 1014, 3000, 4999])('%d', async (code) => {
    expect(await endOf(closeFrame(code, 'x'.repeat(123)))).toBe(code)
  })

  it('or without a code', async () => {
    expect(await endOf(frame(CLOSE))).toBe(NO_CODE)
  })
})

describe('closes with 1007', () => {
  const bad: [string, number[]][] = [
    ['an invalid byte', [0xff]],
    ['an incomplete character', [0xc3]],
    ['an overlong form', [0xc0, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a code point beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
  ]

  it.each(bad)('%s in a text, also between fragments', async (_what, bytes) => {
    expect(await endOf(frame(TEXT, Buffer.from([0x22, ...bytes, 0x22])))).toBe(NOT_UTF8)
    const fragments = bytes.map((byte) => frame(CONTINUATION, Buffer.from([byte]), more))
    expect(await endOf(frame(TEXT, '"', more), ...fragments, frame(CONTINUATION, '"'))).toBe(NOT_UTF8)
  })

  it.each(bad)('%s in the reason of a close', async (_what, bytes) => {
    expect(await endOf(closeFrame(1000, Buffer.from(bytes)))).toBe(NOT_UTF8)
  })
})

describe('closes with 1009 before the payload is sent', () => {
  it.each<[string, bigint]>([
    ['one byte more than allowed', 67_108_865n],
    ['2^32 bytes', 2n ** 32n],
    ['2^53 bytes', 2n ** 53n],
    ['2^63 bytes', 2n ** 63n],
    ['2^64 - 1 bytes', 2n ** 64n - 1n],
  ])('a text of %s', async (_what, length) => {
    expect(await endOf(frame(TEXT, '', { length }))).toBe(TOO_BIG)
    expect(await endOf(frame(TEXT, 'x', more), frame(CONTINUATION, '', { length: length - 1n }))).toBe(
      TOO_BIG,
    )
  })
})

describe('closes with 1003', () => {
  it.each<[string, Buffer[]]>([
    ['a binary message', [frame(BINARY, text)]],
    ['an empty binary message', [frame(BINARY)]],
    ['a fragmented binary message', [frame(BINARY, 'x', more), frame(CONTINUATION, 'x')]],
  ])('%s', async (_what, frames) => {
    expect(await endOf(...frames)).toBe(UNSUPPORTED)
  })
})

describe('fragments', () => {
  it.each([0, 1])('too many of %d bytes close with 1008', async (bytes) => {
    const pieces = Array.from({ length: 1_024 }, () => frame(CONTINUATION, Buffer.alloc(bytes, ' '), more))
    expect(await endOf(frame(TEXT, '', more), ...pieces)).toBe(POLICY)
  })

  it('as many as allowed form a message, with pings between them', async () => {
    const socket = await attacked.open()
    const empty = Array.from({ length: 1_022 }, () => frame(CONTINUATION, '', more))
    const pings = [frame(PING, '1'), frame(PONG, 'unsolicited'), frame(PING, '2')]
    socket.send(frame(TEXT, text, more), ...pings, ...empty, frame(CONTINUATION))
    expect(await ended(socket, 1)).toMatchObject({ type: 'response.completed' })
    const pongs = socket.frames.filter(({ opcode }) => opcode === PONG)
    expect(pongs.map(({ payload }) => payload.toString())).toEqual(['1', '2'])
    socket.socket.destroy()
  })

  it('may split a character', async () => {
    const socket = await attacked.open()
    const bytes = Buffer.from(createMessage({ input: 'ä' }))
    const at = bytes.indexOf(0xc3) + 1
    socket.send(frame(TEXT, bytes.subarray(0, at), more), frame(CONTINUATION, bytes.subarray(at)))
    expect(await ended(socket, 1)).toMatchObject({ type: 'response.completed' })
    expect(attacked.upstream.calls.at(-1)?.body.toString()).toContain('ä')
    socket.socket.destroy()
  })
})

// The RFC requires the shortest field; ws accepts any, which does not change the message.
it.each([16, 64] as const)('accepts a length field of %d bits for a short length', async (bits) => {
  const socket = await attacked.open()
  socket.send(frame(TEXT, '{"type":"response.processed"}', { lengthBits: bits }))
  socket.send(frame(TEXT, text, { lengthBits: bits }))
  expect(await ended(socket, 1)).toMatchObject({ type: 'response.completed' })
  socket.socket.destroy()
})

it('reads nothing after a close', async () => {
  const seen = attacked.upstream.calls.length
  const socket = await attacked.open()
  socket.send(closeFrame(1000), frame(TEXT, text), frame(15), frame(TEXT, text))
  expect(await socket.ended).toBe(1000)
  expect(attacked.upstream.calls.length).toBe(seen)
})
