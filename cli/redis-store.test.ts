import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { EnvironmentError, readEnvironment } from '../contract/env.ts'
import { openRedisStore } from './redis-store.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-redis-store-'))
afterAll(() => rmSync(dir, { recursive: true }))
const keys = join(dir, 'keys')
writeFileSync(keys, `one:${Buffer.alloc(32, 1).toString('base64')}\n`)
const silent = { debug() {}, info() {}, warn() {}, error() {} }

const opening = (settings: Record<string, string>) => () =>
  openRedisStore(readEnvironment({ SLUICE_SEALING_KEYS_FILE: keys, ...settings }).env, 'test', silent)

test.each(['SLUICE_REDIS_CA_FILE', 'SLUICE_REDIS_CERT_FILE', 'SLUICE_REDIS_KEY_FILE'])(
  '%s needs TLS: without rediss:// the connection would not be encrypted',
  (name) => {
    const open = opening({ SLUICE_REDIS_URL: 'redis://127.0.0.1:1', [name]: keys })
    expect(open).toThrow(EnvironmentError)
    expect(open).toThrow(new RegExp(`^${name}: needs an address that begins with rediss://$`))
  },
)

test.each([
  ['SLUICE_REDIS_CA_FILE', '/nowhere', 'SLUICE_REDIS_CA_FILE: the file cannot be read (ENOENT)'],
  ['SLUICE_REDIS_CA_FILE', keys, 'SLUICE_REDIS_CA_FILE: the file has no PEM certificate'],
  [
    'SLUICE_REDIS_CERT_FILE',
    keys,
    'SLUICE_REDIS_KEY_FILE: must be set to the private key of the certificate',
  ],
  [
    'SLUICE_REDIS_KEY_FILE',
    keys,
    'SLUICE_REDIS_CERT_FILE: must be set to the certificate of the private key',
  ],
])('%s=%s is refused', (name, value, message) => {
  const url = { SLUICE_REDIS_URL: 'redis://127.0.0.1:1', SLUICE_STATE_REDIS_URL: 'rediss://127.0.0.1:1' }
  expect(opening({ ...url, [name]: value })).toThrow(new EnvironmentError(message))
})
