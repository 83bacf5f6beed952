/** Conversations in Redis: encrypted, bound to their place, and never more than is counted. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Exchange, type StateStore, StoreUnavailable } from '../../../store/contract.ts'
import { chainPrefix, exchangeDigest, roomKeys } from '../../../store/keys.ts'
import type { RedisConnection } from '../../../store/redis/connection.ts'
import { createRedisConversations } from '../../../store/redis/conversations.ts'
import { createRedisStore } from '../../../store/redis/index.ts'
import { type RunningRedis, startRedis } from '../../harness/redis.ts'
import { keyRing, silent } from './redis.ts'

const OWNER = 'aaaaaaaaaaaaaaaaaaaa'
const OTHER = 'bbbbbbbbbbbbbbbbbbbb'
const TTL_MS = 3_600_000
const ROOM = { exchangeBytes: 1_000, ownerBytes: 2_000 }
const SEALING = keyRing(`one:${Buffer.alloc(32, 1).toString('base64')}`)
const R1: Exchange = { id: 'resp_first', root: 'resp_first', text: '{"said":"a secret"}' }
const R2: Exchange = { id: 'resp_second', root: 'resp_first', parent: 'resp_first', text: '{"n":2}' }

const keyOf = (id: string, owner = OWNER) =>
  `${chainPrefix(owner, 'resp_first')}${exchangeDigest('resp_first', id)}`

let server: RunningRedis
let state: StateStore
let close: () => Promise<void>
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
beforeEach(async () => {
  await server.command('FLUSHALL')
  const options = { url: server.url, log: silent, instance: 'test', commandTimeoutMs: 10_000 }
  const store = createRedisStore({ ...options, sealing: SEALING })
  state = store.state
  close = store.close
  for (const exchange of [R1, R2]) expect(await state.putExchange(OWNER, exchange, TTL_MS, ROOM)).toBe('kept')
})
afterEach(() => close())

const read = (id = 'resp_second', owner = OWNER) =>
  state.exchanges(owner, { root: 'resp_first', id }, TTL_MS, 10)
const command = (name: string, ...args: (string | number)[]) => server.command(name, ...args)
const ttlOf = async (key: string) => Number(await command('PTTL', key))

test('neither texts nor ids are stored in clear', async () => {
  const keys = await command('KEYS', '*')
  expect(keys).toEqual(
    expect.arrayContaining([keyOf('resp_first'), keyOf('resp_second'), ...roomKeys(OWNER)]),
  )
  expect(keys).toHaveLength(4)
  const values = [
    keys,
    await command('GET', keyOf('resp_first')),
    await command('GET', keyOf('resp_second')),
    await command('HGETALL', roomKeys(OWNER)[1]),
    await command('ZRANGE', roomKeys(OWNER)[0], 0, -1),
  ]
  expect(JSON.stringify(values)).not.toMatch(/said|secret|resp_/)
})

test('everything expires on its own, the room after its texts', async () => {
  const texts = [await ttlOf(keyOf('resp_first')), await ttlOf(keyOf('resp_second'))]
  expect(Math.min(...texts)).toBeGreaterThan(TTL_MS - 60_000)
  expect(Math.max(...texts)).toBeLessThanOrEqual(TTL_MS)
  for (const key of roomKeys(OWNER)) {
    expect(await ttlOf(key)).toBeGreaterThan(TTL_MS)
    expect(await ttlOf(key)).toBeLessThanOrEqual(TTL_MS + 60_000)
  }
})

test('reading renews texts and room alike', async () => {
  for (const key of [keyOf('resp_first'), keyOf('resp_second'), ...roomKeys(OWNER)])
    await command('PEXPIRE', key, 10_000)
  for (const { id } of [R1, R2])
    await command('ZADD', roomKeys(OWNER)[0], 1, exchangeDigest('resp_first', id))
  expect(await read()).toEqual([R1, R2])
  for (const key of [keyOf('resp_first'), keyOf('resp_second')])
    expect(await ttlOf(key)).toBeGreaterThan(TTL_MS - 60_000)
  for (const key of roomKeys(OWNER)) expect(await ttlOf(key)).toBeGreaterThan(TTL_MS)
  for (const { id } of [R1, R2]) {
    const ends = await command('ZSCORE', roomKeys(OWNER)[0], exchangeDigest('resp_first', id))
    expect(Number(ends)).toBeGreaterThan(Date.now() + TTL_MS)
  }
})

test('reading one exchange renews it and its room, and no other', async () => {
  const [ends] = roomKeys(OWNER)
  for (const { id } of [R1, R2]) {
    await command('PEXPIRE', keyOf(id), 10_000)
    await command('ZADD', ends, 1, exchangeDigest('resp_first', id))
  }
  expect(await state.exchange(OWNER, 'resp_first', 'resp_second', TTL_MS)).toEqual(R2)
  expect(await ttlOf(keyOf('resp_second'))).toBeGreaterThan(TTL_MS - 60_000)
  expect(await ttlOf(keyOf('resp_first'))).toBeLessThanOrEqual(10_000)
  const endOf = async (id: string) => Number(await command('ZSCORE', ends, exchangeDigest('resp_first', id)))
  expect(await endOf('resp_second')).toBeGreaterThan(Date.now() + TTL_MS)
  expect(await endOf('resp_first')).toBe(1)
})

test('reading a lost text does not renew its room', async () => {
  const [ends] = roomKeys(OWNER)
  await command('DEL', keyOf('resp_second'))
  await command('ZADD', ends, 1, exchangeDigest('resp_first', 'resp_second'))
  expect(await state.exchange(OWNER, 'resp_first', 'resp_second', TTL_MS)).toBeUndefined()
  expect(await command('ZSCORE', ends, exchangeDigest('resp_first', 'resp_second'))).toBe('1')
})

test('a removal leaves nothing behind', async () => {
  for (const { id } of [R1, R2]) await state.removeExchange(OWNER, 'resp_first', id)
  const [ends, bytes] = roomKeys(OWNER)
  expect(await command('KEYS', '*')).toEqual([bytes])
  expect(await command('HGETALL', bytes)).toEqual(['sum', '0'])
  expect(await command('EXISTS', ends)).toBe(0)
})

test('an emptied server knows no conversation and has room for new ones', async () => {
  await command('FLUSHALL')
  expect(await read()).toBeUndefined()
  await state.removeExchange(OWNER, 'resp_first', 'resp_second')
  const text = '1'.repeat(1_000)
  for (const id of ['a', 'b'])
    expect(await state.putExchange(OWNER, { id, root: id, text }, TTL_MS, ROOM)).toBe('kept')
})

test('reading does not restore a room that was lost alone', async () => {
  await command('DEL', ...roomKeys(OWNER))
  expect(await read()).toEqual([R1, R2])
  expect(await command('EXISTS', ...roomKeys(OWNER))).toBe(0)
})

describe('an altered text is gone', () => {
  const move = async (from: string, to: string) => void (await command('COPY', from, to, 'REPLACE'))
  const change = async (to: (value: string) => string) => {
    const key = keyOf('resp_second')
    await command('SET', key, to(String(await command('GET', key))))
  }
  const replaceByHash = async () => {
    await command('DEL', keyOf('resp_second'))
    await command('HSET', keyOf('resp_second'), 'a', 'b')
  }
  test.each<[string, () => Promise<unknown>]>([
    ['no envelope', () => change(() => ' {}')],
    ['nothing', () => change(() => '')],
    ['no text', replaceByHash],
    ['another key', () => change((value) => value.replace('"kid":"one"', '"kid":"two"'))],
    ['changed', () => change((value) => value.replace(/"ct":"..../, '"ct":"AAAA'))],
    ['cut', () => change((value) => value.slice(0, -5))],
    ['moved', () => move(keyOf('resp_first'), keyOf('resp_second'))],
    ['presented as the first', () => change((value) => value.replace(/^\w+ /, ' '))],
    [
      'presented after another',
      async () => {
        await state.putExchange(OWNER, { ...R1, id: 'else' }, TTL_MS, ROOM)
        const digest = exchangeDigest('resp_first', 'else')
        await change((value) => value.replace(/^\w+ /, `${digest} `))
      },
    ],
  ])('%s', async (_what, spoil) => {
    await spoil()
    expect(await read()).toBeUndefined()
    expect(await read('resp_first')).toEqual([R1])
  })

  test.each<[string, () => Promise<unknown>]>([
    ['changed', () => change((value) => value.replace(/"ct":"..../, '"ct":"AAAA'))],
    ['moved', () => move(keyOf('resp_first'), keyOf('resp_second'))],
  ])('also when read alone: %s', async (_what, spoil) => {
    await spoil()
    expect(await state.exchange(OWNER, 'resp_first', 'resp_second', TTL_MS)).toBeUndefined()
    expect(await state.exchange(OWNER, 'resp_first', 'resp_first', TTL_MS)).toEqual(R1)
  })

  test('a sealed text of another form', async () => {
    const key = keyOf('resp_second')
    const digest = exchangeDigest('resp_first', 'resp_first')
    for (const text of [
      '',
      '\n',
      '{}\n{}',
      '["resp_second"]\n{}',
      '["resp_second",1]\n',
      '["resp_second","resp_first"]',
    ]) {
      await command('SET', key, `${digest} ${SEALING.seal(key, text)}`)
      expect(await read(), text).toBeUndefined()
    }
    await command('SET', key, `${digest} ${SEALING.seal(key, '["resp_second","resp_first"]\n{}')}`)
    expect(await read()).toEqual([R1, { ...R2, text: '{}' }])
  })
})

test('a text copied to another owner does not open', async () => {
  for (const id of ['resp_first', 'resp_second']) await command('COPY', keyOf(id), keyOf(id, OTHER))
  expect(await read('resp_first', OTHER)).toBeUndefined()
  expect(await read('resp_second', OTHER)).toBeUndefined()
  expect(await read()).toEqual([R1, R2])
})

describe('the order of room and text', () => {
  /** A server that answers `OK` and fails the named commands; records the commands sent to it. */
  function failing(...names: string[]) {
    const commands: string[] = []
    const answer = async (name: string) => {
      commands.push(name)
      if (names.includes(name)) throw new StoreUnavailable('away')
      if (name === 'EXISTS') return 1
      return name === 'conversation/chain' ? ['a'.repeat(64)] : 'OK'
    }
    const connection: RedisConnection = {
      run: (name) => answer(name),
      command: ([name]) => answer(name),
      primaries: async () => [],
      onRestored: () => () => {},
      close: async () => {},
    }
    return { commands, conversations: createRedisConversations(connection, SEALING) }
  }

  test('room is taken before a text is written and stays if the write fails', async () => {
    const { commands, conversations } = failing('SET')
    await expect(conversations.putExchange(OWNER, R1, TTL_MS, ROOM)).rejects.toThrow(StoreUnavailable)
    expect(commands).toEqual(['conversation/take', 'SET'])
  })

  test('nothing is written without a reply about the room', async () => {
    const { commands, conversations } = failing('conversation/take')
    await expect(conversations.putExchange(OWNER, R1, TTL_MS, ROOM)).rejects.toThrow(StoreUnavailable)
    expect(commands).toEqual(['conversation/take'])
  })

  test('texts are not renewed before their room', async () => {
    const { commands, conversations } = failing('conversation/extend')
    await expect(conversations.exchanges(OWNER, { root: 'r', id: 'r' }, TTL_MS, 1)).rejects.toThrow(
      StoreUnavailable,
    )
    expect(commands).toEqual(['conversation/chain', 'conversation/extend'])
  })

  test('a text that is read alone is not renewed before its room either', async () => {
    const { commands, conversations } = failing('conversation/extend')
    await expect(conversations.exchange(OWNER, 'r', 'r', TTL_MS)).rejects.toThrow(StoreUnavailable)
    expect(commands).toEqual(['EXISTS', 'conversation/extend'])
  })

  test('room is not freed before the text is gone', async () => {
    const { commands, conversations } = failing('DEL')
    await expect(conversations.removeExchange(OWNER, 'r', 'r')).rejects.toThrow(StoreUnavailable)
    expect(commands).toEqual(['DEL'])
  })
})
