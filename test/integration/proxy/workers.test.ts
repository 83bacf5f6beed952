/** `sluice proxy --workers`: several processes that serve as one. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { keyHash } from '../../../contract/ids.ts'
import { envelope, relay } from '../../e2e/relay/setup.ts'
import { type FollowedAnswer, follow } from '../../harness/follow.ts'
import { until } from '../../harness/gateway.ts'
import { call, chatBody, jsonHeaders } from '../../harness/http.ts'
import { endProgram, startSluice } from '../../harness/program.ts'
import { createClock } from '../../harness/redis.ts'
import { chatAnswer, chatEvents } from '../../harness/upstream.ts'
import { type ProxyProgram, startProxyProgram } from './program.ts'
import { connectionsOf, workersOf } from './worker-processes.ts'
import {
  ACCOUNT,
  ask,
  balance,
  METERED,
  metric,
  PRICE,
  startWorld,
  statusOf,
  UNMETERED,
  type World,
} from './world.ts'

const FUNDS = 1_000_000_000
const clock = createClock()
let world: World
beforeAll(async () => {
  world = await startWorld({ clock, funds: FUNDS })
})
beforeEach(() => world.upstream.answer(chatAnswer()))
afterAll(async () => {
  await world.stop()
  clock.remove()
})

const readiness = ({ admin }: { admin: string }) => call(`${admin}/readyz`)
const requests = (status: number, code: string, domain: string) =>
  `sluice_requests_total{endpoint="chat",status="${status}",code="${code}",domain="${domain}"}`
const SERVED = requests(200, 'ok', 'none')

async function startWorkers(env: Record<string, string> = {}): Promise<ProxyProgram & { port: number }> {
  const program = await startProxyProgram(world, { SLUICE_WORKERS: '2', ...env })
  await until(async () => (await readiness(program)).status === 200, 'readiness')
  return { ...program, port: Number(new URL(program.base).port) }
}

/** Streams on connections of their own, which stop after their first event until `release`. */
async function openStreams(program: ProxyProgram, count: number, key = METERED) {
  const gate = Promise.withResolvers<void>()
  const [first = '', ...rest] = chatEvents('paid', 'one two three', {
    prompt_tokens: 1,
    completion_tokens: 3,
  })
  world.upstream.answer(async (_, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(first)
    await gate.promise
    res.end(`${rest.join('')}data: [DONE]\n\n`)
  })
  const streams: FollowedAnswer[] = []
  for (let n = 0; n < count; n++)
    streams.push(
      await follow(`${program.base}/v1/chat/completions`, {
        headers: jsonHeaders(key),
        body: chatBody('paid', { stream: true }),
      }),
    )
  await until(() => streams.every((stream) => stream.text().includes('data: ')), 'the streams to begin')
  return { streams, release: gate.resolve }
}

test('two workers share the connections evenly, are two proxies of the store, and count as one', async () => {
  const program = await startWorkers({ SLUICE_INSTANCE: 'pair' })
  const before = await balance(world)
  const { streams, release } = await openStreams(program, 8)
  expect(workersOf(program.pid).map((pid) => connectionsOf(pid, program.port))).toEqual([4, 4])
  expect(await metric(program, 'sluice_requests_in_flight')).toBe(8)
  expect(await metric(program, 'sluice_holds')).toBe(8)
  release()
  expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(Array(8).fill(true))
  world.upstream.answer(chatAnswer())
  const statuses = await Promise.all(Array.from({ length: 30 }, () => statusOf(program, METERED, 'paid')))
  expect(statuses).toEqual(Array(30).fill(200))
  expect(await statusOf(program, 'sk-unknown')).toBe(401)
  await until(async () => (await balance(world)).held === 0, 'the settles')

  await until(async () => (await metric(program, SERVED)) === 38, 'all to be counted')
  expect(await metric(program, requests(401, 'unauthorized', 'caller'))).toBe(1)
  expect(await metric(program, 'sluice_workers')).toBe(2)
  expect(await metric(program, 'sluice_store_available')).toBe(1)
  expect((await balance(world)).posted).toBe(before.posted - 38 * PRICE)
  const position = await world.store.config.position()
  expect(await metric(program, 'sluice_table_generation')).toBe(position.generation)

  const { instances } = JSON.parse((await call(`${program.admin}/status`)).text)
  const common = { role: 'proxy', ...position, ready: true, store: 'reachable', port: program.port }
  expect(instances).toEqual([
    { ...common, instance: 'pair-1' },
    { ...common, instance: 'pair-2' },
  ])
  const beats = async () => (await world.store.config.heartbeats(60_000)).map(({ proxy }) => proxy)
  expect(await beats()).toEqual(expect.arrayContaining(['pair-1', 'pair-2']))
  expect((await call(`${program.admin}/healthz`)).status).toBe(200)
  const { lines } = JSON.parse((await call(`${program.admin}/logs?limit=100&status=200`)).text)
  expect(lines.length).toBeGreaterThanOrEqual(38)
  expect((await call(`${program.admin}/logs?limit=x`)).status).toBe(400)
  const explained = await call(`${program.admin}/explain?keyHash=${keyHash(METERED)}&model=paid`)
  expect(JSON.parse(explained.text)).toMatchObject({
    route: 'paid',
    notes: expect.arrayContaining([expect.stringMatching(/^2 workers serve/)]),
  })

  process.kill(program.pid, 'SIGTERM')
  expect(await program.program.exited).toBe(0)
  expect(await beats()).not.toEqual(expect.arrayContaining([expect.stringMatching(/^pair-/)]))
  // Each line is whole, whichever worker wrote it.
  const output = program.program.output().trim().split('\n')
  const logged = output.map((line) => JSON.parse(line))
  expect(logged.filter(({ status }) => status === 200).length).toBe(38)
})

test('it is ready when every worker is', async () => {
  world.redis.pause()
  try {
    const program = await startProxyProgram(world, { SLUICE_WORKERS: '2' })
    const { status, text } = await readiness(program)
    expect([status, text]).toEqual([503, expect.stringMatching(/^worker 1: /)])
    expect((await call(`${program.admin}/healthz`)).status).toBe(200)
    world.redis.resume()
    await until(async () => (await readiness(program)).status === 200, 'readiness')
    const [, second = 0] = workersOf(program.pid)
    process.kill(second, 'SIGSTOP')
    expect(await readiness(program)).toMatchObject({
      status: 503,
      text: 'worker 2: worker 2 does not answer\n',
    })
    expect(await metric(program, 'sluice_workers')).toBe(2)
    process.kill(second, 'SIGCONT')
    await until(async () => (await readiness(program)).status === 200, 'readiness')
  } finally {
    world.redis.resume()
  }
})

test.each([
  'to all processes, as a service manager sends it,',
  'to the first process, and then to the workers,',
])('SIGTERM %s cuts no stream', async (to) => {
  const program = await startWorkers()
  const workers = workersOf(program.pid)
  const { streams, release } = await openStreams(program, 6)
  process.kill(to.startsWith('to all') ? -program.pid : program.pid, 'SIGTERM')
  await until(async () => (await readiness(program)).text === 'draining\n', 'the drain')
  const isRefused = () =>
    call(`${program.base}/v1/models`, { signal: AbortSignal.timeout(1_000) }).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
    )
  await until(isRefused, 'the port to be closed')
  if (to.startsWith('to the first')) for (const worker of workers) process.kill(worker, 'SIGTERM')
  // Time for a worker to do what the signal says.
  await delay(200)
  release()
  expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(Array(6).fill(true))
  for (const stream of streams) expect(stream.text()).toContain('data: [DONE]')
  expect(await program.program.exited).toBe(0)
  expect((await balance(world)).held).toBe(0)
  expect(program.program.output().match(/"outcome":"finished"/g)).toHaveLength(6)
})

test('a killed worker takes its own requests with it, is started again, and loses no count', async () => {
  const program = await startWorkers()
  const { streams, release } = await openStreams(program, 4)
  expect(await metric(program, 'sluice_requests_in_flight')).toBe(4)
  world.upstream.answer(chatAnswer())
  for (let n = 0; n < 10; n++) expect(await statusOf(program, METERED, 'paid')).toBe(200)
  await until(async () => (await metric(program, SERVED)) === 10, 'all to be counted')
  const [killed = 0, other = 0] = workersOf(program.pid)

  process.kill(killed, 'SIGKILL')
  const [first, second, third, fourth] = streams
  // Connections go to the workers in turn.
  const cut = (await Promise.race([first?.ended, second?.ended])) === false
  expect(cut).toBe(true)
  await program.program.printed(/"signal":"SIGKILL","restartMs":100,"msg":"a worker ended/)
  expect(await metric(program, SERVED)).toBe(10)
  await until(() => workersOf(program.pid).length === 2, 'another worker')
  await until(async () => (await readiness(program)).status === 200, 'readiness')
  expect(workersOf(program.pid)).toContain(other)
  release()
  const ended = await Promise.all([first, second, third, fourth].map((stream) => stream?.ended))
  expect(ended.filter((whole) => whole).length).toBe(2)
  for (let n = 0; n < 4; n++) expect(await statusOf(program, METERED, 'paid')).toBe(200)
  await until(async () => (await metric(program, SERVED)) === 10 + 2 + 4, 'all to be counted')

  await until(async () => (await balance(world)).held === 2 * PRICE, 'the settles of the others')
  clock.advance(31_000)
  expect(await world.store.ledger.reap(ACCOUNT, 10)).toHaveLength(2)
  expect((await balance(world)).held).toBe(0)
})

test('a revoked key is refused by every worker, and its streams end in all of them', async () => {
  const program = await startWorkers()
  const { streams } = await openStreams(program, 4)
  const counts = workersOf(program.pid).map((pid) => connectionsOf(pid, program.port))
  expect(counts).toEqual([2, 2])
  await world.publish({ keys: { put: new Map(), remove: [keyHash(METERED)] } })
  try {
    await Promise.all(streams.map(({ ended }) => ended))
    for (const stream of streams) expect(stream.text()).toContain('unauthorized')
    world.upstream.answer(chatAnswer())
    for (let n = 0; n < 4; n++) expect((await ask(program, METERED, 'paid')).status).toBe(401)
    for (let n = 0; n < 4; n++) expect((await ask(program, UNMETERED)).status).toBe(200)
  } finally {
    await world.publish()
  }
})

test('the relay of a worker calls neither port of the gateway', async () => {
  const program = await startWorkers({ SLUICE_RELAY_ALLOW: 'localhost' })
  const relayed = (origin: string) => relay(program, envelope(`${origin}/metrics`))
  for (const origin of [program.base, program.admin])
    expect(await relayed(origin)).toMatchObject({ status: 400, code: 'address_refused' })
  expect(await relayed(new URL(world.upstream.baseURL).origin)).toMatchObject({ status: 200 })
})

test('a connection that no worker has room for is closed, and not passed around until one has', async () => {
  const program = await startWorkers({ SLUICE_MAX_CONNECTIONS: '1' })
  // Each worker answers 100 more at a time with a refusal, and keeps them for a second if their client does.
  const answers = Array.from({ length: 600 }, async () => {
    const socket = connect({ port: program.port, host: '127.0.0.1', allowHalfOpen: true })
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => undefined)
    const [event] = await Promise.race([
      once(socket, 'data').then(() => ['refusal']),
      once(socket, 'close').then(() => ['closed']),
      once(socket, 'end').then(() => ['closed']),
    ])
    return event
  })
  const settled: unknown[] = []
  for (const answer of answers) void answer.then((event) => settled.push(event))
  await until(() => settled.length >= answers.length - 2, 'all but one of each worker to be settled')
  expect(settled).toContain('refusal')
  expect(settled).toContain('closed')
})

test('a port that is taken, and settings that no worker can use, are reported once', async () => {
  const program = await startWorkers()
  const refused = async (env: Record<string, string>) => {
    const own = startSluice({ SLUICE_WORKERS: '3', ...env }, ['proxy'])
    const code = await own.exited
    await endProgram(own)
    return {
      code,
      complaints: own
        .output()
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('{')),
    }
  }
  const redis = { SLUICE_REDIS_URL: world.redis.url, SLUICE_SEALING_KEYS_FILE: world.sealingKeys }
  expect(await refused({ ...redis, SLUICE_PORT: `${program.port}` })).toEqual({
    code: 1,
    complaints: [
      expect.stringContaining(`port ${program.port} is taken; choose another one with SLUICE_PORT`),
    ],
  })
  const adminPort = new URL(program.admin).port
  expect(await refused({ ...redis, SLUICE_ADMIN_PORT: adminPort })).toEqual({
    code: 1,
    complaints: [
      expect.stringContaining(`port ${adminPort} is taken; choose another one with SLUICE_ADMIN_PORT`),
    ],
  })
  const { code, complaints } = await refused({})
  expect([code, complaints.filter((line) => line.startsWith('SLUICE_REDIS_URL')).length]).toEqual([2, 1])
})

test.each(['0', '-1', 'x', '1000', '1.5'])('SLUICE_WORKERS=%s is refused', async (workers) => {
  const program = startSluice({ SLUICE_WORKERS: workers }, ['proxy'])
  expect(await program.exited).toBe(2)
  await endProgram(program)
  expect(program.output()).toBe('SLUICE_WORKERS: must be a whole number from 1 to 64\n')
})
