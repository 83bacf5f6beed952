import { once } from 'node:events'
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ParsedRequest } from '../../dialects/core/request.ts'
import { GatewayError } from '../../errors.ts'
import { ClientGone } from '../request/client.ts'
import { BodyMemory } from './memory.ts'
import { type LargeBody, readBody, type WholeBody } from './read-body.ts'
import { openUpload, Upload } from './upload.ts'

const LIMITS = {
  maxBodyBytes: 10,
  maxUploadBytes: 1_000_000,
  maxInflatedBytes: 1_000,
  memory: new BodyMemory(Infinity),
}
const FORM = 'form/data'
const FORM_LIMITS = { maxParts: 1, maxFiles: 1, maxFileBytes: 1, maxFieldBytes: 1 }
const NO_UPLOAD = () => {
  throw new GatewayError('invalid_request', 'It is bad.')
}
const API = { forms: [FORM], parseUpload: NO_UPLOAD }

let sent: ClientRequest
let server: ReturnType<typeof createServer>
let arrived: PromiseWithResolvers<[IncomingMessage, ServerResponse]>

beforeEach(async () => {
  arrived = Promise.withResolvers()
  server = createServer((req, res) => arrived.resolve([req, res]))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

/** The server's side of a request with this beginning. */
async function begin(text: string | Buffer, headers: Record<string, string> = {}, path = '/') {
  const { port } = server.address() as AddressInfo
  sent = request({
    port,
    host: '127.0.0.1',
    method: 'POST',
    path,
    agent: false,
    headers: { 'content-type': FORM, ...headers },
  })
  sent.on('error', () => undefined)
  sent.write(text)
  return arrived.promise
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof GatewayError)) throw new Error('expected GatewayError', { cause: error })
  return error.code
}

describe('the beginning of a body', () => {
  test('is held up to the limit', async () => {
    const [req, res] = await begin('0123456789')
    sent.end()
    expect(String(((await readBody(req, res, LIMITS, API)) as WholeBody).bytes)).toBe('0123456789')
  })

  test('is not read beyond the limit', async () => {
    const [req, res] = await begin('0123456789a')
    const body = await readBody(req, res, LIMITS, API)
    expect(body).toMatchObject({ maxBytes: 1_000_000, req, res })
    expect(String((body as LargeBody).prefix)).toBe('0123456789a')
    expect(req.isPaused()).toBe(true)
    expect(req.listenerCount('data')).toBe(0)
  })

  test.each([
    ['JSON', { 'content-type': 'application/json' }, API],
    ['of an API without uploads', {}, { forms: [FORM] }],
    ['longer than any upload', { 'content-length': '1000001' }, API],
    ['packed', { 'content-encoding': 'gzip' }, API],
  ])('refused: %s', async (_name, headers, api) => {
    const [req, res] = await begin('0123456789a', headers)
    expect(await codeOf(readBody(req, res, LIMITS, api))).toBe('request_too_large')
  })

  test('an upload limit below the body limit does not lower that', async () => {
    const [req, res] = await begin('0123456789a')
    const body = readBody(req, res, { ...LIMITS, maxUploadBytes: 1 }, API)
    expect(await codeOf(body)).toBe('request_too_large')
  })

  test('may be compressed if the body is small', async () => {
    const [req, res] = await begin(gzipSync('0123456789a'), { 'content-encoding': 'gzip' })
    sent.end()
    const body = await readBody(req, res, { ...LIMITS, maxBodyBytes: 100 }, API)
    expect(String((body as WholeBody).bytes)).toBe('0123456789a')
  })
})

/** Forwards everything in upper case; refuses `!`, and an end without a dot before it. */
function shouting() {
  let last = ''
  const bad = () => new GatewayError('invalid_request', 'It is bad.')
  return {
    push(chunk: Buffer) {
      last = String(chunk)
      if (last.includes('!')) throw bad()
      return [Buffer.from(last.toUpperCase())]
    },
    end() {
      if (!last.endsWith('.')) throw bad()
      return [Buffer.from('END')]
    },
  }
}

async function upload(text = '0123456789a', limits = LIMITS) {
  const [req, res] = await begin(text)
  const body = (await readBody(req, res, limits, API)) as LargeBody
  const control = new AbortController()
  const first = [Buffer.from('first '), Buffer.from('bytes ')]
  const opened = new Upload(body, { request: {} as ParsedRequest, first, rest: shouting() }, control)
  onTestFinished(() => opened.drop())
  return { req, res, control, upload: opened }
}

function reading(stream: Readable) {
  const read = { text: '', ended: false, closed: false }
  stream.on('data', (chunk: Buffer) => {
    read.text += chunk
  })
  stream.on('end', () => {
    read.ended = true
  })
  stream.on('close', () => {
    read.closed = true
  })
  return read
}

describe('an upload', () => {
  test('is forwarded as it arrives, after its beginning', async () => {
    const { upload: it, control } = await upload()
    const read = reading(it.open(Buffer.from('head ')))
    await vi.waitFor(() => expect(read.text).toBe('head first bytes '))
    sent.write('more ')
    await vi.waitFor(() => expect(read.text).toBe('head first bytes MORE '))
    sent.end('last.')
    await vi.waitFor(() => expect(read.ended).toBe(true))
    expect(read.text).toBe('head first bytes MORE LAST.END')
    expect(control.signal.aborted).toBe(false)
  })

  test('can be restarted as long as no more was read', async () => {
    const { upload: it } = await upload()
    it.open(Buffer.from('lost ')).destroy()
    expect(it.touched).toBe(false)
    const read = reading(it.open(Buffer.from('again ')))
    sent.end('last.')
    await vi.waitFor(() => expect(read.text).toBe('again first bytes LAST.END'))
    expect(it.touched).toBe(true)
  })

  test.each(['bad!', 'bad! and more', 'no end'])('an invalid request is aborted: %s', async (text) => {
    const { upload: it, req, control } = await upload()
    const read = reading(it.open(Buffer.from('head ')))
    sent.end(text)
    await vi.waitFor(() => expect(control.signal.reason).toMatchObject({ code: 'invalid_request' }))
    await vi.waitFor(() => expect(read.closed).toBe(true))
    expect(read.ended).toBe(false)
    expect(read.text).not.toContain('BAD')
    // The rest is read and dropped, so that the client can receive the refusal.
    await vi.waitFor(() => expect(req.complete).toBe(true))
  })

  test('is refused above its limit', async () => {
    const { upload: it, control } = await upload('0123456789a', { ...LIMITS, maxUploadBytes: 20 })
    const read = reading(it.open(Buffer.from('head ')))
    sent.write('123456789')
    await vi.waitFor(() => expect(read.text).toContain('123456789'))
    expect(control.signal.aborted).toBe(false)
    sent.write('0')
    await vi.waitFor(() => expect(control.signal.reason).toMatchObject({ code: 'request_too_large' }))
  })

  test('a reader that does not read pauses the client', async () => {
    const { upload: it, req } = await upload('x'.repeat(20))
    const stream = it.open(Buffer.from('head '))
    stream.read(1)
    await vi.waitFor(() => expect(it.touched).toBe(true))
    expect(it.waitsForClient).toBe(false)
    sent.write('y'.repeat(500_000))
    await vi.waitFor(() => expect(req.isPaused()).toBe(true))
    expect(stream.readableLength).toBeLessThan(200_000)
    const read = reading(stream)
    sent.end('last.')
    await vi.waitFor(() => expect(read.text.endsWith('LAST.END')).toBe(true))
    expect(read.text).toHaveLength('ead first bytes LAST.END'.length + 500_000)
  })

  test('reports whether the client or the upstream is waiting', async () => {
    const { upload: it } = await upload()
    expect(it.waitsForClient).toBe(false)
    const read = reading(it.open(Buffer.from('head ')))
    await vi.waitFor(() => expect(it.waitsForClient).toBe(true))
    sent.end('last.')
    await vi.waitFor(() => expect(read.ended).toBe(true))
    expect(it.waitsForClient).toBe(false)
  })

  test('fails if the client leaves, before it is read or meanwhile', async () => {
    const { upload: it, control } = await upload()
    const read = reading(it.open(Buffer.from('head ')))
    await vi.waitFor(() => expect(it.touched).toBe(true))
    sent.destroy()
    await vi.waitFor(() => expect(control.signal.reason).toBeInstanceOf(ClientGone))
    await vi.waitFor(() => expect(read.closed).toBe(true))
    expect(read.ended).toBe(false)
  })

  test('fails if the client has left before', async () => {
    const { upload: it, req, control } = await upload()
    sent.destroy()
    await vi.waitFor(() => expect(req.destroyed).toBe(true))
    reading(it.open(Buffer.from('head ')))
    await vi.waitFor(() => expect(control.signal.reason).toBeInstanceOf(ClientGone))
  })

  test('fails if the server has already answered by itself', async () => {
    const { upload: it, res, control } = await upload()
    res.end('too slow')
    reading(it.open(Buffer.from('head ')))
    await vi.waitFor(() => expect(control.signal.reason).toBeInstanceOf(ClientGone))
  })

  test('fails if the server answers by itself while it is read', async () => {
    const { upload: it, res, control } = await upload()
    reading(it.open(Buffer.from('head ')))
    await vi.waitFor(() => expect(it.touched).toBe(true))
    res.end('too slow')
    await vi.waitFor(() => expect(control.signal.reason).toBeInstanceOf(ClientGone))
  })

  test('is dropped if its reader stops reading', async () => {
    const { upload: it, req } = await upload()
    it.open(Buffer.from('head ')).read(1)
    await vi.waitFor(() => expect(it.touched).toBe(true))
    sent.end('y'.repeat(5_000_000))
    await vi.waitFor(() => expect(req.isPaused()).toBe(true))
    it.drop()
    await vi.waitFor(() => expect(req.complete).toBe(true))
  })

  test('is dropped if its reader is done', async () => {
    const { upload: it, req, control } = await upload()
    const read = reading(it.open(Buffer.from('head ')))
    await vi.waitFor(() => expect(it.touched).toBe(true))
    it.drop()
    await vi.waitFor(() => expect(read.closed).toBe(true))
    sent.end('y'.repeat(500_000))
    await vi.waitFor(() => expect(req.complete).toBe(true))
    expect(control.signal.aborted).toBe(false)
  })

  test('is parsed with the URL of its request', async () => {
    const [req, res] = await begin('0123456789a', {}, '/models/m?x=y')
    const body = (await readBody(req, res, LIMITS, API)) as LargeBody
    const parseUpload = vi.fn(NO_UPLOAD)
    expect(() => openUpload({ parseUpload }, body, new AbortController(), FORM_LIMITS)).toThrow('bad')
    expect(parseUpload).toHaveBeenCalledWith(body.prefix, FORM_LIMITS, req.headers, '/models/m?x=y')
  })

  test('is dropped if its beginning is invalid', async () => {
    const [req, res] = await begin('0123456789a')
    const body = (await readBody(req, res, LIMITS, API)) as LargeBody
    expect(() => openUpload({ parseUpload: NO_UPLOAD }, body, new AbortController(), FORM_LIMITS)).toThrow(
      'bad',
    )
    sent.end('y'.repeat(500_000))
    await vi.waitFor(() => expect(req.complete).toBe(true))
  })
})
