/** An expired certificate, and a file of trusted ones. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Pair } from '../../harness/pki.ts'

export interface TrustFile {
  path: string
  remove(): void
}

/** A file for NODE_EXTRA_CA_CERTS. */
export function trustFile(...certificates: string[]): TrustFile {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-trust-'))
  const path = join(dir, 'ca.crt')
  writeFileSync(path, certificates.join(''))
  return { path, remove: () => rmSync(dir, { recursive: true, force: true }) }
}

/** A self-signed certificate that expired a week ago. */
export function expiredPair(name: string): Pair {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-expired-'))
  try {
    const args = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '1',
    ]
    const named = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
    execFileSync('faketime', ['8 days ago', 'openssl', ...args, '-keyout', 'key', '-out', 'crt', ...named], {
      cwd: dir,
      stdio: 'ignore',
    })
    return { cert: readFileSync(join(dir, 'crt'), 'utf8'), key: readFileSync(join(dir, 'key'), 'utf8') }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
