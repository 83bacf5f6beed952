/** Certificates and private keys as PEM text (RFC 7468). What is said of them never quotes them. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'

const BEGIN = '-----BEGIN CERTIFICATE-----'
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/** Every certificate of a text, which may hold other things between them; none unless all of them can be read. */
export function certificatesIn(text: string): X509Certificate[] {
  const blocks = text.match(CERTIFICATE) ?? []
  if (blocks.length !== text.split(BEGIN).length - 1) return []
  try {
    return blocks.map((block) => new X509Certificate(block))
  } catch {
    return []
  }
}

/** What keeps a certificate chain and a private key from going together; undefined: nothing. */
export function keyPairFault(cert: string, key: string): 'certificate' | 'key' | 'pair' | undefined {
  const [own] = certificatesIn(cert)
  if (own === undefined) return 'certificate'
  const privateKey = privateKeyIn(key)
  if (privateKey === undefined) return 'key'
  return own.checkPrivateKey(privateKey) ? undefined : 'pair'
}

/** Undefined also for a key under a passphrase. */
function privateKeyIn(text: string): KeyObject | undefined {
  try {
    return createPrivateKey(text)
  } catch {
    return undefined
  }
}
