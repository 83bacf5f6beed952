import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createAuthority } from '../../test/harness/pki.ts'
import { readTlsFiles, type TlsFiles, TlsFilesError } from './tls.ts'

const authority = createAuthority()
const [own, renewed] = [authority.issue('client.test'), authority.issue('client.test')]
const dir = mkdtempSync(join(tmpdir(), 'sluice-redis-tls-'))
afterAll(() => {
  authority.remove()
  rmSync(dir, { recursive: true })
})

const lines: [level: string, text: string][] = []
const line = (level: string) => (fields: object, message: string) =>
  void lines.push([level, `${JSON.stringify(fields)} ${message}`])
const log = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }

function put(name: string, text: string): string {
  writeFileSync(join(dir, name), text)
  return join(dir, name)
}
const pair = () => ({ cert: put('cert.pem', own.cert), key: put('key.pem', own.key) })

beforeEach(() => {
  lines.length = 0
})

describe('files that cannot be used at start', () => {
  test.each<[string, () => TlsFiles, keyof TlsFiles, string]>([
    ['a missing one', () => ({ ca: '/nowhere' }), 'ca', 'the file cannot be read (ENOENT)'],
    ['a folder', () => ({ ...pair(), key: dir }), 'key', 'the file cannot be read (EISDIR)'],
    ['an empty one', () => ({ ca: put('empty', '') }), 'ca', 'the file has no PEM certificate'],
    [
      'another one',
      () => ({ ...pair(), cert: put('x', 'not-to-be-seen') }),
      'cert',
      'the file has no PEM certificate',
    ],
    [
      'no key in it',
      () => ({ ...pair(), key: put('x', own.cert) }),
      'key',
      'the file has no PEM private key without a passphrase',
    ],
    [
      'the key of another certificate',
      () => ({ ...pair(), key: put('x', renewed.key) }),
      'key',
      'the private key does not belong to the certificate',
    ],
    ['no key', () => ({ cert: pair().cert }), 'key', 'must be set to the private key of the certificate'],
    [
      'no certificate',
      () => ({ key: pair().key }),
      'cert',
      'must be set to the certificate of the private key',
    ],
  ])('%s', (_, files, file, message) => {
    const given = files()
    expect(() => readTlsFiles(given, log)).toThrow(new TlsFilesError(file, message))
    expect(() => readTlsFiles(given, log)).toThrow(expect.objectContaining({ file }))
  })
})

describe('each connection', () => {
  test('gets no secure context without files', () => {
    expect(readTlsFiles({}, log).secureContext).toBeUndefined()
  })

  test('gets the current contents of the files', () => {
    const tls = readTlsFiles(pair(), log)
    const first = tls.secureContext
    expect(first).toBeDefined()
    expect(tls.secureContext).toBe(first)
    put('cert.pem', renewed.cert)
    put('key.pem', renewed.key)
    const second = tls.secureContext
    expect(second).toBeDefined()
    expect(second).not.toBe(first)
    expect(lines.map(([level]) => level)).toEqual(['info'])
  })

  test('gets the previous contents while the files are invalid, and one error is logged', () => {
    const tls = readTlsFiles(pair(), log)
    const first = tls.secureContext
    put('key.pem', renewed.key)
    expect([tls.secureContext, tls.secureContext]).toEqual([first, first])
    expect(lines).toEqual([['error', expect.stringContaining('does not belong to the certificate')]])
    put('key.pem', own.key)
    expect(tls.secureContext).toBe(first)
    put('key.pem', renewed.key)
    expect(tls.secureContext).toBe(first)
    expect(lines.length).toBe(2)
  })
})
