/** Makes the certificates of a control plane on loopback with openssl: authority, server, administrator. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Paths of PEM files. */
export interface Certificates {
  ca: string
  server: { certificate: string; key: string }
  /** Member of system:masters, which may do everything. */
  admin: { certificate: string; key: string }
  /** RSA key that signs the tokens of ServiceAccounts. */
  serviceAccountKey: string
}

/** Used instead of the system's openssl.cnf, which may add its own extensions. */
const CONFIG = '[req]\ndistinguished_name = dn\n[dn]\n'
const DAYS = '3650'
/** Written last: if it exists, all others exist. */
const COMPLETE = 'complete'

/** Makes the missing files. Rejects with a sentence if openssl is missing. */
export async function certificates(dir: string): Promise<Certificates> {
  const at = (name: string) => join(dir, name)
  const made = {
    ca: at('ca.crt'),
    server: { certificate: at('server.crt'), key: at('server.key') },
    admin: { certificate: at('admin.crt'), key: at('admin.key') },
    serviceAccountKey: at('service-account.key'),
  }
  if (existsSync(at(COMPLETE))) return made
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  writeFileSync(at('openssl.cnf'), CONFIG)
  const issue = (name: string, subject: string, extensions: string[], issuer: string[]) =>
    openssl([
      ...['req', '-x509', '-config', at('openssl.cnf'), '-newkey', 'ec', '-pkeyopt'],
      ...['ec_paramgen_curve:prime256v1', '-nodes', '-days', DAYS, '-subj', subject],
      ...['-keyout', at(`${name}.key`), '-out', at(`${name}.crt`)],
      ...extensions.flatMap((extension) => ['-addext', extension]),
      ...issuer,
    ])
  const byAuthority = ['-CA', made.ca, '-CAkey', at('ca.key')]
  const signingKey = openssl(['genrsa', '-out', made.serviceAccountKey, '2048'])
  await issue('ca', '/CN=sluice-ca', ['basicConstraints=critical,CA:TRUE', 'keyUsage=keyCertSign'], [])
  await Promise.all([
    signingKey,
    issue(
      'server',
      '/CN=kube-apiserver',
      ['subjectAltName=IP:127.0.0.1,DNS:localhost', 'extendedKeyUsage=serverAuth'],
      byAuthority,
    ),
    issue('admin', '/O=system:masters/CN=admin', ['extendedKeyUsage=clientAuth'], byAuthority),
  ])
  writeFileSync(at(COMPLETE), '')
  return made
}

async function openssl(args: string[]): Promise<void> {
  try {
    await run('openssl', args)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      throw new Error('openssl is missing (Debian: apt-get install openssl)')
    throw error
  }
}
