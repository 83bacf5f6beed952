/** Times as the API server writes them. */

/** A MicroTime (RFC 3339 with six decimals), as in Leases and Events. */
export function microTime(): string {
  return new Date().toISOString().replace('Z', '000Z')
}
