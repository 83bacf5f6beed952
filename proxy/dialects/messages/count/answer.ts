/** Reads counts of tokens. Counting is no use of a model: there is nothing to bill. */
import type { UpstreamFailure } from '../../../errors.ts'
import type { Answer, ParsedRequest } from '../../dialect.ts'
import { readFailure } from '../../errors/read.ts'
import { count } from '../../ir/token-count.ts'
import { isRecord, tryParse } from '../../json/value.ts'

export function readAnswer(body: Buffer, request: ParsedRequest): Answer | UpstreamFailure {
  const value = tryParse(body.toString('utf8'))
  if (isRecord(value) && (value.error || value.type === 'error')) {
    return { ...readFailure(value, request, 'error_in_answer'), status: 200 }
  }
  if (!isRecord(value) || count(value.input_tokens) === undefined) {
    return { class: 'unknown', status: 200, detail: 'no_answer' }
  }
  return { body, delivered: { deltas: 0, bytes: 0 } }
}
