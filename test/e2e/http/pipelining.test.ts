/** Several requests on one connection are answered completely and in order (RFC 9112, section 9.3). */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { until } from '../../harness/gateway.ts'
import { chatBody } from '../../harness/http.ts'
import { connection } from '../../harness/socket.ts'
import { AUTH, answersIn, answersTo, good, POST, raw, startWorld, type World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld({ SLUICE_HEADERS_TIMEOUT: '1s', SLUICE_REQUEST_TIMEOUT: '2s' })
})
afterAll(() => world?.stop())
afterEach(() => world.servesOthers())

const END = raw('GET /end HTTP/1.1', ['connection: close'])
const numbered = (n: number) => good(chatBody('m', { user: `number ${n}` }))
const statuses = async (bytes: string) =>
  answersIn(await (await connection(world.gateway.base, bytes)).closed).map(({ status }) => status)

it('answers many requests of one packet in order, including refusals', async () => {
  const before = world.upstream.requests.length
  const bytes = Array.from(
    { length: 20 },
    (_, n) => numbered(n) + raw(`GET /nowhere/${n} HTTP/1.1`, []),
  ).join('')
  expect(await statuses(bytes + END)).toEqual([...Array.from({ length: 20 }, () => [200, 404]).flat(), 404])
  expect(world.upstream.requests.length).toBe(before + 20)
})

it('answers requests that arrive byte by byte', async () => {
  const { socket, closed } = await connection(world.gateway.base, '')
  socket.setNoDelay()
  for (const byte of good() + END) await new Promise((sent) => socket.write(byte, sent))
  expect(answersIn(await closed).map(({ status }) => status)).toEqual([200, 404])
})

it('skips a refused body and serves the request after it', async () => {
  const refused = raw(POST, [`content-length: ${good().length}`], good())
  const before = world.upstream.requests.length
  expect(await statuses(refused + good() + END)).toEqual([401, 200, 404])
  expect(world.upstream.requests.length).toBe(before + 1)
})

it('sends a refusal in its turn', async () => {
  const { release } = world.upstream.hold()
  const before = world.upstream.requests.length
  const { received, closed } = await connection(world.gateway.base, good() + raw('GET /x HTTP/1.1', []) + END)
  await until(() => world.upstream.requests.length > before, 'the request upstream')
  expect(received()).toBe('')
  release()
  expect(answersIn(await closed).map(({ status }) => status)).toEqual([200, 404, 404])
})

it.each<[string, string]>([
  ['garbage', '\0\0\0\r\n\r\n'],
  ['half a request', `${POST}\r\nhost: x\r\n`],
  ['CONNECT', raw('CONNECT localhost:1 HTTP/1.1', [])],
])('answers %s after a running request only once that is answered', async (_what, bytes) => {
  const { release } = world.upstream.hold()
  const before = world.upstream.requests.length
  const { socket, received, closed } = await connection(world.gateway.base, good() + bytes)
  await until(() => world.upstream.requests.length > before, 'the request upstream')
  // Longer than the headers timeout.
  const heldAt = performance.now()
  await until(() => performance.now() - heldAt > 2_500, 'the time-out of the second')
  expect(received()).toBe('')
  expect(socket.destroyed).toBe(false)
  release()
  const answers = answersIn(await closed)
  expect(answers.map(({ status }) => status)).toEqual([200, bytes.startsWith('POST') ? 408 : 400])
  expect(answers[1]?.headers.connection).toBe('close')
})

it.each<[string, string]>([
  ['that closes the connection', raw('GET /x HTTP/1.1', ['connection: close'])],
  ['that closes it with other options', raw('GET /x HTTP/1.1', ['connection: x-a, Close'])],
  ['of HTTP/1.0', raw('GET /x HTTP/1.0', [])],
])('serves nothing after a request %s', async (_what, bytes) => {
  const before = world.upstream.requests.length
  expect(await statuses(bytes + good())).toEqual([404])
  expect(await requestsAfter(before)).toBe(1)
})

it('serves nothing while it answers a request of HTTP/1.0', async () => {
  const { release } = world.upstream.hold()
  const before = world.upstream.requests.length
  const last = good().replace('HTTP/1.1', 'HTTP/1.0')
  const { closed } = await connection(world.gateway.base, last + good() + good())
  await until(() => world.upstream.requests.length > before, 'the request upstream')
  release()
  expect(answersIn(await closed).map(({ status }) => status)).toEqual([200])
  expect(await requestsAfter(before)).toBe(2)
})

it('serves nothing after a malformed request', async () => {
  const before = world.upstream.requests.length
  expect(await statuses(raw('GET http://x/ HTTP/1.1', []) + good())).toEqual([400])
  expect(await requestsAfter(before)).toBe(1)
})

/** Requests upstream with one more, which comes there after any that was served before it. */
async function requestsAfter(before: number): Promise<number> {
  expect(await statuses(good() + END)).toEqual([200, 404])
  return world.upstream.requests.length - before
}

it('opens no WebSocket after an unfinished answer', async () => {
  const { release } = world.upstream.hold()
  const before = world.upstream.requests.length
  const handshake = raw('GET /v1/responses HTTP/1.1', [
    AUTH,
    'connection: upgrade',
    'upgrade: websocket',
    'sec-websocket-version: 13',
    'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
  ])
  const { closed } = await connection(world.gateway.base, good() + handshake)
  await until(() => world.upstream.requests.length > before, 'the request upstream')
  release()
  expect(answersIn(await closed).map(({ status }) => status)).toEqual([200, 426])
})

it('keeps an HTTP/1.0 connection only if the client asks for it', async () => {
  const old = good().replace('HTTP/1.1', 'HTTP/1.0')
  const kept = good(chatBody('m'), ['connection: keep-alive']).replace('HTTP/1.1', 'HTTP/1.0')
  const answers = await answersTo(world.gateway.base, kept + kept, 2)
  expect(answers.map(({ status, headers }) => [status, headers.connection])).toEqual([
    [200, 'keep-alive'],
    [200, 'keep-alive'],
  ])
  expect(await statuses(old)).toEqual([200])
})

it('answers an HTTP/1.0 error completely and closes the connection', async () => {
  const { closed } = await connection(
    world.gateway.base,
    'POST /nowhere HTTP/1.0\r\ncontent-length: 900\r\n\r\n{',
  )
  const [answer, ...more] = answersIn(await closed)
  expect(more).toEqual([])
  expect(answer).toMatchObject({
    status: 404,
    headers: { connection: 'close', 'x-sluice-error': 'not_found' },
  })
})
