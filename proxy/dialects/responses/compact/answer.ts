/** The answer to a compaction: the user's messages, and the item that replaces the conversation. */
import type { Delivered } from '../../../../contract/sizes.ts'
import { zeroUsage } from '../../../../contract/usage.ts'
import { present } from '../../../../kit/present.ts'
import type { UpstreamFailure } from '../../../errors.ts'
import type { Answer } from '../../core/byte-lane.ts'
import type { ClientView } from '../../core/codec.ts'
import { errorInAnswer } from '../../core/errors/read.ts'
import { badAnswer } from '../../core/errors/unreadable.ts'
import { bodyOf } from '../../core/json/body-value.ts'
import { type Fields, isRecord, tryParse } from '../../core/json/value.ts'
import { addText } from '../../core/neutral/delivered.ts'
import { itemId } from '../../core/neutral/ids.ts'
import type { ModelAnswer } from '../../core/neutral/types.ts'
import type { ParsedRequest } from '../../core/request.ts'
import { readUsage, writeUsage } from '../usage.ts'
import type * as wire from '../wire.ts'
import { isCompacted, NO_COMPACTION } from './native.ts'

/** Reads the answer of an upstream with this endpoint. */
export function readAnswer(body: Buffer, request: ParsedRequest): Answer | UpstreamFailure {
  const value = tryParse(body.toString('utf8'))
  if (isRecord(value) && (value.error || value.type === 'error')) return errorInAnswer(value, request)
  if (!isRecord(value) || !Array.isArray(value.output)) return badAnswer('no_answer')
  if (!isCompacted(value.output)) return NO_COMPACTION
  return {
    body,
    ...present({ usage: readUsage(value.usage) }),
    ...(typeof value.service_tier === 'string' && { tier: value.service_tier }),
    delivered: deliveredOf(value.output),
  }
}

/** Counts only the compaction: the client itself sent the messages. */
function deliveredOf(output: unknown[]): Delivered {
  const delivered: Delivered = { deltas: 0, bytes: 0 }
  for (const item of output) if (isRecord(item)) addText(delivered, item.encrypted_content)
  return delivered
}

/** The compaction is the only part of `parts` (emulated.ts). */
export function encodeAnswer(
  { parts, usage }: ModelAnswer,
  { id, created, parsed }: ClientView,
): wire.Compacted {
  const items = parts.flatMap((part) => (part.type === 'hosted' ? [part.item] : []))
  return {
    id: `resp_${id}`,
    object: 'response.compaction',
    created_at: created,
    output: [...userMessages(parsed, id), ...items],
    usage: writeUsage(usage ?? zeroUsage()),
  }
}

/** The client's messages, with the fields that strict clients require: an id, a status and a list of parts. */
function userMessages(request: ParsedRequest, answerId: string): wire.KeptMessage[] {
  const { input } = bodyOf(request)
  if (typeof input === 'string')
    return [userMessage({ role: 'user', content: input }, itemId('msg', answerId, 0))]
  if (!Array.isArray(input)) return []
  return input.filter(isUserMessage).map((item, index) => userMessage(item, itemId('msg', answerId, index)))
}

function isUserMessage(item: unknown): item is Fields {
  return isRecord(item) && item.role === 'user' && (item.type ?? 'message') === 'message'
}

function userMessage(item: Fields, id: string): wire.KeptMessage {
  const { content } = item
  const parts =
    typeof content === 'string' ? [{ type: 'input_text', text: content } satisfies wire.InputText] : content
  return { id, status: 'completed', ...item, type: 'message', content: parts }
}
