import { inspect } from 'node:util'
import { expect, test, vi } from 'vitest'
import { keyHash } from '../../contract/ids.ts'
import { mintKey } from '../../contract/key-format.ts'
import { RecordUnreadable, StoreUnavailable } from '../../store/contract.ts'
import { testKey } from '../auth/testing.ts'
import { GatewayError } from '../errors.ts'
import { gatewayKeyHeaders, refuseGatewayKey, upstreamKey } from './upstream-key.ts'

test.each([
  [['Authorization', 'Bearer k-1'], 'k-1'],
  [['accept', '*/*', 'AUTHORIZATION', 'bearer   k-1  ', 'x-api-key', 'other'], 'k-1'],
  [['authorization', `Bearer ${'k'.repeat(4096)}`], 'k'.repeat(4096)],
])('%j contains a key', (headers, key) => {
  expect(upstreamKey(headers)).toBe(key)
})

test.each([
  [[]],
  [['x-api-key', 'k-1']],
  [['Authorization', '']],
  [['Authorization', 'Bearer']],
  [['Authorization', 'Bearer ']],
  [['Authorization', 'k-1']],
  [['Authorization', 'Basic azE6']],
  [['Authorization', 'Bearer k-1 k-2']],
  [['Authorization', 'Bearer k\u00e9']],
  [['Authorization', 'Bearer k\tx']],
  [['Authorization', `Bearer ${'k'.repeat(4097)}`]],
  [['Authorization', 'Bearer k-1', 'authorization', 'Bearer k-1']],
  [['Authorization', 'Bearer k-1', 'authorization', 'Basic azE6']],
])('%j contains no key', (headers) => {
  expect(() => upstreamKey(headers)).toThrow(expect.objectContaining({ code: 'unauthorized', status: 401 }))
})

test('the gateway key is read from x-api-key alone', () => {
  const headers = [
    'Authorization',
    'Bearer k-1',
    'X-Api-Key',
    'g-1',
    'x-api-key',
    'g-2',
    'accept',
    'x-api-key',
  ]
  expect(gatewayKeyHeaders(headers)).toEqual(['x-api-key', 'g-1', 'x-api-key', 'g-2'])
})

const refusal = { code: 'invalid_request', status: 400 }

test('a key in the gateway’s format is refused without a look-up, whether it exists or not', async () => {
  const find = () => Promise.reject(new Error('looked up'))
  const minted = mintKey()
  await expect(refuseGatewayKey(minted, find)).rejects.toMatchObject(refusal)
  const madeUp = minted.slice(0, -1) + (minted.endsWith('a') ? 'b' : 'a')
  await expect(refuseGatewayKey(madeUp, find)).rejects.toMatchObject(refusal)
})

test.each([testKey(), testKey({ disabled: true }), testKey({ expiresAt: 1 })])(
  'any other key that the gateway knows is refused: %j',
  async (record) => {
    const find = async (hash: string) => (hash === keyHash('own') ? record : undefined)
    await expect(refuseGatewayKey('own', find)).rejects.toMatchObject(refusal)
    await expect(refuseGatewayKey('foreign', find)).resolves.toBeUndefined()
  },
)

test.each([
  '"own"',
  'own,x',
  'own;',
  "'own'",
  '<own>',
  'own.',
  '"own",',
  'x,own',
  'x,y,own',
  'key=own',
  'key="own"',
  'key:own',
  'x;own',
  'x;key=own;y',
  'x|own',
  'x&key=own',
  '{"key":"own"}',
  '[own]',
  'Bearer=own',
  'own=',
  '"x""own"',
])('a known key written as %s is refused', async (text) => {
  const find = async (hash: string) => (hash === keyHash('own') ? testKey() : undefined)
  await expect(refuseGatewayKey(text, find)).rejects.toMatchObject(refusal)
})

test.each(['x,o=w:n', 'key=o=w:n', 'key:o=w:n;y', '"o=w:n"'])(
  'a known key with separators, written as %s, is refused',
  async (text) => {
    const find = async (hash: string) => (hash === keyHash('o=w:n') ? testKey() : undefined)
    await expect(refuseGatewayKey(text, find)).rejects.toMatchObject(refusal)
  },
)

test('a key in the gateway’s format is refused wherever it stands', async () => {
  const find = () => Promise.reject(new Error('looked up'))
  for (const text of [`x${mintKey()}`, `x.${mintKey()}.y`, `a/${mintKey()}`])
    await expect(refuseGatewayKey(text, find)).rejects.toMatchObject(refusal)
})

test('a text with more parts than a key can have is refused without a look-up', async () => {
  const find = vi.fn(async () => undefined)
  const parts = Array.from({ length: 2_000 }, (_, n) => `k${n}`).join(',')
  await expect(refuseGatewayKey(parts, find)).rejects.toMatchObject({ code: 'unauthorized' })
  expect(find).not.toHaveBeenCalled()
})

test('separators alone are looked up unchanged, a few times at most', async () => {
  const find = vi.fn(async () => undefined)
  await refuseGatewayKey(`a${'!'.repeat(4_090)}a`, find)
  expect(find.mock.calls.length).toBeLessThan(4)
})

test('a token of several parts is looked up once', async () => {
  const find = vi.fn(async () => undefined)
  await refuseGatewayKey('eyJh.eyJz.SflK-_', find)
  expect(find.mock.calls).toEqual([[keyHash('eyJh.eyJz.SflK-_')]])
})

test('a key passes while the store is away, and is refused if its record does not open', async () => {
  const failing = (error: Error) => () => Promise.reject(error)
  await expect(refuseGatewayKey('k', failing(new StoreUnavailable('away')))).resolves.toBeUndefined()
  await expect(refuseGatewayKey('k', failing(new RecordUnreadable('sealed')))).rejects.toMatchObject(refusal)
  await expect(refuseGatewayKey('k', failing(new TypeError('a fault')))).rejects.toThrow(TypeError)
})

test('no refusal shows the key', async () => {
  const known = await refuseGatewayKey('Secret-1', async () => testKey()).catch((error: unknown) => error)
  expect(known).toBeInstanceOf(GatewayError)
  expect(inspect(known)).not.toContain('Secret-1')
  expect(() => upstreamKey(['authorization', 'Bearer Secret-1 x'])).toThrow(/^((?!Secret-1).)*$/)
})
