/** Turns a whole stream into an answer, for a client that requested no stream. */
import { type Fields, isRecord, noFields, tryParse } from '../../core/json/value.ts'
import type { FieldsOf } from '../../core/json/wire.ts'
import { sseEvents } from '../../core/sse/events.ts'
import { isCompleted } from '../events.ts'
import type * as wire from '../wire.ts'
import { SHARED } from './answer.ts'

/** `events`: of a finished stream. */
export function fromStream(events: Buffer): Fields {
  const answer: FieldsOf<wire.Answer> = {}
  const data: Fields[] = []
  for (const { data: text } of sseEvents(events)) {
    const event = tryParse(text)
    if (!isRecord(event) || typeof event.type !== 'string' || !isCompleted(event.type)) continue
    const { type: _type, created_at: created, usage, ...image } = event
    answer.created ??= created
    if (isRecord(usage)) answer.usage = sum(answer.usage, usage)
    for (const field of SHARED) {
      answer[field] ??= image[field]
      delete image[field]
    }
    data.push(image)
  }
  answer.data = data
  return answer
}

/** Each image has its own usage. */
function sum(known: unknown, more: Fields): Fields {
  const total: Fields = Object.assign(noFields(), known)
  for (const [key, value] of Object.entries(more)) {
    if (isRecord(value)) total[key] = sum(total[key], value)
    else total[key] = typeof value === 'number' ? Number(total[key] ?? 0) + value : value
  }
  return total
}
