/** Reads whole responses. */
import type { Delivered } from '../../../../contract/sizes.ts'
import type { UpstreamFailure } from '../../../errors.ts'
import type { Answer } from '../../core/byte-lane.ts'
import { errorInAnswer } from '../../core/errors/read.ts'
import { badAnswer } from '../../core/errors/unreadable.ts'
import { isRecord, tryParse } from '../../core/json/value.ts'
import { addText } from '../../core/neutral/delivered.ts'
import type { ParsedRequest } from '../../core/request.ts'
import { isCompacted, NO_COMPACTION } from '../compact/native.ts'
import { imagesIn, usageOf } from '../usage.ts'
import { toStream } from './to-stream.ts'

/** Statuses of unfinished responses: they pass as they are, but cannot become a stream. */
const UNFINISHED = ['queued', 'in_progress']

export function readAnswer(
  body: Buffer,
  request: ParsedRequest,
  asStream: boolean,
): Answer | UpstreamFailure {
  const value = tryParse(body.toString('utf8'))
  if (isRecord(value) && (value.error || value.status === 'failed' || value.type === 'error'))
    return errorInAnswer(value, request)
  const output = isRecord(value) && value.status !== 'cancelled' ? value.output : undefined
  if (!isRecord(value) || !Array.isArray(output) || (asStream && UNFINISHED.includes(String(value.status))))
    return badAnswer('no_answer')
  if (request.compacts === true && !isCompacted(output)) return NO_COMPACTION
  const items = output.filter(isRecord)
  const bytes = asStream ? toStream(value, items) : body
  if (bytes === undefined) return badAnswer('answer_too_deep')
  const usage = usageOf(value)
  const images = imagesIn(items)
  return {
    body: bytes,
    ...(usage !== undefined && { usage: { ...usage, images: images.images ?? 0 } }),
    ...(typeof value.service_tier === 'string' && { tier: value.service_tier }),
    delivered: { ...countItems(items), ...images },
  }
}

function countItems(items: Record<string, unknown>[]): Delivered {
  const delivered: Delivered = { deltas: 0, bytes: 0 }
  const add = (text: unknown) => addText(delivered, text)
  for (const item of items) {
    add(item.arguments)
    add(item.input)
    for (const list of [item.content, item.summary]) {
      if (!Array.isArray(list)) continue
      for (const part of list.filter(isRecord)) {
        add(part.text)
        add(part.refusal)
      }
    }
  }
  return delivered
}
