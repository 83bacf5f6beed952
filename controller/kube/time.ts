/** The current time as a MicroTime (RFC 3339 with six decimals), for Leases and Events. */
export function microTime(): string {
  return new Date().toISOString().replace('Z', '000Z')
}
