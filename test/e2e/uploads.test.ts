/** Forms that are too large to hold in memory are streamed to the upstream. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { type Answer, call, readAll } from '../harness/http.ts'
import { balanceOf } from '../harness/ledger.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { json } from '../harness/upstream.ts'

const KEY = 'sk-uploads-0123456789'
const MIB = 1024 * 1024
const MAX_UPLOAD_BYTES = 420 * MIB
const BOUNDARY = 'client-boundary'
const PNG = Buffer.from('\x89PNG\r\n\x1a\nrest of an image', 'latin1')
const ANSWER = {
  created: 1,
  data: [{ b64_json: 'AAAA' }],
  usage: { input_tokens: 100, output_tokens: 1_000 },
}

interface Received {
  req: IncomingMessage
  res: ServerResponse
  bytes: number
  sha256: string
  /** The request was received completely. */
  complete: boolean
  closed: boolean
}

let received: Received[] = []
/** Runs when the upstream has the headers; by default it reads the request and answers. */
let script: (call: Received) => unknown
const reader = (call: Received) => {
  const hash = createHash('sha256')
  call.req.on('data', (chunk: Buffer) => {
    call.bytes += chunk.length
    hash.update(chunk)
  })
  call.req.on('end', () => {
    call.complete = true
    call.sha256 = hash.digest('hex')
    json(call.res, 200, ANSWER)
  })
}
const upstream = createServer((req, res) => {
  const call: Received = { req, res, bytes: 0, sha256: '', complete: false, closed: false }
  received.push(call)
  req.on('error', () => undefined)
  req.on('close', () => {
    call.closed = true
  })
  script(call)
})
/** Answers a request's first bytes, then neither reads nor writes. */
const hangsUp = createTcpServer({ allowHalfOpen: true }, (socket) => {
  socket.on('error', () => undefined)
  socket.once('data', () => {
    socket.pause()
    const error = JSON.stringify({ error: { message: 'no', param: 'size', code: 'invalid_value' } })
    const head = 'HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n'
    socket.end(`${head}content-length: ${error.length}\r\n\r\n${error}`)
  })
})
let gateway: RunningGateway

beforeAll(async () => {
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const baseURL = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`
  const closed = createServer()
  closed.listen(0, '127.0.0.1')
  await once(closed, 'listening')
  hangsUp.listen(0, '127.0.0.1')
  await once(hangsUp, 'listening')
  const unreachable = `http://127.0.0.1:${(closed.address() as AddressInfo).port}/v1`
  closed.close()
  const images = { type: 'images', ejection: { consecutiveFailures: 0 } }
  const priced = { price: { input: '1', output: '1' } }
  gateway = await startGateway(
    {
      'all.yaml':
        channel('c', baseURL, images) +
        channel('d', baseURL, images) +
        channel('hasty', baseURL, { ...images, timeouts: { firstByte: '300ms' } }) +
        channel('unreachable', unreachable, images) +
        channel('text', baseURL, { type: 'responses', features: { images: false } }) +
        channel('abrupt', `http://127.0.0.1:${(hangsUp.address() as AddressInfo).port}/v1`, images) +
        route('abrupt', 'abrupt', ['abrupt'], priced) +
        route('r', 'images', ['c'], priced) +
        route('two', 'two', ['c', { name: 'd', priority: 1 }], priced) +
        route('over', 'over', ['unreachable', { name: 'c', priority: 1 }], priced) +
        route('mixed', 'mixed', ['text', { name: 'c', priority: 1 }], priced) +
        route('hub', 'hub', ['text'], priced) +
        route('hasty', 'hasty', ['hasty'], priced) +
        account('a', '100') +
        apiKey('k', KEY, { accountRef: { name: 'a' } }),
    },
    { SLUICE_MAX_BODY_BYTES: String(MIB), SLUICE_MAX_UPLOAD_BYTES: String(MAX_UPLOAD_BYTES) },
  )
})
beforeEach(() => {
  received = []
  script = reader
})
afterEach(async () => {
  await until(async () => (await balanceOf(gateway, 'a')).held === 0, 'no hold to be left')
  upstream.closeAllConnections()
})
afterAll(async () => {
  await gateway?.stop()
  upstream.closeAllConnections()
  upstream.close()
  hangsUp.close()
})

const text = (name: string, value: string, boundary = BOUNDARY) =>
  Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
const texts = (model: string, boundary = BOUNDARY) => [
  text('model', model, boundary),
  text('prompt', 'A hat', boundary),
]
/** A file part with an image of `mib` MiB, in pieces. */
function* image(mib: number, boundary = BOUNDARY, name = 'image[]'): Generator<Buffer> {
  const head = `content-disposition: form-data; name="${name}"; filename="a.png"\r\ncontent-type: image/png\r\n\r\n`
  yield Buffer.from(`--${boundary}\r\n${head}`)
  yield PNG
  for (let i = 0; i < mib * 4; i++) yield Buffer.alloc(MIB / 4, `${i}\r\n--`)
  yield Buffer.from('\r\n')
}
const end = (boundary = BOUNDARY) => Buffer.from(`--${boundary}--\r\n`)

interface Sending {
  req: ClientRequest
  answer: Promise<Answer>
}

/** Sends a body as fast as it is read; with `open` without an end. */
function send(body: Iterable<Buffer> | AsyncIterable<Buffer>, { open = false, headers = {} } = {}): Sending {
  const req = request(`${gateway.base}/v1/images/edits`, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${KEY}`,
      'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
      ...headers,
    },
  })
  const answer = new Promise<Answer>((resolve, reject) => {
    req.on('response', async (res) => {
      resolve({ status: res.statusCode ?? 0, headers: res.headers, text: String(await readAll(res)) })
    })
    // A request that is refused while it is sent may be cut off after the answer.
    req.on('error', reject)
  })
  answer.catch(() => undefined)
  Readable.from(body).pipe(req, { end: !open })
  return { req, answer }
}

const errorOf = ({ status, text: body }: Answer) => {
  const { error } = JSON.parse(body) as { error: { code: string; param: string | null } }
  return [status, error.code, error.param]
}
const lineOf = (fields: object) =>
  until(
    () =>
      gateway
        .requests()
        .find((line) => Object.entries(fields).every(([name, value]) => line[name] === value)),
    'the log line',
  )
/** Waits until the upstream has received more than the gateway may hold. */
const underWay = () => until(() => (received[0]?.bytes ?? 0) > 1.5 * MIB, 'the upload to be underWay way')

/** Sends a form that is refused while it is streamed; asserts that the upstream never gets its end. */
async function refused(first: Iterable<Buffer>, last: Iterable<Buffer> = []): Promise<unknown[]> {
  async function* body() {
    yield* first
    await underWay()
    yield* last
  }
  const answer = await send(body()).answer
  await until(() => received.every(({ closed }) => closed), 'the upstream call to be closed')
  expect(received.map(({ complete }) => complete)).toEqual([false])
  return errorOf(answer)
}

test('streams 400 MiB unchanged through a gateway that holds a part of them', async () => {
  function* form(model: string, boundary?: string) {
    yield* texts(model, boundary)
    for (let i = 0; i < 10; i++) yield* image(40, boundary)
    yield end(boundary)
  }
  const peak = () => {
    const status = readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8')
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024
  }
  await send([...texts('images'), ...image(2), end()]).answer
  const before = peak()
  const { balance } = await balanceOf(gateway, 'a')
  const answer = await send(form('images')).answer
  expect([answer.status, JSON.parse(answer.text)]).toEqual([200, ANSWER])
  // V8 lets the buffers of about 140 MiB pile up before it collects them, however long the upload is.
  expect(peak() - before).toBeLessThan(220 * MIB)
  // 1100 tokens at one dollar per million.
  expect(balance - (await balanceOf(gateway, 'a')).balance).toBe(1_100_000)

  const got = received[1]
  expect(got?.req.headers).toMatchObject({ 'transfer-encoding': 'chunked' })
  expect(got?.req.headers['content-length']).toBeUndefined()
  const boundary = got?.req.headers['content-type']?.split('boundary=')[1]
  expect(boundary).toMatch(/^form-\w+$/)
  const hash = createHash('sha256')
  for (const piece of form('images', boundary)) hash.update(piece)
  expect(got?.sha256).toBe(hash.digest('hex'))
})

test('stops the client while the upstream does not read', async () => {
  const gate = Promise.withResolvers<void>()
  script = (got) => void gate.promise.then(() => reader(got))
  const { req, answer } = send([...texts('images'), ...image(45), ...image(45), end()])
  const written = () => req.socket?.bytesWritten ?? 0
  let last = { bytes: -1, at: 0 }
  await until(() => {
    if (written() !== last.bytes) last = { bytes: written(), at: performance.now() }
    return received.length === 1 && performance.now() - last.at > 700
  }, 'the client to stall')
  expect(last.bytes).toBeLessThan(60 * MIB)
  gate.resolve()
  expect((await answer).status).toBe(200)
})

test('closes the upstream call when the client leaves', async () => {
  const { req } = send([...texts('two'), ...image(3)], { open: true })
  await underWay()
  req.destroy()
  await until(() => received[0]?.closed, 'the upstream call to be closed')
  expect(received.map(({ complete }) => complete)).toEqual([false])
  expect(await lineOf({ outcome: 'client_gone' })).toMatchObject({ attempts: [{ class: 'cancelled' }] })
})

test.each(['two', 'abrupt'])('forwards an early answer of the upstream at once (%s)', async (model) => {
  script = (got) => {
    const error = { message: 'no', type: 'image_generation_user_error', param: 'size', code: 'invalid_value' }
    got.req.once('readable', () => json(got.res, 400, { error }))
  }
  function* form() {
    yield* texts(model)
    yield text('size', '1024x1024')
    yield* image(40)
    yield* image(40)
  }
  const { req, answer } = send(form(), { open: true })
  expect(errorOf(await answer)).toEqual([400, 'invalid_request', null])
  expect(received).toHaveLength(model === 'two' ? 1 : 0)
  // The rest of the upload is read, or cut off after a while.
  await until(() => req.destroyed || req.socket?.destroyed, 'the connection to be closed')
})

test('does not fall over once the upstream has received a part', async () => {
  script = (got) => {
    reader(got)
    return underWay().then(() => json(got.res, 500, {}))
  }
  const { answer } = send([...texts('two'), ...image(10)], { open: true })
  expect(errorOf(await answer)).toEqual([502, 'upstream_error', null])
  expect(received).toHaveLength(1)
})

test('does not fall over when the upstream resets the connection', async () => {
  script = (got) => {
    reader(got)
    return underWay().then(() => got.req.socket.destroy())
  }
  const { answer } = send([...texts('two'), ...image(10)], { open: true })
  expect(errorOf(await answer)).toEqual([502, 'upstream_error', null])
  expect(received).toHaveLength(1)
})

test('falls over from an unreachable channel', async () => {
  const { status } = await send([...texts('over'), ...image(2), end()]).answer
  expect([status, received.length]).toEqual([200, 1])
})

test('skips channels that need a conversion', async () => {
  expect((await send([...texts('mixed'), ...image(2), end()]).answer).status).toBe(200)
  expect(received.map(({ req }) => req.url)).toEqual(['/v1/images/edits'])
  const { answer } = send([...texts('hub'), ...image(2), end()])
  expect(errorOf(await answer)).toEqual([413, 'request_too_large', null])
  expect(received).toHaveLength(1)
})

test('refuses relevant text fields after the files', async () => {
  const misplaced = send([text('prompt', 'x'), ...image(2), text('model', 'images'), end()])
  expect(errorOf(await misplaced.answer)).toEqual([413, 'request_too_large', 'model'])
  expect(received).toHaveLength(0)
  expect(await refused([...texts('images'), ...image(3)], [text('n', '2'), end()])).toEqual([
    413,
    'request_too_large',
    'n',
  ])
})

test('refuses a form without its end', async () => {
  expect(await refused([...texts('images'), ...image(3)])).toEqual([400, 'invalid_request', null])
})

test('ends a running answer with an error event if the form turns out invalid', async () => {
  const event =
    'event: image_edit.partial_image\ndata: {"type":"image_edit.partial_image","b64_json":"AA"}\n\n'
  script = (got) => {
    got.req.resume()
    got.res.writeHead(200, { 'content-type': 'text/event-stream' })
    got.res.write(event)
  }
  const begun = Promise.withResolvers<void>()
  async function* form() {
    yield* [...texts('images'), text('stream', 'true'), ...image(3)]
    await begun.promise
  }
  const { req, answer } = send(form())
  req.on('response', () => begun.resolve())
  const { status, text: stream } = await answer
  expect([status, stream.startsWith(event)]).toEqual([200, true])
  const errorData = stream.slice(event.length).replace('event: error\ndata: ', '')
  expect(JSON.parse(errorData)).toMatchObject({ error: { code: 'invalid_request' } })
  await until(() => received[0]?.req.socket.destroyed, 'the upstream call to be closed')
  expect(received[0]?.req.complete).toBe(false)
  expect(await lineOf({ outcome: 'bad_upload' })).toMatchObject({ status: 200, code: 'invalid_request' })
})

test('refuses an image that is too large', async () => {
  expect(await refused([...texts('images'), ...image(50), end()])).toEqual([
    413,
    'request_too_large',
    'image[]',
  ])
})

test('refuses a form that is too large', async () => {
  const length = { 'content-length': String(MAX_UPLOAD_BYTES + 1) }
  expect(errorOf(await send(texts('images'), { open: true, headers: length }).answer)).toEqual([
    413,
    'request_too_large',
    null,
  ])
  expect(received).toHaveLength(0)
  function* form() {
    yield* texts('images')
    for (let i = 0; i < 10; i++) yield* image(44)
    yield end()
  }
  expect(await refused(form())).toEqual([413, 'request_too_large', null])
})

test('answers a client that stops sending with 408, which does not count against the channel', async () => {
  const { answer } = send([...texts('hasty'), ...image(3)], { open: true })
  expect(errorOf(await answer)).toEqual([408, 'request_timeout', null])
  await until(() => received[0]?.closed, 'the upstream call to be closed')
  expect(await lineOf({ status: 408 })).toMatchObject({ attempts: [{ class: 'cancelled' }] })
})

test('holds compressed and small forms in memory', async () => {
  const packed = gzipSync(Buffer.concat([...texts('images'), ...image(1), end()]), { level: 0 })
  const { answer } = send([packed], { headers: { 'content-encoding': 'gzip' } })
  expect(errorOf(await answer)).toEqual([413, 'request_too_large', null])
  const small = [...image(0), ...texts('images'), end()]
  expect((await send(small).answer).status).toBe(200)
  expect(received[0]?.req.headers['content-length']).toBeDefined()
})

test('keeps the limit for other bodies', async () => {
  const body = Buffer.alloc(MIB + 1, ' ')
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const answer = await call(`${gateway.base}/v1/images/edits`, { headers, body })
  expect(errorOf(answer)).toEqual([413, 'request_too_large', null])
})
