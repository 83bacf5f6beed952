/** Reads a whole response. */

import { present } from '../../../../../kit/present.ts'
import type { UpstreamFailure } from '../../../../errors.ts'
import { errorInAnswer } from '../../../core/errors/read.ts'
import { badAnswer, readable } from '../../../core/errors/unreadable.ts'
import { isRecord } from '../../../core/json/value.ts'
import type { ModelAnswer } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { usageOf } from '../../usage.ts'
import { readFinish } from './answer-finish.ts'
import { readItem } from './decode-item.ts'

/** Statuses of responses that will have no answer, or do not have it yet. */
const FAILED = ['failed', 'cancelled']
const UNFINISHED = ['queued', 'in_progress']

/** Returns a failure for an error under status 200 and for a response that failed or is not finished. */
export function decodeAnswer(value: unknown, request: ParsedRequest): ModelAnswer | UpstreamFailure {
  if (!isRecord(value)) return badAnswer('no_answer')
  if (value.error || isFailed(value)) return errorInAnswer(value, request)
  if (!Array.isArray(value.output)) return badAnswer('no_answer')
  if (UNFINISHED.some((status) => status === value.status)) return badAnswer('unfinished_answer')
  const { output } = value
  const parts = readable(() => output.flatMap(readItem))
  if (!Array.isArray(parts)) return { ...parts, status: 200 }
  if (parts.some((part) => part.type === 'tool-call' && part.name === '')) {
    return badAnswer('nameless_tool_call')
  }
  return {
    parts,
    finish: readFinish(
      value,
      parts.some((part) => part.type === 'tool-call'),
    ),
    ...present({ usage: usageOf(value) }),
    ...(typeof value.service_tier === 'string' && { tier: value.service_tier }),
  }
}

export function isFailed(response: Record<string, unknown>): boolean {
  return FAILED.some((status) => status === response.status)
}
