/** Valid requests with changed, deleted, repeated or inserted bytes: each gets an answer or a closed connection. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { chatBody } from '../../harness/http.ts'
import { connection } from '../../harness/socket.ts'
import { AUTH, answersIn, good, POST, raw, startWorld, type World } from './world.ts'

const BODY = chatBody('m')
const CHUNKS = `5\r\n${BODY.slice(0, 5)}\r\n${(BODY.length - 5).toString(16)};a=b\r\n${BODY.slice(5)}\r\n0\r\nx-t: 1\r\n\r\n`

/** Time for the cases, most of which wait for a time-out. */
const MOST_MS = 15_000

/** Valid requests. */
const SEEDS = [
  good(),
  raw(POST, [AUTH, 'transfer-encoding: chunked'], CHUNKS),
  good() + good(),
  good(BODY, ['expect: 100-continue']),
  good(BODY, ['connection: keep-alive']).replace('HTTP/1.1', 'HTTP/1.0'),
  raw('GET /v1/models HTTP/1.1', [AUTH]),
  raw('GET /v1/responses HTTP/1.1', [
    AUTH,
    'connection: upgrade',
    'upgrade: websocket',
    'sec-websocket-version: 13',
    'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
  ]),
  raw('POST /api/v1/messages HTTP/1.1', [AUTH, `content-length: ${BODY.length}`], BODY),
]

/** Bytes that confuse parsers. */
const PIECES = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  ' ',
  '\t',
  ':',
  '\r\n\r\n',
  '0\r\n\r\n',
  'transfer-encoding: chunked\r\n',
  'content-length: 5\r\n',
  'GET / HTTP/1.1\r\n\r\n',
  '\xff',
  ',',
  ';',
]

const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const mutation = fc.oneof(
  fc.record({
    kind: fc.constant('change' as const),
    at: place,
    piece: fc.integer({ min: 0, max: 255 }).map((n) => String.fromCharCode(n)),
  }),
  fc.record({ kind: fc.constant('insert' as const), at: place, piece: fc.constantFrom(...PIECES) }),
  fc.record({ kind: fc.constant('delete' as const), at: place, length: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ kind: fc.constant('repeat' as const), at: place, length: fc.integer({ min: 1, max: 200 }) }),
)
type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never

function mutated(bytes: string, change: Mutation): string {
  const at = Math.floor(change.at * bytes.length)
  const [before, after] = [bytes.slice(0, at), bytes.slice(at)]
  if (change.kind === 'change') return before + change.piece + after.slice(1)
  if (change.kind === 'insert') return before + change.piece + after
  if (change.kind === 'delete') return before + after.slice(change.length)
  return before + after.slice(0, change.length) + after
}

let world: World

beforeAll(async () => {
  world = await startWorld({ SLUICE_HEADERS_TIMEOUT: '1s', SLUICE_REQUEST_TIMEOUT: '1s' })
})
afterAll(() => world?.stop())

/** Upper bound for the requests that a parser can find. */
const mostRequests = (bytes: string) => bytes.split(/HTTP\/\d|[\r\n]{2}/).length

const request = fc.record({
  seed: fc.constantFrom(...SEEDS),
  mutations: fc.array(mutation, { minLength: 1, maxLength: 4 }),
  packets: fc.integer({ min: 1, max: 4 }),
})
type Request = typeof request extends fc.Arbitrary<infer T> ? T : never

/** Sends the bytes, half-closes the connection and checks the answers; returns the most requests they can contain. */
async function check({ seed, mutations, packets }: Request): Promise<number> {
  const text = mutations.reduce(mutated, seed)
  const bytes = Buffer.from(text, 'latin1')
  const most = mostRequests(text)
  const { socket, closed } = await connection(world.gateway.base, '')
  for (let i = 0; i < packets; i++) {
    const packet = bytes.subarray((i * bytes.length) / packets, ((i + 1) * bytes.length) / packets)
    await new Promise((sent) => socket.write(packet, sent))
  }
  socket.end()
  const received = (await closed).replaceAll('HTTP/1.1 100 Continue\r\n\r\n', '')
  const answers = received.startsWith('HTTP/1.1 101 ') ? [] : answersIn(received)
  expect(answers.length).toBeLessThanOrEqual(most)
  for (const answer of answers) {
    expect([200, 400, 401, 404, 405, 408, 411, 413, 415, 426, 431, 502]).toContain(answer.status)
    if (answer.status >= 400) expect(answer.headers['x-sluice-error']).toMatch(/^[a-z_]+$/)
    if (answer.text !== '') JSON.parse(answer.text)
  }
  return most
}

it('every answer is complete, and there are no more answers than requests', async () => {
  const deadline = performance.now() + MOST_MS
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 32, size: 'max' }), async (requests) => {
      // fast-check's own limit would leave the last case running into the next check.
      if (performance.now() > deadline) return
      const before = world.upstream.requests.length
      const most = (await Promise.all(requests.map(check))).reduce((sum, count) => sum + count, 0)
      expect(world.upstream.requests.length - before).toBeLessThanOrEqual(most)
      expect(world.upstream.requests.every(({ firstLine }) => /^POST \S+ HTTP\/1\.1$/.test(firstLine))).toBe(
        true,
      )
    }),
    { numRuns: Number(process.env.FC_RUNS ?? 30) },
  )
  await world.servesOthers()
  expect(world.gateway.output()).not.toContain('unexpected error')
})
