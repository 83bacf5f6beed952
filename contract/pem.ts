/** Certificates and private keys as PEM text (RFC 7468). Errors never quote them. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'

const BEGIN = '-----BEGIN CERTIFICATE-----'
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/** All certificates in a text, which may contain other text between them; empty if any of them cannot be parsed. */
export function certificatesIn(text: string): X509Certificate[] {
  const blocks = text.match(CERTIFICATE) ?? []
  if (blocks.length !== text.split(BEGIN).length - 1) return []
  try {
    return blocks.map((block) => new X509Certificate(block))
  } catch {
    return []
  }
}

/** Why a certificate chain and a private key cannot be used together; undefined if they can. */
export function keyPairFault(cert: string, key: string): 'certificate' | 'key' | 'pair' | undefined {
  const [own] = certificatesIn(cert)
  if (own === undefined) return 'certificate'
  const privateKey = privateKeyIn(key)
  if (privateKey === undefined) return 'key'
  return own.checkPrivateKey(privateKey) ? undefined : 'pair'
}

/** Undefined for text without a private key and for a key with a passphrase. */
function privateKeyIn(text: string): KeyObject | undefined {
  try {
    return createPrivateKey(text)
  } catch {
    return undefined
  }
}
