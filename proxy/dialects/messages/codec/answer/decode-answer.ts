/** Reads a whole message of an upstream. */

import { present } from '../../../../../kit/present.ts'
import type { UpstreamFailure } from '../../../../errors.ts'
import { errorInAnswer } from '../../../core/errors/read.ts'
import { badAnswer, readable } from '../../../core/errors/unreadable.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import type { ModelAnswer } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { readTier, readUsage } from '../../usage.ts'
import { isNamelessCall, readBlock } from './block-read.ts'
import { readFinish } from './stop-reason.ts'

export function decodeAnswer(value: unknown, request: ParsedRequest): ModelAnswer | UpstreamFailure {
  if (isRecord(value) && (value.type === 'error' || value.error)) return errorInAnswer(value, request)
  if (!isRecord(value) || !Array.isArray(value.content)) return badAnswer('no_answer')
  const blocks = value.content.filter(isRecord)
  if (blocks.some(isNamelessCall)) return badAnswer('nameless_tool_call')
  const read = readable(() => readMessage(value, blocks))
  return 'parts' in read ? read : { ...read, status: 200 }
}

function readMessage(message: Fields, blocks: Fields[]): ModelAnswer {
  const parts = blocks.map(readBlock).filter((part) => part !== undefined)
  return {
    parts,
    finish: readFinish(
      message,
      parts.some((part) => part.type === 'tool-call'),
    ),
    ...present({ usage: readUsage(message.usage), tier: readTier(message.usage) }),
  }
}
