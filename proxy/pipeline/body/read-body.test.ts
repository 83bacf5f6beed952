import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { BodyMemory } from './memory.ts'
import { readBody, type WholeBody } from './read-body.ts'

const MIB = 1_048_576
const LIMITS = {
  maxBodyBytes: MIB,
  maxUploadBytes: 8 * MIB,
  maxInflatedBytes: MIB,
  memory: new BodyMemory(Infinity),
}
const JSON_LIMITS = { maxDepth: 8, maxKeys: 100 }
const FORM = 'form/data'
const API = {
  forms: [FORM],
  parseUpload: () => {
    throw new TypeError('not called')
  },
}

/** Reads a body that arrives in exactly these chunks. */
async function read(chunks: Iterable<Buffer>, limits = LIMITS) {
  const stream = new PassThrough({ objectMode: true })
  const req = Object.assign(stream, { headers: { 'content-type': FORM } }) as unknown as IncomingMessage
  const res = new PassThrough() as unknown as ServerResponse
  const body = readBody(req, res, limits, API)
  for (const chunk of chunks) stream.emit('data', chunk)
  stream.emit('end')
  const read = await body
  return 'prefix' in read ? read.prefix : read.bytes
}

function* cut(whole: Buffer, sizes: Iterable<number>) {
  let at = 0
  for (const size of sizes) {
    // With memory of their own, like HTTP chunks.
    yield Buffer.from(new Uint8Array(whole.subarray(at, at + size)).buffer)
    at += size
  }
}

function bytes(size: number): Buffer {
  return Buffer.from(Uint8Array.from({ length: size }, (_, n) => (n * 31 + (n >> 8)) & 0xff))
}

/** The memory of a body at its end: the number of Buffers, and the bytes behind them. */
function watchHeld() {
  const concat = vi.spyOn(Buffer, 'concat')
  onTestFinished(() => concat.mockRestore())
  return () => {
    const held = concat.mock.calls.at(-1)?.[0] ?? []
    const memory = new Set(held.map(({ buffer }) => buffer))
    return {
      count: held.length,
      bytes: [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0),
    }
  }
}

describe('a body in small chunks', () => {
  test.each<[string, readonly number[]]>([
    ['a byte at a time', [1]],
    ['just below the size that is kept without a copy', [4_095]],
    ['a little more than half a block', [2_100]],
    ['small and large in turn', [1, 4_096]],
    ['many small ones and a large one', [...Array.from({ length: 100 }, () => 1), 65_536]],
  ])('takes at most twice its size: %s', async (_, sizes) => {
    const held = watchHeld()
    const round = sizes.reduce((sum, size) => sum + size)
    const rounds = Math.floor(MIB / round)
    const whole = bytes(rounds * round)
    const all = Array.from({ length: rounds }, () => sizes).flat()
    expect((await read(cut(whole, all))).equals(whole)).toBe(true)
    const { count, bytes: memory } = held()
    // 256 pieces of 4 KiB, and a partly filled one between each two.
    expect(count).toBeGreaterThan(1)
    expect(count).toBeLessThanOrEqual(2 * 256 + 2)
    expect(memory).toBeLessThanOrEqual(2 * whole.length + 4_096)
  })

  test('takes four KiB for a few chunks', async () => {
    const held = watchHeld()
    expect(String(await read(cut(Buffer.from('abc'), [1, 1, 1])))).toBe('abc')
    expect(held()).toEqual({ count: 2, bytes: 1 + 4_096 })
  })

  test('is held in the same way if it becomes large', async () => {
    const held = watchHeld()
    const whole = bytes(MIB + 1)
    const prefix = await read(
      cut(
        whole,
        Array.from({ length: MIB + 1 }, () => 1),
      ),
    )
    expect(prefix.equals(whole)).toBe(true)
    expect(held().count).toBeLessThan(100)
  })
})

test('a body in a single chunk is not copied', async () => {
  const chunk = Buffer.from('{"model":"m"}')
  expect(await read([chunk])).toBe(chunk)
})

test.each(['identity', 'gzip'])(
  'the members of a large JSON body (%s) are found while it arrives',
  async (encoding) => {
    const whole = Buffer.from(
      `{ "model": "m", "n\\u0061me" :[1,{"x":2}],\n"long":"\\"${'y'.repeat(200_000)}" }`,
    )
    const sent = encoding === 'gzip' ? gzipSync(whole) : whole
    const part = fc.integer({ min: 1, max: sent.length })
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 20 }), async (sizes) => {
        const stream = new PassThrough({ objectMode: true })
        const headers = { 'content-encoding': encoding, 'content-length': String(sent.length) }
        const req = Object.assign(stream, { headers }) as unknown as IncomingMessage
        const body = readBody(req, new PassThrough() as unknown as ServerResponse, {
          ...LIMITS,
          json: JSON_LIMITS,
        })
        for (const chunk of cut(sent, [...sizes, sent.length]))
          if (chunk.length > 0) stream.emit('data', chunk)
        stream.emit('end')
        const { bytes, members } = (await body) as WholeBody
        expect(bytes.equals(whole)).toBe(true)
        expect(members?.map(({ rawKey }) => rawKey)).toEqual(['model', 'n\\u0061me', 'long'])
        expect(members?.map(({ start, end }) => JSON.parse(String(whole.subarray(start, end))))).toEqual(
          Object.values(JSON.parse(String(whole))),
        )
      }),
      { numRuns: 30 },
    )
  },
)

const HEAVY = [
  ['of 2 MiB', `{"model":"m","x":"${'y'.repeat(2 * MIB)}"}`],
  ['with 30,000 values', `{"model":"m","x":[${'1,'.repeat(30_000)}1]}`],
] as const

/** Reads JSON that arrives in chunks of these sizes, from a client that waits while the gateway does not read. */
async function readJson(text: string, sizes: readonly number[]) {
  const stream = new PassThrough()
  const headers = { 'transfer-encoding': 'chunked' }
  const req = Object.assign(stream, { headers }) as unknown as IncomingMessage
  const limits = { ...LIMITS, maxBodyBytes: 4 * MIB, json: { maxDepth: 8, maxKeys: 100 } }
  const body = readBody(req, new PassThrough() as unknown as ServerResponse, limits)
  const whole = Buffer.from(text)
  for (const chunk of cut(whole, [...sizes, whole.length])) {
    if (chunk.length > 0 && !stream.write(chunk)) await once(stream, 'drain')
  }
  stream.end()
  return (await body) as WholeBody
}

test.each(HEAVY)('a JSON body %s is in memory that threads share, however it was split', async (_, text) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 100_000 }), { maxLength: 20 }), async (sizes) => {
      const { bytes, shared } = await readJson(text, sizes)
      expect(shared?.byteLength).toBe(text.length)
      expect(bytes.buffer).toBe(shared)
      expect(bytes.equals(Buffer.from(text))).toBe(true)
    }),
    { numRuns: 10 },
  )
})

test('a smaller one is not', async () => {
  const values = `[${'1,'.repeat(15_000)}1]`
  for (const text of ['{"model":"m"}', `{"model":"m","x":"${'y'.repeat(MIB - 100)}"}`, `{"x":${values}}`])
    expect(await readJson(text, [])).not.toHaveProperty('shared')
})

test('others have their turn after each quarter of a mebibyte that is read, and that is copied', async () => {
  const turns = vi.spyOn(globalThis, 'setImmediate')
  onTestFinished(() => turns.mockRestore())
  await readJson('{}', [])
  const few = turns.mock.calls.length
  turns.mockClear()
  await readJson(HEAVY[0][1], Array(200).fill(16_384))
  expect(turns.mock.calls.length - few).toBeGreaterThanOrEqual(2 * 7)
})

test('a body has the bytes that were sent, however they are split', async () => {
  const size = fc.oneof(
    fc.integer({ min: 1, max: 20 }),
    fc.integer({ min: 1, max: 9_000 }),
    fc.constant(70_000),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(size, { maxLength: 60 }), async (sizes) => {
      const whole = bytes(sizes.reduce((sum, n) => sum + n, 0))
      const body = await read(cut(whole, sizes), { ...LIMITS, maxBodyBytes: 8 * MIB })
      expect(body.equals(whole)).toBe(true)
    }),
    { numRuns: 50 },
  )
})
