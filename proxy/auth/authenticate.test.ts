import { describe, expect, test } from 'vitest'
import { keyHash } from '../../contract/ids.ts'
import { mintKey } from '../../contract/key-format.ts'
import type { AccountRecord, KeyRecord } from '../../contract/table/records.ts'
import { RecordUnreadable, StoreUnavailable } from '../../store/contract.ts'
import { GatewayError } from '../errors.ts'
import { authenticate } from './authenticate.ts'
import { testAccount, testKey } from './testing.ts'

const KEY = 'sk-a-secret-of-alice'
const NOW = Date.parse('2027-01-01T00:00:00Z')
const HERE = '192.0.2.7'

interface Given {
  key?: KeyRecord
  account?: AccountRecord
  headers?: string[]
  address?: string | undefined
}

async function ask({ key, account, headers = ['x-api-key', KEY], address = HERE }: Given) {
  const records = {
    key: async (hash: string) => (hash === keyHash(KEY) ? key : undefined),
    account: async (id: string) => (id === account?.id ? account : undefined),
  }
  return authenticate(records, { rawHeaders: headers, address, nowMs: NOW })
}

async function refusal(given: Given) {
  const error: unknown = await ask(given).catch((caught: unknown) => caught)
  if (!(error instanceof GatewayError)) throw new Error('was not refused')
  const { code, status, message, param, retryAfterSeconds } = error
  return { code, status, message, param, retryAfterSeconds }
}

test('a key without an account is not metered', async () => {
  const key = testKey()
  expect(await ask({ key })).toEqual({ hash: keyHash(KEY), keyLength: KEY.length, key, account: undefined })
})

test('a key with an account gives that account', async () => {
  const account = testAccount()
  const key = testKey({ account: account.id })
  expect(await ask({ key, account, headers: ['authorization', `Bearer ${KEY}`] })).toEqual({
    hash: keyHash(KEY),
    keyLength: KEY.length,
    key,
    account,
  })
})

describe('401', () => {
  const live = testKey()
  const refused: [string, Given][] = [
    ['no key', { key: live, headers: [] }],
    ['an empty key', { key: live, headers: ['x-api-key', ''] }],
    ['a Basic credential', { key: live, headers: ['authorization', 'Basic c2stYQ=='] }],
    ['two different keys', { key: live, headers: ['x-api-key', KEY, 'authorization', 'Bearer other'] }],
    ['a key that is too long', { key: live, headers: ['x-api-key', 'k'.repeat(16_000)] }],
    ['an unknown key', {}],
    ['a key in another case', { key: live, headers: ['x-api-key', KEY.toUpperCase()] }],
    ['a disabled key', { key: testKey({ disabled: true }) }],
    ['a key that expires now', { key: testKey({ expiresAt: NOW }) }],
    ['a key that expired long ago', { key: testKey({ expiresAt: 0 }) }],
  ]

  test.each(refused)('%s', async (_, given) => {
    expect(await refusal(given)).toEqual(await refusal({ headers: [] }))
    expect(await refusal(given)).toMatchObject({ code: 'unauthorized', status: 401 })
  })

  test('a key is valid until the instant at which it expires', async () => {
    expect(await ask({ key: testKey({ expiresAt: NOW + 1 }) })).toHaveProperty('key')
  })

  test('the answer names every header that may contain a key', async () => {
    const { message } = await refusal({ headers: [] })
    expect(message).toBe(
      'Missing or invalid API key. Send one key as "Authorization: Bearer <key>" or "x-api-key: <key>".',
    )
  })

  test('the answer contains nothing of the sent key', async () => {
    const { message } = await refusal({ headers: ['x-api-key', 'sk-unknown-key'] })
    expect(message).not.toContain('sk-unknown-key')
    expect(message).not.toContain(keyHash('sk-unknown-key'))
  })
})

describe('the first of several reasons is reported', () => {
  const account = testAccount({ disabled: true })
  const key = testKey({ account: account.id, allowedIPs: ['198.51.100.0/24'] })

  test('401, then 503 for the account, then 403 for the account, then 403 for the address', async () => {
    const order = [
      await refusal({ key: { ...key, disabled: true } }),
      await refusal({ key }),
      await refusal({ key, account }),
      await refusal({ key, account: { ...account, disabled: false } }),
    ]
    expect(order.map(({ code, status }) => [status, code])).toEqual([
      [401, 'unauthorized'],
      [503, 'store_unavailable'],
      [403, 'account_disabled'],
      [403, 'ip_not_allowed'],
    ])
    expect(order[1]?.retryAfterSeconds).toBeGreaterThan(0)
  })
})

describe('addresses', () => {
  const key = testKey({ allowedIPs: ['192.0.2.0/24', '2001:db8::/64'] })

  test.each(['192.0.2.0', '192.0.2.255', '2001:db8::7', '2001:DB8:0:0:ffff::'])(
    '%s is allowed',
    async (address) => {
      expect(await ask({ key, address })).toHaveProperty('key')
    },
  )

  test.each(['192.0.3.0', '2001:db8:0:1::', '::1', 'junk', ''])('%j is not', async (address) => {
    expect(await refusal({ key, address })).toMatchObject({ code: 'ip_not_allowed', status: 403 })
  })

  test('an unknown address is refused, but only if there is a list', async () => {
    const records = { key: async () => key, account: async () => undefined }
    const unknown = async (allowedIPs: string[]) =>
      authenticate(
        { ...records, key: async () => testKey({ allowedIPs }) },
        { rawHeaders: ['x-api-key', KEY], address: undefined, nowMs: NOW },
      )
    await expect(unknown(['0.0.0.0/0', '::/0'])).rejects.toMatchObject({ code: 'ip_not_allowed' })
    await expect(unknown([])).resolves.toHaveProperty('key')
  })
})

describe.each([new StoreUnavailable('away'), new RecordUnreadable('does not open')])(
  'a store without an answer: %s',
  (error) => {
    const away = () => Promise.reject(error)
    const asked = async (records: Parameters<typeof authenticate>[0], rawHeaders: string[]) =>
      authenticate(records, { rawHeaders, address: HERE, nowMs: NOW })

    test('is 503 and never 401', async () => {
      const headers = ['x-api-key', KEY]
      const keyed = { key: async () => testKey({ account: 'a' }), account: away }
      for (const records of [{ key: away, account: away }, keyed])
        await expect(asked(records, headers)).rejects.toMatchObject({
          code: 'store_unavailable',
          status: 503,
        })
    })

    test('is not queried for a text that is not a key', async () => {
      const records = { key: away, account: away }
      const minted = mintKey()
      const wrong = minted.slice(0, -1) + (minted.endsWith('a') ? 'b' : 'a')
      for (const value of ['', wrong, 'k'.repeat(1_025)])
        await expect(asked(records, ['x-api-key', value])).rejects.toMatchObject({
          code: 'unauthorized',
        })
      await expect(asked(records, ['x-api-key', minted])).rejects.toMatchObject({
        code: 'store_unavailable',
      })
    })

    test('other failures are not store_unavailable', async () => {
      const records = { key: () => Promise.reject(new TypeError('a fault')), account: away }
      await expect(asked(records, ['x-api-key', KEY])).rejects.toThrow(TypeError)
    })
  },
)
