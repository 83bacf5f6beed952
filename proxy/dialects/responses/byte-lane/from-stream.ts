/** Turns a whole stream into a response, for a client that requested no stream. */
import { type Fields, isRecord, tryParse } from '../../core/json/value.ts'
import { sseEvents } from '../../core/sse/events.ts'

/** `events`: of a finished stream. Some upstreams leave the output out of the last event. */
export function fromStream(events: Buffer): Fields {
  let response: Fields = {}
  const items = new Map<number, unknown>()
  for (const { data } of sseEvents(events)) {
    const event = tryParse(data)
    if (!isRecord(event)) continue
    if (isRecord(event.response)) response = event.response
    if (event.type === 'response.output_item.done')
      items.set(Number(event.output_index ?? items.size), event.item)
  }
  if (Array.isArray(response.output) && response.output.length > 0) return response
  const inOrder = [...items].toSorted(([a], [b]) => a - b)
  return { ...response, output: inOrder.map(([, item]) => item) }
}
