import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import { call, faultIn, httpServer, Recorder, settledAt } from './testing.ts'

describe('encodings that the gateway did not request', () => {
  const text = 'data: {"a":1}\n\n'.repeat(5_000)
  const codings = [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const
  const serve = (encoding: string, body: Buffer) =>
    httpServer((_req, res) => {
      res.writeHead(200, {
        'content-type': 'text/event-stream',
        'content-encoding': encoding,
        'content-length': body.length,
      })
      res.end(body)
    })

  test.each(codings)('%s is decoded, and its headers are removed', async (encoding, compress) => {
    const response = await call(await serve(encoding, compress(Buffer.from(text))))
    expect(response.headers).not.toHaveProperty('content-encoding')
    expect(response.headers).not.toHaveProperty('content-length')
    expect((await response.readAll(text.length)).toString()).toBe(text)
  })

  test.each(codings)('%s that is cut fails', async (encoding, compress) => {
    const response = await call(await serve(encoding, compress(Buffer.from(text)).subarray(0, -4)))
    expect(await faultIn(response.readAll(text.length))).toBe('bad_encoding')
  })

  test.each(codings)('a bomb in %s stops at the limit', async (encoding, compress) => {
    const response = await call(await serve(encoding, compress(Buffer.alloc(10_000_000))))
    expect(await faultIn(response.readAll(1_000_000))).toBe('answer_too_large')
  })

  test('a paused sink pauses the decoder', async () => {
    const size = 60_000_000
    const server = await serve('gzip', gzipSync(Buffer.alloc(size, 'z')))
    const response = await call(server)
    const recorder = new Recorder()
    const before = process.memoryUsage().arrayBuffers
    response.pause()
    response.attach(recorder)
    await settledAt(() => process.memoryUsage().arrayBuffers)
    expect(recorder.chunks).toEqual([])
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(size / 3)
    response.resume()
    await vi.waitFor(() => expect(recorder.last).toEqual(['end']))
    expect(recorder.chunks.reduce((sum, chunk) => sum + chunk.length, 0)).toBe(size)
  })

  test('the upstream waits for a full decoder, before a sink is attached and after', async () => {
    const clear = randomBytes(30_000_000)
    const coded = gzipSync(clear, { level: 0 })
    let written = 0
    const server = await httpServer(async (_req, res) => {
      written = 0
      res.setHeader('content-encoding', 'gzip')
      while (written < coded.length) {
        const piece = coded.subarray(written, written + 100_000)
        written += piece.length
        if (!res.write(piece)) await once(res, 'drain')
      }
      res.end()
    })
    const response = await call(server)
    await settledAt(() => written)
    const ahead = written
    expect(ahead).toBeLessThan(coded.length)
    const recorder = new Recorder()
    let received = 0
    let furthest = 0
    response.attach({
      data: (chunk) => {
        recorder.data(chunk)
        received += chunk.length
        furthest = Math.max(furthest, written - received)
        response.pause()
        setImmediate(() => response.resume())
      },
      end: () => recorder.end(),
      fail: (failure) => recorder.fail(failure),
    })
    await vi.waitFor(() => expect(recorder.last).toEqual(['end']))
    expect(Buffer.concat(recorder.chunks).equals(clear)).toBe(true)
    expect(furthest).toBeLessThan(ahead + 4_000_000)
    expect((await (await call(server)).readAll(clear.length)).equals(clear)).toBe(true)
  })

  test('resume before a sink is attached loses nothing', async () => {
    const response = await call(await serve('gzip', gzipSync(text)))
    response.pause()
    response.resume()
    await settledAt(() => 0)
    expect((await response.readAll(text.length)).toString()).toBe(text)
  })

  test('identity needs no decoding; an unknown encoding fails', async () => {
    const plain = await call(await serve('identity', Buffer.from(text)))
    expect((await plain.readAll(text.length)).toString()).toBe(text)
    const server = await serve('gzip, br', Buffer.from(text))
    expect(await faultIn(call(server))).toBe('bad_encoding')
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
  })
})
