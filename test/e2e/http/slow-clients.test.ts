/** Thousands of idle or slow connections: other clients are served, and the connections end at their timeouts. */
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { until } from '../../harness/gateway.ts'
import { call, chatBody, jsonHeaders } from '../../harness/http.ts'
import { answersIn, good, KEY, PATH, POST, raw, startWorld, type World } from './world.ts'

const MIB = 1_048_576
const COUNT = 1_200

let world: World
const opened: Socket[] = []

beforeAll(async () => {
  world = await startWorld({
    SLUICE_HEADERS_TIMEOUT: '3s',
    SLUICE_REQUEST_TIMEOUT: '5s',
    SLUICE_IDLE_TIMEOUT: '3s',
    SLUICE_CLIENT_STALL_TIMEOUT: '2s',
  })
  await world.servesOthers()
})
afterAll(async () => {
  for (const socket of opened) socket.destroy()
  await world?.stop()
})

interface Client {
  socket: Socket
  received: string
  closed: boolean
}

async function open(): Promise<Client> {
  const socket = connect(Number(new URL(world.gateway.base).port), '127.0.0.1')
  opened.push(socket)
  const client: Client = { socket, received: '', closed: false }
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    client.received += chunk
  })
  socket.on('close', () => {
    client.closed = true
  })
  await once(socket, 'connect')
  return client
}

async function crowd(begin: (client: Client) => void): Promise<Client[]> {
  const clients: Client[] = []
  for (let n = 0; n < COUNT; n += 100) {
    const some = await Promise.all(Array.from({ length: 100 }, open))
    for (const client of some) begin(client)
    clients.push(...some)
  }
  return clients
}

const proc = (path: string) => `/proc/${world.gateway.child.pid}/${path}`
const descriptors = () => readdirSync(proc('fd')).length
const rss = () => Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(proc('status'), 'utf8'))?.[1]) * 1_024

/** Asserts that other clients are served until `over`. */
async function servedUntil(over: () => boolean): Promise<void> {
  while (!over()) {
    const answer = await call(world.gateway.base + PATH, { body: chatBody('m'), headers: jsonHeaders(KEY) })
    expect(answer.status).toBe(200)
  }
}

it.each<[string, (client: Client) => void, ((client: Client) => void) | undefined, number]>([
  ['send nothing', () => undefined, undefined, 408],
  [
    'send headers byte by byte',
    ({ socket }) => socket.write(`${POST}\r\nx-a: `),
    ({ socket }) => socket.write('a'),
    408,
  ],
  [
    'send a body byte by byte',
    ({ socket }) =>
      socket.write(good().replace(/content-length: \d+[\s\S]*/, 'content-length: 1000\r\n\r\n{')),
    ({ socket }) => socket.write(' '),
    408,
  ],
  [
    'send a refused body byte by byte',
    ({ socket }) => socket.write(raw(POST, ['content-length: 1000'], '{')),
    ({ socket }) => socket.write(' '),
    401,
  ],
  [
    'stay connected after their answer',
    ({ socket }) => socket.write(raw('GET /x HTTP/1.1', [])),
    undefined,
    404,
  ],
])('1,200 clients that %s', async (_what, begin, dribble, status) => {
  const before = { descriptors: descriptors(), rss: rss() }
  const clients = await crowd(begin)
  const timer = setInterval(() => {
    for (const client of clients) if (!client.closed) dribble?.(client)
  }, 500)
  try {
    const deadline = performance.now() + 15_000
    let most = 0
    await servedUntil(() => {
      most = Math.max(most, rss())
      return clients.every(({ closed }) => closed) || performance.now() > deadline
    })
    expect(clients.filter(({ closed }) => !closed)).toHaveLength(0)
    expect(most - before.rss).toBeLessThan(200 * MIB)
  } finally {
    clearInterval(timer)
  }
  for (const { received } of clients) expect(answersIn(received)).toMatchObject([{ status }])
  await until(() => descriptors() <= before.descriptors + 5, 'the descriptors to be free')
})
