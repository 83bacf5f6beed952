/** Compressed bodies: which are inflated, and which are refused before they cost anything. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { BodyMemory } from './memory.ts'
import { readBody } from './read-body.ts'

/** Larger than the pieces in which a body is inflated. */
const MAX = 300_000
const LIMITS = {
  maxBodyBytes: 10_000_000,
  maxUploadBytes: 0,
  maxInflatedBytes: MAX,
  memory: new BodyMemory(Infinity),
}

/** The inflated body, or the code of the refusal. */
async function read(body: Buffer, encoding = 'gzip'): Promise<Buffer | string> {
  const headers = { 'content-encoding': encoding }
  const req = Object.assign(new PassThrough(), { headers }) as unknown as IncomingMessage
  const result = readBody(req, new PassThrough() as unknown as ServerResponse, LIMITS)
  req.push(body)
  req.push(null)
  try {
    const read = await result
    if ('prefix' in read) throw new TypeError('an upload')
    return read.bytes
  } catch (error) {
    return String((error as { code?: unknown }).code)
  }
}

const zeros = (size: number) => Buffer.alloc(size, '0')

describe('gzip', () => {
  test('inflates up to the allowed size', async () => {
    expect(await read(gzipSync(zeros(MAX)))).toEqual(zeros(MAX))
    expect(await read(gzipSync(zeros(MAX + 1)))).toBe('request_too_large')
  })

  test('may have several members, which count together', async () => {
    const members = (...sizes: number[]) => Buffer.concat(sizes.map((size) => gzipSync(zeros(size))))
    expect(await read(members(MAX - 1, 1))).toEqual(zeros(MAX))
    expect(await read(members(MAX - 1, 1, 1))).toBe('request_too_large')
    expect(await read(Buffer.concat(Array(100_000).fill(gzipSync(''))))).toEqual(Buffer.alloc(0))
  })

  test('is inflated once: gzip inside gzip is not JSON', async () => {
    const inner = gzipSync('{}')
    expect(await read(gzipSync(inner))).toEqual(inner)
  })

  test('of a hundred mebibytes is stopped at the bound', async () => {
    const bomb = gzipSync(Buffer.alloc(100 * 1_048_576))
    const before = process.memoryUsage().rss
    const got = await read(bomb)
    expect(typeof got === 'string' ? got : got.length).toBe('request_too_large')
    expect(process.memoryUsage().rss - before).toBeLessThan(50 * 1_048_576)
  })

  test.each<[string, Buffer]>([
    ['is truncated', gzipSync('abc').subarray(0, -1)],
    ['has a truncated second member', Buffer.concat([gzipSync('abc'), gzipSync('abc').subarray(0, 12)])],
    ['is followed by something else', Buffer.concat([gzipSync('abc'), Buffer.from('{"model":"m"}')])],
    ['has a wrong checksum', Buffer.concat([gzipSync('abc').subarray(0, -8), Buffer.alloc(8)])],
    ['is not gzip', Buffer.from('{"model":"m"}')],
    ['is a header without data', Buffer.from([0x1f, 0x8b])],
  ])('that %s is refused', async (_what, body) => {
    expect(await read(body)).toBe('invalid_request')
  })
})

test.each<[string, (clear: string) => Buffer]>([
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
  ['x-gzip', gzipSync],
  ['compress', gzipSync],
  ['gzip, gzip', (clear) => gzipSync(gzipSync(clear))],
  ['identity, gzip', gzipSync],
  ['gzip;q=1', gzipSync],
  ['*', gzipSync],
])('the encoding %s is refused', async (encoding, encode) => {
  expect(await read(encode('{}'), encoding)).toBe('unsupported_media_type')
})

test.each(['GZip', ' gzip '])('the encoding %s is', async (encoding) => {
  expect(await read(gzipSync('{}'), encoding)).toEqual(Buffer.from('{}'))
})
