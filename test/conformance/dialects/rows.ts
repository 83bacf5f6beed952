/**
 * The tables of conversion. Each row has the conversion of one field to the two other dialects. Written from the
 * interfaces, not from the code. The laws allow only the losses in these rows.
 */
import type { DialectName } from './codecs.ts'
import { chatRows } from './rows-chat.ts'
import { chatContentRows } from './rows-chat-content.ts'
import { messagesRows } from './rows-messages.ts'
import { messagesContentRows } from './rows-messages-content.ts'
import { responsesRows } from './rows-responses.ts'
import { responsesContentRows } from './rows-responses-content.ts'
import type { Row, Verdict } from './verdicts.ts'

export const ROWS: Record<DialectName, Row[]> = {
  chat: [...chatRows(), ...chatContentRows()],
  responses: [...responsesRows(), ...responsesContentRows()],
  messages: [...messagesRows(), ...messagesContentRows()],
}

const verdicts = (source: DialectName, target: DialectName): [string, Verdict][] =>
  ROWS[source].flatMap(({ field, to }) => {
    const verdict = to[target]
    return verdict === undefined ? [] : [[field, verdict] as [string, Verdict]]
  })

/** Losses that the rows of the pair allow. */
export function allowedLosses(source: DialectName, target: DialectName): Set<string> {
  return new Set(verdicts(source, target).flatMap(([, row]) => (row.kind === 'lossy' ? row.losses : [])))
}

/** Fields that a conversion between the two never loses, in any request. */
export function exactFields(source: DialectName, target: DialectName): Set<string> {
  const allowed = allowedLosses(source, target)
  const fields = verdicts(source, target).filter(([, row]) => row.kind === 'exact')
  return new Set(fields.map(([field]) => field).filter((field) => !allowed.has(field)))
}

/** Fixtures that have no equivalent in another dialect, by name, and the field in the error. */
export const REFUSALS: Record<DialectName, Record<string, Partial<Record<DialectName, string>>>> = {
  chat: {
    'chat-only': { messages: 'logprobs' },
    'file-id': { messages: 'messages.content.file' },
    audio: { responses: 'messages.content.input_audio', messages: 'messages.content.input_audio' },
  },
  responses: {
    'responses-only': { messages: 'top_logprobs' },
    pdf: { chat: 'input.content.file_url' },
    'file-id': { chat: 'input.content.file_id', messages: 'input.content.file_id' },
    stateful: { chat: 'previous_response_id', messages: 'previous_response_id' },
    compaction: { chat: 'input[0]', messages: 'input[0]' },
  },
  messages: {
    pdf: { chat: 'messages.content.source' },
    'file-id': { chat: 'messages.content.source', responses: 'messages.content.source' },
    'messages-only': { chat: 'container', responses: 'container' },
  },
}
