/**
 * Tens of thousands of made-up keys, 50,000 in `make test-all`: all get one answer, Redis has a bounded cost, and
 * callers with a good key notice nothing.
 */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { keyHash } from '../../../contract/ids.ts'
import { testKey } from '../../../proxy/auth/testing.ts'
import { startGateway, until } from '../../harness/gateway.ts'
import { call } from '../../harness/http.ts'
import { IMPATIENT } from '../../harness/redis.ts'
import { connection, exchange } from '../../harness/socket.ts'
import { type ProxyProgram, startProxyProgram } from '../proxy/program.ts'
import { METERED, metric, startWorld, UNMETERED, type World } from '../proxy/world.ts'
import { allOf, guess, KeyClient, misspelt } from './bad-keys.ts'

const GUESSES = process.env.CHAOS_ROUNDS === undefined ? 20_000 : 50_000
/** See proxy/table/key-directory.ts: look-ups until the list of all keys must be loaded, and commands for each. */
const [BURST, COMMANDS] = [2_000, 2]
/** See proxy/telemetry/request-log.ts. */
const LINES_A_SECOND = 20
/** Heartbeats, positions and changes, of the proxy and of the test that stands in for the controller. */
const HOUSEKEEPING_A_SECOND = 20
/** However many guesses there are: V8's space for new objects, 64 MB, and buffers and compiled code. */
const GROWTH_BYTES = 220_000_000

let world: World
const client = new KeyClient()
beforeAll(async () => {
  world = await startWorld()
  for (let n = 0; n < 2_000; n++) world.keys.set(keyHash(firstUsed(n)), testKey({ name: `first-${n}` }))
  await world.publish()
})
afterAll(async () => {
  client.close()
  await world.stop()
})

/** Good keys that no proxy has seen. */
const firstUsed = (n: number) => `sk-never-used-before-${n}`
const models = ({ base }: Pick<ProxyProgram, 'base'>) => `${base}/v1/models`
const bearer = (key: string) => ['authorization', `Bearer ${key}`]

async function started(env: Record<string, string> = {}): Promise<ProxyProgram> {
  const proxy = await startProxyProgram(world, env)
  await until(async () => (await call(`${proxy.admin}/readyz`)).status === 200, 'readiness')
  return proxy
}

/** Calls of commands so far, by INFO. */
async function calls(...names: string[]): Promise<number> {
  const info = String(await world.redis.command('INFO', 'commandstats'))
  const of = (name: string) => Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(info)?.[1] ?? 0)
  return names.reduce((sum, name) => sum + of(name), 0)
}
const lookUps = () => calls('evalsha', 'evalsha_ro', 'eval', 'eval_ro')

/** Uses good keys one after the other until stopped: known ones and, in turn, one never used before. */
function useGoodKeys(proxy: ProxyProgram) {
  const used: { key: string; status: number; ms: number }[] = []
  let over = false
  const loop = (async () => {
    for (let n = 0; !over; n++) {
      for (const key of [UNMETERED, METERED, firstUsed(n % 2_000)]) {
        const { status, ms } = await client.get(models(proxy), bearer(key))
        used.push({ key, status, ms })
      }
    }
  })()
  return async () => {
    over = true
    await loop
    return used
  }
}

test('a flood over Redis', async () => {
  const proxy = await started(IMPATIENT)
  expect((await client.get(models(proxy), bearer(UNMETERED))).status).toBe(200)
  // Allocates buffers of connections and compiles code beforehand.
  await client.flood(models(proxy), 0, 2_000, UNMETERED)
  const rss = await metric(proxy, 'process_resident_memory_bytes')
  const [lookedUp, logged, began] = [await lookUps(), await calls('xadd'), performance.now()]

  const stop = useGoodKeys(proxy)
  const flood = client.flood(models(proxy), 2_000, 2_000 + GUESSES, UNMETERED)
  // Created in the middle of the flood, by its own publication.
  const fresh = 'sk-made-in-the-flood'
  const put = new Map([[keyHash(fresh), testKey({ name: 'fresh' })]])
  await world.publish({ keys: { put, remove: [] } })
  const isAccepted = async () => (await client.get(models(proxy), bearer(fresh))).status === 200
  await until(isAccepted, 'a key created meanwhile')
  const answers = await flood
  const used = await stop()
  const seconds = (performance.now() - began) / 1_000

  // Some may be 503: on a machine that stalls, Redis may not answer in time.
  const [[same = '', count = 0] = [], ...others] = [...answers].sort(([, a], [, b]) => b - a)
  expect(same).toMatch(/^\[401,/)
  expect(others.filter(([answer]) => !answer.startsWith('[503,'))).toEqual([])
  expect(count).toBeGreaterThan(GUESSES / 2)
  expect(used.length).toBeGreaterThan(20)
  const refused = used.filter(({ status }) => status !== 200)
  expect(refused.filter(({ key, status }) => key === UNMETERED || status !== 503)).toEqual([])
  expect(refused.length).toBeLessThan(used.length / 2)
  const times = used.map(({ ms }) => ms).sort((a, b) => a - b)
  const cost = (await lookUps()) - lookedUp
  const allowed = COMMANDS * (BURST + used.length)
  expect(cost).toBeLessThan(allowed + HOUSEKEEPING_A_SECOND * seconds)
  expect((await calls('xadd')) - logged).toBeLessThan(LINES_A_SECOND * (seconds + 1) + used.length + 10)
  expect((await metric(proxy, 'process_resident_memory_bytes')) - rss).toBeLessThan(GROWTH_BYTES)
  console.log(
    `${GUESSES} guesses in ${seconds.toFixed(1)} s: ${others.length} others, ${refused.length} good ones refused, ${cost} commands, median of ${used.length} good ${times[Math.floor(times.length / 2)]?.toFixed(1)} ms, slowest ${times.at(-1)?.toFixed(1)} ms`,
  )
}, 90_000)

test('malformed variants of a good key get the same answer, over HTTP and in WebSocket handshakes', async () => {
  const proxy = await started()
  const bad = [...misspelt(UNMETERED), ...Array.from({ length: 200 }, (_, n) => guess(n, UNMETERED))]
  const asked = async (headers: readonly string[]) => (await client.get(models(proxy), headers)).all
  const refusals = await Promise.all(bad.map(({ headers }) => asked(headers)))
  expect([...new Set(refusals)]).toEqual([expect.stringMatching(/^\[401,/)])

  const handshake = async (headers: readonly string[]) => {
    const { status, headers: answerHeaders, text } = await exchange(proxy.base, handshakeBytes(headers))
    return allOf(status, answerHeaders, text)
  }
  const shaken = await Promise.all(bad.map(({ headers }) => handshake(headers)))
  expect([...new Set(shaken)]).toEqual([expect.stringMatching(/^\[401,/)])
  expect(await opens(proxy, bearer(UNMETERED))).toBe(true)
})

test('Redis fails midway: keys to look up are 503, never 401, and known keys are served', async () => {
  const proxy = await started(IMPATIENT)
  expect((await client.get(models(proxy), bearer(UNMETERED))).status).toBe(200)
  // Some are looked up, some come from the list of all keys.
  const seen = Array.from({ length: 3_000 }, (_, n) => guess(n, UNMETERED))
  await client.flood(models(proxy), 0, seen.length, UNMETERED)
  world.redis.pause()
  onTestFinished(() => world.redis.resume())
  await until(async () => (await metric(proxy, 'sluice_store_available')) === 0, 'the outage to be noticed')
  const statusOf = async (headers: readonly string[]) => (await client.get(models(proxy), headers)).status
  for (let turn = 0; turn < 2; turn++) {
    for (const { shape, headers, costs } of seen.slice(turn * 600, turn * 600 + 600))
      expect([shape, await statusOf(headers)]).toEqual([shape, costs ? 503 : 401])
    for (let n = 0; n < 100; n++) {
      const { shape, headers, costs } = guess(10_000 + 100 * turn + n, UNMETERED)
      expect([shape, await statusOf(headers)]).toEqual([shape, costs ? 503 : 401])
      expect(await statusOf(bearer(UNMETERED))).toBe(200)
    }
    expect(await statusOf(bearer(firstUsed(turn)))).toBe(503)
  }
  world.redis.resume()
  await until(async () => (await statusOf(bearer(firstUsed(0)))) === 200, 'a good key')
  await until(async () => (await statusOf(bearer('sk-unknown'))) === 401, 'a bad key')
  // On a slow machine Redis may time out for some of them.
  const after = [...(await client.flood(models(proxy), 20_000, 21_000, UNMETERED)).keys()]
  expect(after.filter((answer) => !/^\[(401|503),/.test(answer))).toEqual([])
  expect(after.filter((answer) => answer.startsWith('[401,'))).toHaveLength(1)
})

test('a flood without Redis', async () => {
  const files = {
    'all.yaml': [
      'apiVersion: sluice.dev/v1alpha1',
      'kind: ApiKey',
      'metadata: { name: good }',
      `spec: { hashes: ["${keyHash(UNMETERED)}"] }`,
    ].join('\n'),
  }
  const gateway = await startGateway(files)
  onTestFinished(() => gateway.stop())
  await until(async () => (await client.get(models(gateway), bearer(UNMETERED))).status === 200, 'the key')
  const flood = client.flood(models(gateway), 0, 10_000, UNMETERED)
  for (let n = 0; n < 100; n++)
    expect((await client.get(models(gateway), bearer(UNMETERED))).status).toBe(200)
  expect([...(await flood).entries()]).toEqual([[expect.stringMatching(/^\[401,/), 10_000]])
})

test('guessing tokens of the admin port gains nothing either', async () => {
  const token = 'a-token-of-the-operator'
  const { admin } = await started({ SLUICE_ADMIN_TOKEN: token })
  const ask = (value: string) => client.get(`${admin}/status`, ['x-sluice-admin-token', value])
  const bad = Array.from({ length: 2_000 }, (_, n) =>
    n % 2 === 0 ? `${token.slice(0, n % token.length)}-${n}` : `${token}${n}`,
  )
  const answers = new Set<string>()
  for (let n = 0; n < bad.length; n += 50) {
    for (const { all } of await Promise.all(bad.slice(n, n + 50).map(ask))) answers.add(all)
    expect((await ask(token)).status).toBe(200)
  }
  expect([...answers]).toEqual([expect.stringMatching(/^\[403,/)])
})

function handshakeBytes(headers: readonly string[]): Buffer {
  const pairs = headers.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${headers[i + 1]}`] : []))
  const lines = [
    'GET /v1/responses HTTP/1.1',
    'host: localhost',
    'connection: Upgrade',
    'upgrade: websocket',
    'sec-websocket-version: 13',
    'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
    ...pairs,
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}

async function opens({ base }: ProxyProgram, headers: readonly string[]): Promise<boolean> {
  const { socket, received } = await connection(base, handshakeBytes(headers))
  onTestFinished(() => void socket.destroy())
  await until(() => received().includes('\r\n\r\n'), 'an answer')
  return received().startsWith('HTTP/1.1 101 ')
}
