/** Key, path, query and prompt of a relay call are kept nowhere, however the call ends. */
import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { httpServer, tcpServer } from '../../../proxy/outbound/testing.ts'
import { type RunningGateway, until } from '../../harness/gateway.ts'
import { type HeapWatch, watchHeap } from '../../harness/heap.ts'
import { call } from '../../harness/http.ts'
import { freePort } from '../../harness/program.ts'
import { apiKey } from '../../harness/resources.ts'
import { startProxyProgram } from '../../integration/proxy/program.ts'
import { metric, startWorld, UNMETERED } from '../../integration/proxy/world.ts'
import { envelope, openRelay, relay, startRelay } from './setup.ts'

const SECRETS = {
  key: 'canary-key-7f3a91',
  path: 'canary-path-5b20c4',
  query: 'canary-query-e81d67',
  user: 'canary-user-19fe02',
  prompt: 'canary-prompt-c45a38',
  format: 'canary-format-messages',
  answer: 'canary-answer-d0b7e6',
}
/** API key of the gateway, in x-api-key. */
const CALLER = 'canary-caller-66aa10'
const ENV = {
  SLUICE_LOG_LEVEL: 'debug',
  SLUICE_RELAY_ALLOW: 'localhost',
  SLUICE_RELAY_REQUIRE_API_KEY: 'true',
  SLUICE_RELAY_TIMEOUT: '2s',
}

/** Names of the secrets in a text, in plain, URL, base64 or hexadecimal form. */
function found(text: string): string[] {
  const forms = (value: string) => [
    value,
    encodeURIComponent(value),
    Buffer.from(value).toString('base64').slice(0, 20),
    Buffer.from(value).toString('hex'),
  ]
  const all = Object.entries({ ...SECRETS, caller: CALLER })
  return all.filter(([, value]) => forms(value).some((form) => text.includes(form))).map(([name]) => name)
}

/** Makes calls with every possible end; returns the gateway's own answers. */
async function exercise(gateway: Pick<RunningGateway, 'base' | 'admin'>, caller: string): Promise<string[]> {
  const ownAnswers: string[] = []
  const headers = {
    authorization: `Bearer ${SECRETS.key}`,
    'x-api-key': caller,
    'content-type': 'application/json',
  }
  const body = `{"model":"${SECRETS.prompt}","stream":true,"messages":[{"content":"${SECRETS.prompt}"}]}`
  const at = (origin: string) =>
    envelope(`${origin}/${SECRETS.path}?key=${SECRETS.query}`, body, SECRETS.format)
  const send = async (text: string, more: Record<string, string> = {}) => {
    const answer = await relay(gateway, text, { headers: { ...headers, ...more } }).catch(() => undefined)
    if (answer?.code !== undefined) ownAnswers.push(JSON.stringify(answer.headers), answer.bytes.toString())
    return answer?.status ?? 0
  }
  const quote =
    (status: number) => (req: { headers: object; url?: string | undefined }, res: ServerResponse) =>
      void res
        .writeHead(status, {
          'x-request-id': SECRETS.answer,
          'retry-after': SECRETS.key,
          server: SECRETS.key,
        })
        .end(
          JSON.stringify({
            error: { message: `${SECRETS.answer} ${req.url} ${JSON.stringify(req.headers)}` },
          }),
        )

  const statuses = []
  for (const status of [200, 307, 401, 500])
    statuses.push(await send(at((await httpServer(quote(status))).origin)))
  expect(statuses).toEqual([200, 307, 401, 500])

  // Refused calls, some of them for invalid URLs.
  for (const origin of [
    'http://10.0.0.1',
    'http://no.such.name.invalid',
    `http://${SECRETS.user}:${SECRETS.key}@127.0.0.1`,
    'http://redis',
    'ftp://example.com',
    SECRETS.path,
    `http://127.0.0.1 ${SECRETS.path}`,
  ])
    expect(await send(at(origin))).toBe(400)
  expect(await send(at('http://127.0.0.1:9').slice(0, -2))).toBe(400)
  expect(await send(at('http://127.0.0.1:9'), { 'x-api-key': `${CALLER}-not` })).toBe(401)
  expect(await send(at('http://127.0.0.1:9'), { authorization: `Basic ${SECRETS.key}` })).toBe(401)
  expect(await send(at('http://127.0.0.1:9'), { 'content-type': `text/${SECRETS.key}` })).toBe(415)

  // Failed calls.
  const noise = await tcpServer((socket) => void socket.end(`${SECRETS.answer} ${SECRETS.key}\r\n`))
  const cut = await tcpServer(
    (socket) => void socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n${SECRETS.key}`),
  )
  const silent = await tcpServer(() => undefined)
  expect(await send(at(`http://127.0.0.1:${await freePort()}`))).toBe(502)
  expect(await send(at(noise.origin))).toBe(502)
  expect(await send(at(noise.origin.replace('http', 'https')))).toBe(502)
  expect(await send(at(cut.origin))).toBe(0)
  expect(await send(at(silent.origin))).toBe(504)

  // Clients that leave before and during the answer.
  const leaving = new AbortController()
  const left = openRelay(gateway, at(silent.origin), { headers, signal: leaving.signal }).catch(() => 'left')
  await until(() => silent.sockets.size === 1, 'the call')
  leaving.abort()
  expect(await left).toBe('left')
  const endless = await httpServer((_req, res) => void res.write(SECRETS.answer))
  ;(await openRelay(gateway, at(endless.origin), { headers })).destroy()
  await until(async () => (await metric(gateway, 'sluice_requests_in_flight')) === 0, 'the end of all')
  return ownAnswers
}

/** The pages of the admin port. */
async function pagesOf({ admin }: Pick<RunningGateway, 'admin'>): Promise<string> {
  const paths = ['/metrics', '/status', '/resources', '/problems', '/logs', '/healthz', '/readyz']
  const pages = await Promise.all(paths.map((path) => call(admin + path)))
  expect(pages.filter(({ status }) => status === 200).length).toBeGreaterThan(3)
  return pages.map(({ text }) => text).join('\n')
}

let gateway: RunningGateway
let heap: HeapWatch
beforeAll(async () => {
  heap = watchHeap()
  gateway = await startRelay({ ...ENV, ...heap.env }, { 'keys.yaml': apiKey('caller', CALLER) })
})
afterAll(async () => {
  await gateway.stop()
  heap.remove()
})

test('are not in logs, metrics, pages and errors', async () => {
  const ownAnswers = await exercise(gateway, CALLER)
  expect(ownAnswers.length).toBeGreaterThan(15)
  // There is a line for each call, so the log is complete.
  const lines = gateway.requests().filter(({ endpoint }) => endpoint === 'relay')
  expect(lines.length).toBeGreaterThan(15)
  expect(found(ownAnswers.join('\n'))).toEqual([])
  expect(found(await pagesOf(gateway))).toEqual([])
  expect(found(gateway.output())).toEqual([])
})

test('are not in memory after the calls', async () => {
  // During a call they are found, which proves that the search works.
  const silent = await tcpServer(() => undefined)
  const leaving = new AbortController()
  const headers = {
    authorization: `Bearer ${SECRETS.key}`,
    'x-api-key': CALLER,
    'content-type': 'application/json',
  }
  const body = envelope(`${silent.origin}/${SECRETS.path}`, `{"model":"${SECRETS.prompt}"}`)
  const waiting = openRelay(gateway, body, { headers, signal: leaving.signal }).catch(() => 'left')
  await until(() => silent.sockets.size === 1, 'the call')
  expect(foundExceptCaller(await heap.strings(gateway.child))).toEqual(
    expect.arrayContaining(['key', 'path']),
  )
  leaving.abort()
  await waiting

  await exercise(gateway, CALLER)
  expect(foundExceptCaller(await heap.strings(gateway.child))).toEqual([])
})

/** Without the caller's key, which the gateway stores. */
const foundExceptCaller = (strings: string[]) => found(strings.join('\n')).filter((name) => name !== 'caller')

test('are not in the store', async () => {
  const world = await startWorld()
  try {
    const proxy = await startProxyProgram(world, ENV)
    await until(async () => (await call(`${proxy.admin}/readyz`)).status === 200, 'readiness')
    await exercise(proxy, UNMETERED)
    const stored = await readAllKeys(world.redis)
    expect(stored.length).toBeGreaterThan(3)
    expect(found(JSON.stringify(stored))).toEqual([])
    expect(found(await pagesOf(proxy))).toEqual([])
    expect(found(proxy.program.output())).toEqual([])
  } finally {
    await world.stop()
  }
})

/** Names and values of all keys of a Redis. */
async function readAllKeys({ command }: { command(name: string, ...args: string[]): Promise<unknown> }) {
  const keys = (await command('KEYS', '*')) as string[]
  const values = keys.map(async (key) => [key, await readKey(command, key)])
  return Promise.all(values)
}

async function readKey(command: (name: string, ...args: string[]) => Promise<unknown>, key: string) {
  const type = await command('TYPE', key)
  switch (type) {
    case 'string':
      return command('GET', key)
    case 'hash':
      return command('HGETALL', key)
    case 'set':
      return command('SMEMBERS', key)
    case 'zset':
      return command('ZRANGE', key, '0', '-1', 'WITHSCORES')
    case 'list':
      return command('LRANGE', key, '0', '-1')
    case 'stream':
      return command('XRANGE', key, '-', '+')
    default:
      throw new Error(`a key of type ${String(type)}`)
  }
}
