/** Reads the session in an agent's user id. Requests of a session share a prompt cache. */
import { isRecord, tryParse } from '../core/json/value.ts'

/** Cache keys that upstreams of other dialects accept. */
const KEY = /^[\w.:-]{1,64}$/
/** The end of an older agent's user id. */
const OLD_END = /_session_([\w-]{1,64})$/
const OLD_END_LENGTH = '_session_'.length + 64

/** Undefined for a user id without a session. */
export function sessionOf(user: string): string | undefined {
  const fields = user.startsWith('{') ? tryParse(user) : undefined
  const session = isRecord(fields) ? fields.session_id : OLD_END.exec(user.slice(-OLD_END_LENGTH))?.[1]
  return typeof session === 'string' && KEY.test(session) ? session : undefined
}
