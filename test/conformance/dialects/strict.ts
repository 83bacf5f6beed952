/** The strict readers of the three dialects under one name. */
import type { DialectName } from './codecs.ts'
import { readChatStream, type UsageAsked } from './strict-chat.ts'
import { readMessagesStream } from './strict-messages.ts'
import { readResponsesStream } from './strict-responses.ts'

/** The plain answer of a stream; throws at the first violation of its dialect. Only chat uses `usage`. */
export function readStrictly(dialect: DialectName, text: string, usage: UsageAsked = 'yes'): unknown {
  if (dialect === 'chat') return readChatStream(text, usage)
  return dialect === 'responses' ? readResponsesStream(text) : readMessagesStream(text)
}
