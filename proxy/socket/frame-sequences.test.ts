import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  BINARY,
  CLOSE,
  CONTINUATION,
  CUT_OFF,
  closeFrame,
  frame,
  NO_CODE,
  openRaw,
  PING,
  PONG,
  TEXT,
} from '../../test/harness/web-socket.ts'
import { answer, completed, create, socketServer, type TestSockets, until } from './testing.ts'

const base = ({ url }: TestSockets) => url.replace('ws', 'http')

/** Answers each call with its name. */
const named = () =>
  socketServer((call, body) => answer(call, completed(String(body.name))), {
    maxMessageBytes: 10_000,
    maxFragments: 16,
  })

/** A control frame between the frames of a message. */
const control = fc
  .record({ opcode: fc.constantFrom(PING, PONG), payload: fc.uint8Array({ maxLength: 125 }) })
  .map(({ opcode, payload }) => ({ opcode, payload: Buffer.from(payload) }))

/** Lengths of the pieces of a message, and the frames after each: fewer pings in total than a burst may have. */
const pieces = fc.array(fc.tuple(fc.nat(40), fc.array(control, { maxLength: 1 })), { maxLength: 6 })

const nothing = fc.constantFrom(
  '{}',
  '{',
  '[]',
  '{"type":"response.processed"}',
  '{"type":"response.steer"}',
  '',
)
/** The content of a message; undefined stands for a call. */
const content = fc.option(nothing, { nil: undefined, freq: 1 })

const LENGTH_BITS = [undefined, 16, 64] as const

test('messages in any pieces, with control frames between them, are each answered in turn', async () => {
  const server = await named()
  const valid = fc.array(fc.tuple(content, pieces, fc.constantFrom(...LENGTH_BITS)), {
    minLength: 1,
    maxLength: 10,
  })
  await fc.assert(
    fc.asyncProperty(valid, fc.nat(200), async (messages, chunk) => {
      const socket = await openRaw(base(server))
      const sent: Buffer[] = []
      const names: string[] = []
      const pings: string[] = []
      for (const [text, parts, lengthBits] of messages) {
        const name = `n${names.length}`
        if (text === undefined) names.push(name)
        let left = text ?? JSON.stringify(create({ name, input: 'ä€😀'.repeat(4) }))
        let opcode = TEXT
        for (const [length, between] of parts) {
          sent.push(frame(opcode, [...left].slice(0, length).join(''), { fin: false }))
          left = [...left].slice(length).join('')
          opcode = CONTINUATION
          for (const { opcode, payload } of between) {
            if (opcode === PING) pings.push(payload.toString('hex'))
            sent.push(frame(opcode, payload))
          }
        }
        sent.push(frame(opcode, left, lengthBits === undefined || left.length > 125 ? {} : { lengthBits }))
      }
      const bytes = Buffer.concat(sent)
      // Splits of the TCP stream are unrelated to the pieces of messages.
      socket.send(bytes.subarray(0, chunk))
      socket.send(bytes.subarray(chunk), frame(TEXT, JSON.stringify(create({ name: 'last' }))))
      const ids = () =>
        socket
          .messages()
          .flatMap(({ response }) => (response === undefined ? [] : [(response as { id: string }).id]))
      await until(() => ids().includes('last'))
      expect(ids()).toEqual([...names, 'last'])
      const pongs = socket.frames.filter(({ opcode }) => opcode === PONG)
      expect(pongs.map(({ payload }) => payload.toString('hex'))).toEqual(pings)
      socket.socket.end(closeFrame(1000))
      expect(await socket.ended).toBe(1000)
    }),
  )
  await until(() => server.sockets.size === 0)
})

/** Frames of all kinds, most of which break a rule. */
const anyFrame = fc
  .record({
    opcode: fc.oneof(fc.constantFrom(TEXT, CONTINUATION, BINARY, CLOSE, PING, PONG), fc.nat(15)),
    payload: fc.oneof(
      fc.constant(Buffer.from(JSON.stringify(create({ name: 'x' })))),
      nothing.map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    ),
    fin: fc.boolean(),
    rsv: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(7) }),
    masked: fc.oneof(
      { weight: 9, arbitrary: fc.constant(true) },
      { weight: 1, arbitrary: fc.constant(false) },
    ),
    length: fc.option(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { freq: 9, nil: undefined }),
  })
  .map(({ opcode, payload, length, ...options }) =>
    frame(opcode, payload, { ...options, ...(length !== undefined && { length }) }),
  )
const flipped = fc.tuple(anyFrame, fc.nat(), fc.nat(255)).map(([bytes, at, value]) => {
  const changed = Buffer.from(bytes)
  changed[at % changed.length] = value
  return changed
})
const cut = fc.tuple(anyFrame, fc.nat()).map(([bytes, at]) => bytes.subarray(0, at % bytes.length))
const noise = fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes))
const anything = fc.oneof(anyFrame, flipped, cut, noise)

/** Codes that a close frame may have (RFC 6455, section 7.4), and those for a frame without one or a missing frame. */
const isDefined = (code: number) =>
  [NO_CODE, CUT_OFF].includes(code) ||
  (code >= 1000 && code <= 1014 && code !== 1004) ||
  (code >= 3000 && code <= 4999)

test('frames of any kind close at most their own socket, with a defined code', async () => {
  const server = await named()
  const good = await openRaw(base(server))
  await fc.assert(
    fc.asyncProperty(fc.array(anything, { maxLength: 20 }), async (frames) => {
      const socket = await openRaw(base(server))
      for (const bytes of frames) socket.send(bytes)
      socket.socket.end()
      expect(await socket.ended).toSatisfy(isDefined)
      for (const { type } of socket.messages())
        expect(['error', 'response.completed', 'response.steer.failed']).toContain(type)
      const before = good.frames.length
      good.send(frame(TEXT, JSON.stringify(create({ name: 'good' }))))
      await until(() => good.frames.length > before)
      expect(good.messages().at(-1)).toEqual(completed('good'))
    }),
  )
  await until(() => server.sockets.size === 1)
  expect(server.pool.used).toBe(0)
})
