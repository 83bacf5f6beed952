/** The session that an agent names in its user id, which keeps the requests of one conversation in one cache. */
import { isRecord, tryParse } from '../json/value.ts'
import type { ModelRequest } from './types.ts'

/** What OpenAI takes as a key of its cache. */
const KEY = /^[\w.:-]{1,64}$/
/** How older agents end their user id. */
const OLD_END = /_session_([\w-]{1,64})$/
const OLD_END_LENGTH = '_session_'.length + 64

/** Messages has no cache key; its agents write their session into the user id. */
export function sessionOf({ source, user }: ModelRequest): string | undefined {
  if (source !== 'messages' || user === undefined) return undefined
  const fields = user.startsWith('{') ? tryParse(user) : undefined
  const session = isRecord(fields) ? fields.session_id : OLD_END.exec(user.slice(-OLD_END_LENGTH))?.[1]
  return typeof session === 'string' && KEY.test(session) ? session : undefined
}
