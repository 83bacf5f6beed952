/** Distinguishes public names from names of private networks. */

const LABEL = /^[a-z0-9_-]{1,63}$/
const MAX_LENGTH = 253

/**
 * Suffixes that the public DNS does not have (RFC 6761, 6762 appendix G, 7686, 8375, 9476; ICANN’s `internal`), or
 * that clusters give to their services. `arpa` names machines by address.
 */
const INNER_ENDS = new Set([
  'alt',
  'arpa',
  'corp',
  'home',
  'internal',
  'intranet',
  'invalid',
  'lan',
  'local',
  'localdomain',
  'localhost',
  'onion',
  'private',
  'svc',
  'test',
])

/** Whether a host name (lower case, no trailing dot) may be public. */
export function isPublicName(hostname: string): boolean {
  const labels = hostname.split('.')
  return (
    labels.length >= 2 &&
    hostname.length <= MAX_LENGTH &&
    labels.every((label) => LABEL.test(label)) &&
    !INNER_ENDS.has(labels.at(-1) ?? '')
  )
}
