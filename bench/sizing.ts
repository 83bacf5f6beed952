/**
 * The figures of docs/sizing.md: memory of Redis for each key, account and route, and of a proxy for each key that it
 * serves and each stream in flight. Linux only (/proc).
 *
 *     node bench/sizing.ts [<keys> [<streams>]]
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startController } from '../controller/main.ts'
import { createRedisStore } from '../store/redis/index.ts'
import { readKeyRing } from '../store/sealing.ts'
import { endProgram, freePort, type Program, startSluice } from '../test/harness/program.ts'
import { type RunningRedis, startRedis } from '../test/harness/redis.ts'
import { account, apiKey, channel, route } from '../test/harness/resources.ts'
import { memoryOf } from '../test/scale/process.ts'

const [KEYS = 10_000, STREAMS = 500] = process.argv.slice(2).map(Number)
const ROUTES = 200
const ACCOUNTS = KEYS / 10
const log = { debug() {}, info() {}, warn() {}, error: console.error }
const dir = mkdtempSync(join(tmpdir(), 'sluice-sizing-'))
const keyOf = (n: number) => `sk-sizing-${String(n).padStart(24, '0')}`
const many = (count: number, text: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => text(n)).join('')

async function usedMemory(redis: RunningRedis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(String(await redis.command('INFO', 'memory')))?.[1])
}

/** Answers every chat request with the beginning of a stream, which never ends. */
async function startSilentUpstream(): Promise<{ url: string; close(): void }> {
  const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }
  const first = {
    ...chunk,
    choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello' }, finish_reason: null }],
  }
  const server = createServer((_, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(`data: ${JSON.stringify(first)}\n\n`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () => server.closeAllConnections(),
  }
}

async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  for (const end = Date.now() + 300_000; !(await holds()); await delay(200))
    if (Date.now() > end) throw new Error(`${what} took longer than five minutes`)
}

const running: Program[] = []

async function startProxy(redis: RunningRedis, keys: string): Promise<{ program: Program; port: number }> {
  const [port, admin] = [await freePort(), await freePort()]
  const program = startSluice(
    {
      SLUICE_HOST: '127.0.0.1',
      SLUICE_PORT: `${port}`,
      SLUICE_ADMIN_PORT: `${admin}`,
      SLUICE_REDIS_URL: redis.url,
      SLUICE_SEALING_KEYS_FILE: keys,
      SLUICE_INSTANCE: 'sizing',
    },
    ['proxy'],
  )
  running.push(program)
  const ready = () =>
    fetch(`http://127.0.0.1:${admin}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  await until(ready, 'the proxy')
  return { program, port }
}

/** An idle process gives garbage back step by step, with pauses shorter than this. */
const SETTLED_MS = 20_000

/** Resident memory in MB once it no longer falls. */
async function memory(program: Program): Promise<number> {
  const pid = program.child.pid ?? 0
  let least = memoryOf(pid).rss
  for (let since = Date.now(); Date.now() - since < SETTLED_MS; await delay(1_000)) {
    const { rss } = memoryOf(pid)
    if (rss > least - 1) continue
    least = rss
    since = Date.now()
  }
  return memoryOf(pid).rss
}

/** Repeats a 503, which a busy machine may cause. */
async function serveOnce(port: number, key: string): Promise<void> {
  const headers = { authorization: `Bearer ${key}` }
  await until(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/models`, { headers })
    await answer.arrayBuffer()
    if (answer.status !== 200 && answer.status !== 503) throw new Error(`/v1/models answers ${answer.status}`)
    return answer.status === 200
  }, 'a key')
}

async function openStream(port: number): Promise<IncomingMessage> {
  const body = JSON.stringify({ model: 'model-0', stream: true, messages: [{ role: 'user', content: 'Hi' }] })
  const headers = { authorization: `Bearer ${keyOf(0)}`, 'content-type': 'application/json' }
  const sent = request({
    port,
    host: '127.0.0.1',
    path: '/v1/chat/completions',
    method: 'POST',
    headers,
    agent: false,
  })
  sent.end(body)
  const [answer]: IncomingMessage[] = await once(sent, 'response')
  if (answer?.statusCode === 503) return openStream(port)
  if (answer?.statusCode !== 200) throw new Error(`a stream got ${answer?.statusCode}`)
  await once(answer, 'data')
  return answer
}

async function main(redis: RunningRedis): Promise<void> {
  const keys = join(dir, 'keys')
  writeFileSync(keys, `k1:${randomBytes(32).toString('base64')}\n`)
  const folder = join(dir, 'config')
  mkdirSync(folder)
  const upstream = await startSilentUpstream()
  writeFileSync(join(folder, 'base.yaml'), channel('up', upstream.url) + route('model-0', 'model-0', ['up']))
  const store = createRedisStore({ url: redis.url, sealing: readKeyRing(keys, log), log, instance: 'sizing' })
  const controller = await startController({ store, dir: folder, namespace: 'default', env: {}, log })
  await controller.ready
  let before = await usedMemory(redis)
  const grow = async (name: string, count: number, text: string, pattern: string) => {
    writeFileSync(join(folder, `${name}.yaml`), text)
    const stored = async () =>
      Number(await redis.command('EVAL', `return #redis.call('KEYS', ARGV[1])`, 0, pattern))
    await until(async () => (await stored()) >= count, name)
    await delay(2_000)
    const after = await usedMemory(redis)
    console.log(`Redis, for each of ${count} ${name}: ${((after - before) / count).toFixed(0)} bytes`)
    before = after
  }
  await grow(
    'accounts',
    ACCOUNTS,
    many(ACCOUNTS, (n) => account(`team-${n}`, '100')),
    'sluice:{cfg}:account:*',
  )
  const first = await startProxy(redis, keys)
  const empty = await memory(first.program)
  await endProgram(first.program)
  await grow(
    'keys',
    KEYS,
    many(KEYS, (n) => apiKey(`key-${n}`, keyOf(n), { accountRef: { name: `team-${n % ACCOUNTS}` } })),
    'sluice:{cfg}:key:*',
  )
  const { program, port } = await startProxy(redis, keys)
  const fresh = await memory(program)
  console.log(
    `a proxy: ${empty.toFixed(0)} MB without keys, ${fresh.toFixed(0)} MB with ${KEYS} keys that it has not served`,
  )
  const streams: IncomingMessage[] = []
  while (streams.length < STREAMS) streams.push(await openStream(port))
  const busy = await memory(program)
  console.log(
    `for each of ${STREAMS} streams in flight: ${(((busy - fresh) * 1_000) / STREAMS).toFixed(0)} kB`,
  )
  for (const stream of streams) stream.destroy()
  for (let n = 0; n < KEYS; n += 10)
    await Promise.all(Array.from({ length: 10 }, (_, i) => serveOnce(port, keyOf(n + i))))
  const served = await memory(program)
  console.log(`the proxy, after it has served all of them: ${served.toFixed(0)} MB`)
  await endProgram(program)
  const size = Number(await redis.command('STRLEN', 'sluice:{cfg}:table'))
  writeFileSync(
    join(folder, 'routes.yaml'),
    many(
      ROUTES,
      (n) => channel(`up-${n}`, upstream.url) + route(`model-x${n}`, `model-x${n}`, [`up-${n}`, 'up']),
    ),
  )
  await until(async () => Number(await redis.command('STRLEN', 'sluice:{cfg}:table')) > size * 10, 'routes')
  const grown = Number(await redis.command('STRLEN', 'sluice:{cfg}:table'))
  console.log(
    `the table, for each of ${ROUTES} routes with a channel: ${((grown - size) / ROUTES).toFixed(0)} bytes`,
  )
  await controller.stop()
  upstream.close()
}

const redis = await startRedis()
try {
  await main(redis)
} finally {
  for (const program of running) await endProgram(program)
  await redis.stop()
  rmSync(dir, { recursive: true, force: true })
}
process.exit()
