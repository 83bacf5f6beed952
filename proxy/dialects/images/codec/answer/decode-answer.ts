/** Reads a whole answer of the images API. */

import { present } from '../../../../../kit/present.ts'
import type { UpstreamFailure } from '../../../../errors.ts'
import { errorInAnswer } from '../../../core/errors/read.ts'
import { badAnswer } from '../../../core/errors/unreadable.ts'
import { isRecord } from '../../../core/json/value.ts'
import type { ModelAnswer } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { imagesOf } from '../../byte-lane/answer.ts'
import { readUsage } from '../../usage.ts'
import { readImage } from './image-fields.ts'

export function decodeAnswer(value: unknown, request: ParsedRequest): ModelAnswer | UpstreamFailure {
  if (!isRecord(value)) return badAnswer('no_answer')
  if (value.error) return errorInAnswer(value, request)
  const parts = imagesOf(value)
    .map((entry) => readImage(entry, value))
    .filter((part) => part !== undefined)
  if (parts.length === 0) return badAnswer('no_answer')
  return {
    parts,
    finish: { reason: 'stop' },
    ...present({ usage: readUsage(value.usage, parts.length) }),
  }
}
