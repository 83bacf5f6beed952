/** Reads the session that agents write into their user id: its requests share a prompt cache. */
import { isRecord, tryParse } from '../core/json/value.ts'

/** What upstreams of other dialects take as the key of their cache. */
const KEY = /^[\w.:-]{1,64}$/
/** How older agents end their user id. */
const OLD_END = /_session_([\w-]{1,64})$/
const OLD_END_LENGTH = '_session_'.length + 64

/** Undefined for a user id that names none. Messages has no cache key of its own. */
export function sessionOf(user: string): string | undefined {
  const fields = user.startsWith('{') ? tryParse(user) : undefined
  const session = isRecord(fields) ? fields.session_id : OLD_END.exec(user.slice(-OLD_END_LENGTH))?.[1]
  return typeof session === 'string' && KEY.test(session) ? session : undefined
}
