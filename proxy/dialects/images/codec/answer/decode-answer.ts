/** Reads a whole answer of the images API. */
import type { UpstreamFailure } from '../../../../errors.ts'
import { readFailure } from '../../../core/errors/read.ts'
import { isRecord } from '../../../core/json/value.ts'
import type { ModelAnswer } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { imagesOf } from '../../byte-lane/answer.ts'
import { readUsage } from '../../usage.ts'
import { readImage } from './image-fields.ts'

export function decodeAnswer(value: unknown, request: ParsedRequest): ModelAnswer | UpstreamFailure {
  if (!isRecord(value)) return { class: 'unknown', status: 200, detail: 'no_answer' }
  if (value.error) return { ...readFailure(value, request, 'error_in_answer'), status: 200 }
  const parts = imagesOf(value)
    .map((entry) => readImage(entry, value))
    .filter((part) => part !== undefined)
  if (parts.length === 0) return { class: 'unknown', status: 200, detail: 'no_answer' }
  const usage = readUsage(value.usage, parts.length)
  return {
    ...(typeof value.created === 'number' && { created: value.created }),
    parts,
    finish: { reason: 'stop' },
    ...(usage !== undefined && { usage }),
  }
}
