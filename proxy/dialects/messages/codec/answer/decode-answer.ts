/** Reads a whole message of an upstream. */
import type { UpstreamFailure } from '../../../../errors.ts'
import { readFailure } from '../../../core/errors/read.ts'
import { readable } from '../../../core/errors/unreadable.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import type { ModelAnswer } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { readTier, readUsage } from '../../usage.ts'
import { isNamelessCall, readBlock } from './block-read.ts'
import { readFinish } from './stop-reason.ts'

export function decodeAnswer(value: unknown, request: ParsedRequest): ModelAnswer | UpstreamFailure {
  if (isRecord(value) && (value.type === 'error' || value.error)) {
    return { ...readFailure(value, request, 'error_in_answer'), status: 200 }
  }
  if (!isRecord(value) || !Array.isArray(value.content)) {
    return { class: 'unknown', status: 200, detail: 'no_answer' }
  }
  const blocks = value.content.filter(isRecord)
  if (blocks.some(isNamelessCall)) return { class: 'unknown', status: 200, detail: 'nameless_tool_call' }
  const read = readable(() => readMessage(value, blocks))
  return 'parts' in read ? read : { ...read, status: 200 }
}

function readMessage(message: Fields, blocks: Fields[]): ModelAnswer {
  const parts = blocks.map(readBlock).filter((part) => part !== undefined)
  const usage = readUsage(message.usage)
  const tier = readTier(message.usage)
  return {
    ...(typeof message.id === 'string' && { id: message.id }),
    ...(typeof message.model === 'string' && { model: message.model }),
    parts,
    finish: readFinish(
      message,
      parts.some((part) => part.type === 'tool-call'),
    ),
    ...(usage !== undefined && { usage }),
    ...(tier !== undefined && { tier }),
  }
}
