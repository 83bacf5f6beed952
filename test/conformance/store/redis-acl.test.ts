/** The users of docs/redis.md as written there: each can do its work, and a proxy cannot do the controller's. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Change, Gap, Store } from '../../../store/contract.ts'
import { CHANGES, EPOCH, keyRecordKey, MANIFEST, TABLE } from '../../../store/keys.ts'
import { createRedisConnection, type RedisConnection, RedisError } from '../../../store/redis/connection.ts'
import { createRedisStore } from '../../../store/redis/index.ts'
import { until } from '../../harness/gateway.ts'
import { ROOT } from '../../harness/program.ts'
import { type RunningRedis, startRedis } from '../../harness/redis.ts'
import { ACCOUNT, fund, hold, publication, renew, reservation, settle, tableOf } from './fixtures.ts'
import { keyRing, silent } from './redis.ts'

const sealing = keyRing(`one:${Buffer.alloc(32, 1).toString('base64')}`)

let server: RunningRedis
let controller: Store
let proxy: Store
let asProxy: RedisConnection
beforeAll(async () => {
  server = await startRedis()
  const document = readFileSync(`${ROOT}/docs/redis.md`, 'utf8')
  const users = [...document.matchAll(/^user (\S+) (.+)$/gm)].map(([, name = '', rules = '']) => ({
    name,
    rules,
  }))
  expect(users.map(({ name }) => name)).toEqual(['default', 'sluice-controller', 'sluice-proxy'])
  // The test itself uses the server's default user.
  for (const { name, rules } of users.slice(1))
    await server.command('ACL', 'SETUSER', name, ...rules.split(' '))
  const url = (user: string) => `redis://${user}:change-me@127.0.0.1:${server.port}`
  const options = { sealing, log: silent, instance: 'test' }
  controller = createRedisStore({ ...options, url: url('sluice-controller') })
  proxy = createRedisStore({ ...options, url: url('sluice-proxy') })
  asProxy = createRedisConnection({ url: url('sluice-proxy'), name: 'test', log: silent })
})
afterAll(async () => {
  await controller.close()
  await proxy.close()
  await asProxy.close()
  await server.stop()
})

test('the controller publishes, credits and reaps; the proxy follows, reads, bills and logs', async () => {
  const epoch = await controller.config.newEpoch()
  const seen: (Change | Gap)[] = []
  await proxy.config.follow((change) => void seen.push(change))
  expect(await controller.config.publish(publication(epoch, 1, { table: tableOf('small') }))).toBe(
    'published',
  )
  await until(() => seen.length > 0, 'the publication to arrive')
  expect(seen).toMatchObject([{ generation: 1, table: true }])
  expect(await proxy.config.table()).toMatchObject({ generation: 1 })
  expect(await proxy.config.key('h1')).toBeUndefined()
  expect(await proxy.config.account('a1')).toBeUndefined()
  expect(await proxy.config.beat({ proxy: 'p', epoch, generation: 1 })).toEqual({ epoch, generation: 1 })
  expect(await controller.config.heartbeats(5_000)).toHaveLength(1)
  expect(await controller.config.manifest()).toMatchObject({ epoch, generation: 1 })
  // The command that a flood of unknown keys makes a proxy send.
  expect(await proxy.config.keyHashes()).toEqual(new Set())
  await proxy.config.retire('p')

  await fund(controller.ledger, ACCOUNT, 100)
  const at = await hold(proxy.ledger, reservation('r1', 10))
  expect(await renew(proxy.ledger, 'r1', { seen: 1 })).toBe('OK')
  expect(await settle(proxy.ledger, 'r1', 5, at)).toBe('OK')
  expect(await settle(proxy.ledger, 'r1', 5, at)).toBe('DUP')
  await proxy.ledger.touch([ACCOUNT])
  expect(await proxy.ledger.balance(ACCOUNT)).toMatchObject({ posted: 95, held: 0 })
  expect(await proxy.ledger.entries(ACCOUNT, undefined, 10)).toHaveLength(2)
  expect(await controller.ledger.touched(0, 10)).toMatchObject([{ account: ACCOUNT }])
  expect(await controller.ledger.walk(undefined, 10)).toMatchObject({ accounts: [ACCOUNT] })
  expect(await controller.ledger.reap(ACCOUNT, 10)).toEqual([])

  await proxy.affinity.set('s', 'east', 1_000)
  expect(await proxy.affinity.get('s')).toBe('east')
  const binding = { channel: 'east', upstreamId: 'u', native: true, contextTokens: 1, root: 'r' }
  await proxy.state.putResponse('o', 'r', binding, 1_000)
  await proxy.state.keepResponse('o', 'r', 2_000)
  expect(await proxy.state.response('o', 'r')).toEqual(binding)
  await proxy.state.removeResponse('o', 'r')
  const room = { exchangeBytes: 100, ownerBytes: 100 }
  const exchange = { id: 'r', root: 'r', text: '{}' }
  expect(await proxy.state.putExchange('o', exchange, 1_000, room)).toBe('kept')
  expect(await proxy.state.exchanges('o', { root: 'r', id: 'r' }, 1_000, 10)).toEqual([exchange])
  expect(await proxy.state.exchange('o', 'r', 'r', 1_000)).toEqual(exchange)
  await proxy.state.removeExchange('o', 'r', 'r')
  await proxy.state.appendLog('line')
  expect(await proxy.state.recentLog(1)).toEqual(['line'])
  // Also what a script tries first.
  expect(await server.command('ACL', 'LOG')).toEqual([])
})

test('a proxy whose user may not run UNLINK settles all the same', async () => {
  await server.command('ACL', 'SETUSER', 'older', 'on', '>change-me', '~*', '+@all', '-unlink')
  const url = `redis://older:change-me@127.0.0.1:${server.port}`
  const older = createRedisStore({ url, sealing, log: silent, instance: 'older' })
  try {
    const account = 'acc-older'
    await fund(controller.ledger, account, 100)
    const at = await hold(older.ledger, reservation('r1', 10, { account }))
    expect(await settle(older.ledger, 'r1', 5, at, { account })).toBe('OK')
    expect(await older.ledger.balance(account)).toMatchObject({ posted: 95, held: 0 })
    expect(await server.command('ACL', 'LOG')).not.toEqual([])
  } finally {
    await older.close()
    await server.command('ACL', 'LOG', 'RESET')
  }
})

describe('a proxy may not', () => {
  test.each<[string, (redis: RedisConnection) => Promise<unknown>]>([
    ['write the table', (redis) => redis.command(['SET', TABLE, 'x'])],
    ['write a key record', (redis) => redis.command(['SET', keyRecordKey('h'), 'x'])],
    ['remove a key record', (redis) => redis.command(['DEL', keyRecordKey('h')])],
    ['start an epoch', (redis) => redis.run('config/new-epoch', [EPOCH], [0])],
    ['announce', (redis) => redis.command(['XADD', CHANGES, '*', 'a', 'b'])],
    ['change the manifest', (redis) => redis.command(['HSET', MANIFEST, 'routes', '0'])],
    [
      'write a record that its script does not declare',
      (redis) => redis.command(['EVAL', `return redis.call('SET', '${TABLE}', 'x')`, 0]),
    ],
    ['list keys', (redis) => redis.command(['KEYS', '*'])],
    ['wipe', (redis) => redis.command(['FLUSHALL', 'SYNC'])],
    ['read settings', (redis) => redis.command(['CONFIG', 'GET', '*'])],
    ['read foreign keys', (redis) => redis.command(['GET', 'other'])],
  ])('%s', async (_what, command) => {
    await expect(command(asProxy)).rejects.toThrow(RedisError)
    await expect(command(asProxy)).rejects.toThrow(/NOPERM|can't access/)
  })
})

test('no error contains a password', async () => {
  const logged: unknown[] = []
  const note = (...line: unknown[]) => void logged.push(line)
  const url = `redis://sluice-proxy:wrong-pass-word@127.0.0.1:${server.port}`
  const unknownUser = createRedisStore({
    url,
    sealing,
    log: { info: note, warn: note, error: note },
    instance: 'test',
  })
  const error = await unknownUser.config.position().catch((refused: unknown) => refused)
  await until(() => logged.length > 0, 'the refusal to be logged')
  await unknownUser.close()
  const messages = [error, ...logged].map(
    (line) => JSON.stringify(line, Object.getOwnPropertyNames(line)) + String(line),
  )
  expect(JSON.stringify(logged)).toContain('WRONGPASS')
  expect(messages.join('\n')).not.toContain('wrong-pass-word')
})
