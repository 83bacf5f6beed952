/** What of a channel must not stand in a log, in every spelling in which its upstream may quote it. */
import type { ChannelRecord } from '../../../contract/table/records.ts'

/** The credential, and all that an operator adds to requests: a header or a query parameter may be one, too. */
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

/** As it is, inside a JSON string, and inside a URL. */
export function spellings(secret: string): string[] {
  const url = encodeURIComponent(secret.toWellFormed())
  return [secret, JSON.stringify(secret).slice(1, -1), url, url.replaceAll('%20', '+')]
}
