/** A Redis that speaks TLS and requires client certificates. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Store, StoreUnavailable } from '../../../store/contract.ts'
import { createRedisStore } from '../../../store/redis/index.ts'
import { readTlsFiles, type TlsFiles } from '../../../store/redis/tls.ts'
import { until } from '../../harness/gateway.ts'
import { type Authority, createAuthority } from '../../harness/pki.ts'
import { freePort } from '../../harness/program.ts'
import { type RunningRedis, startRedis } from '../../harness/redis.ts'
import { keyRing, silent } from './redis.ts'

const KEY = Buffer.alloc(32, 1).toString('base64')
const SLOTS = 16_384

let dir: string
let authority: Authority
let other: Authority
let redis: RunningRedis
let port: number
const stores: Store[] = []

const put = (name: string, text: string) => {
  writeFileSync(join(dir, name), text)
  return join(dir, name)
}

/** Files of server and clients, always under the same names, as in a mounted Secret. */
function issue(from: Authority): Required<TlsFiles> {
  const [server, client] = [from.issue('redis.test', '127.0.0.1'), from.issue('sluice')]
  put('server.crt', server.cert)
  put('server.key', server.key)
  return {
    ca: put('ca.crt', from.ca),
    cert: put('client.crt', client.cert),
    key: put('client.key', client.key),
  }
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-redis-tls-'))
  authority = createAuthority()
  other = createAuthority()
  issue(authority)
  port = await freePort()
  const bus = await freePort()
  const tls = ['--tls-port', `${port}`, '--tls-cluster', 'yes', '--tls-auth-clients', 'yes']
  const files = [
    '--tls-cert-file',
    'server.crt',
    '--tls-key-file',
    'server.key',
    '--tls-ca-cert-file',
    'ca.crt',
  ]
  const cluster = [
    '--cluster-enabled',
    'yes',
    '--cluster-port',
    `${bus}`,
    '--cluster-announce-ip',
    '127.0.0.1',
  ]
  redis = await startRedis({
    args: [...tls, ...files.map((arg) => (arg.startsWith('--') ? arg : join(dir, arg))), ...cluster],
  })
  // One node with all slots serves as a Cluster and as a single server.
  await redis.command('CLUSTER', 'ADDSLOTSRANGE', 0, SLOTS - 1)
  await until(
    async () => String(await redis.command('CLUSTER', 'INFO')).includes('cluster_state:ok'),
    'the slots',
  )
})

afterAll(async () => {
  await redis?.stop()
  authority?.remove()
  other?.remove()
  rmSync(dir, { recursive: true, force: true })
})

afterEach(async () => {
  issue(authority)
  await Promise.all(stores.splice(0).map((store) => store.close()))
})

function open(files: TlsFiles, query = ''): Store {
  const url = `rediss://127.0.0.1:${port}${query}`
  const tls = readTlsFiles(files, silent)
  const store = createRedisStore({ url, tls, sealing: keyRing(`one:${KEY}`), log: silent, instance: 'test' })
  stores.push(store)
  return store
}

test.each([
  ['one server', ''],
  ['a Cluster', '?cluster=true'],
])('%s: authority and certificate come from files', async (_, query) => {
  const { config, state } = open(issue(authority), query)
  const epoch = await config.newEpoch()
  expect(await config.position()).toMatchObject({ epoch })
  expect(await state.recentLog(1)).toEqual([])
})

test.each<[string, (files: Required<TlsFiles>) => TlsFiles]>([
  ['no certificate', ({ ca }) => ({ ca })],
  ['no authority', ({ cert, key }) => ({ cert, key })],
  ['another authority', (files) => ({ ...files, ca: put('other.crt', other.ca) })],
  [
    'a certificate of another authority',
    ({ ca }) => {
      const { cert, key } = other.issue('sluice')
      return { ca, cert: put('other.crt', cert), key: put('other.key', key) }
    },
  ],
])('with %s there is no connection', async (_, chosen) => {
  const { config } = open(chosen(issue(authority)))
  await expect(config.position()).rejects.toThrow(StoreUnavailable)
})

test('when all certificates are renewed under another authority, the store recovers on its own', async () => {
  const { config } = open(issue(authority))
  const epoch = await config.newEpoch()
  issue(other)
  await redis.restart()
  await until(() => config.newEpoch().catch(() => undefined), 'the store')
  expect(epoch).toBeGreaterThan(0)
  // The server no longer accepts the old ones.
  const old = authority.issue('sluice')
  const files = { ca: join(dir, 'ca.crt'), cert: put('old.crt', old.cert), key: put('old.key', old.key) }
  await expect(open(files).config.position()).rejects.toThrow(StoreUnavailable)
})
