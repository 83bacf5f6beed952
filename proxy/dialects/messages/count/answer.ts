/** Reads token counts. Counting is not billed. */
import type { UpstreamFailure } from '../../../errors.ts'
import type { Answer } from '../../core/byte-lane.ts'
import { errorInAnswer } from '../../core/errors/read.ts'
import { badAnswer } from '../../core/errors/unreadable.ts'
import { isRecord, tryParse } from '../../core/json/value.ts'
import { count } from '../../core/neutral/token-count.ts'
import type { ParsedRequest } from '../../core/request.ts'

export function readAnswer(body: Buffer, request: ParsedRequest): Answer | UpstreamFailure {
  const value = tryParse(body.toString('utf8'))
  if (isRecord(value) && (value.error || value.type === 'error')) return errorInAnswer(value, request)
  if (!isRecord(value) || count(value.input_tokens) === undefined) return badAnswer('no_answer')
  return { body, delivered: { deltas: 0, bytes: 0 } }
}
