/** Identifiers that the controller, the proxy and the store agree on. */
import { createHash, hash } from 'node:crypto'

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'

/**
 * The opaque id of an Account or ApiKey: the first 20 characters of the lower-case base32 (RFC 4648) SHA-256 of
 * "namespace/name". It has no braces or colons, so it fits into a Redis hash tag.
 */
export function objectId(namespace: string, name: string): string {
  const digest = createHash('sha256').update(`${namespace}/${name}`).digest()
  let bits = 0
  let value = 0
  let text = ''
  for (const byte of digest) {
    value = (value << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += BASE32[(value >>> bits) & 31]
    }
    value &= (1 << bits) - 1
    if (text.length >= 20) break
  }
  return text.slice(0, 20)
}

/** The id of the account that counts the requests of an ApiKey without one. No Account has it. */
export function ownAccountId(namespace: string, key: string): string {
  return objectId(namespace, `key/${key}`)
}

/** Where the usage of the keys of a namespace is counted that no account pays for. No Account has this id. */
export function unmeteredId(namespace: string): string {
  return objectId(namespace, 'unmetered/')
}

/** Prefix of the ids of limits and budgets in the ledger. A key and its account may have the same name, and so the same id. */
export function countersOf(owner: 'key' | 'account', id: string): string {
  return `${owner === 'key' ? 'k' : 'a'}/${id}`
}

/** SHA-256 of an API key, lower-case hex: the only form in which a key leaves the process that received it. */
export function keyHash(key: string): string {
  return hash('sha256', key, 'hex')
}
