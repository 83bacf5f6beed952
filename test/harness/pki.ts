/** Creates a certificate authority and certificates with openssl. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** PEM. */
export interface Pair {
  cert: string
  key: string
}

export interface Authority {
  /** Its own certificate, PEM. */
  ca: string
  /** Issues a certificate for servers and clients with these names or addresses; the first is its subject. */
  issue(...names: string[]): Pair
  remove(): void
}

const CURVE = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

export function createAuthority(): Authority {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-pki-'))
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore', cwd: dir })
  const read = (name: string) => readFileSync(join(dir, name), 'utf8')
  openssl(
    'req',
    '-x509',
    ...CURVE,
    '-keyout',
    'ca.key',
    '-out',
    'ca.crt',
    '-subj',
    '/CN=test-ca',
    '-days',
    '2',
  )
  return {
    ca: read('ca.crt'),
    issue(...names) {
      const alternatives = names.map((name) => (/^[0-9.]+$|:/.test(name) ? `IP:${name}` : `DNS:${name}`))
      writeFileSync(join(dir, 'names'), `subjectAltName=${alternatives.join(',')}\n`)
      openssl('req', ...CURVE, '-keyout', 'key', '-out', 'csr', '-subj', `/CN=${names[0]}`)
      const signed = [
        '-CA',
        'ca.crt',
        '-CAkey',
        'ca.key',
        '-CAcreateserial',
        '-days',
        '2',
        '-extfile',
        'names',
      ]
      openssl('x509', '-req', '-in', 'csr', '-out', 'crt', ...signed)
      return { cert: read('crt'), key: read('key') }
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}
