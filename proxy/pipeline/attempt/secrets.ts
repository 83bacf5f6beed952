/** The secrets of a channel, which must never be logged, in every spelling in which its upstream may quote them. */
import type { ChannelRecord } from '../../../contract/table/records.ts'

/** The credential, and everything that an operator adds to requests: a header or a query parameter may be secret, too. */
export function secretsOf({
  auth,
  headers,
  query,
}: Pick<ChannelRecord, 'auth' | 'headers' | 'query'>): string[] {
  const added = Object.values(headers)
  // Of "Token abc" an upstream may quote the second word alone.
  const words = added.flatMap((value) => /^\S+ +(\S+)$/.exec(value)?.[1] ?? [])
  return [auth.secret ?? '', ...added, ...words, ...Object.values(query)].flatMap(spellings)
}

/** Plain, inside a JSON string, and inside a URL. */
export function spellings(secret: string): string[] {
  const url = encodeURIComponent(secret.toWellFormed())
  return [secret, JSON.stringify(secret).slice(1, -1), url, url.replaceAll('%20', '+')]
}
