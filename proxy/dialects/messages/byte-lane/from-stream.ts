/** Converts a whole stream to a message, for a client that requested no stream. */
import { parseArguments } from '../../core/json/exact.ts'
import { type Fields, isRecord, listOf, noFields, tryParse } from '../../core/json/value.ts'
import type { FieldsOf } from '../../core/json/wire.ts'
import { sseEvents } from '../../core/sse/events.ts'
import { mergeUsage } from '../usage.ts'
import type * as wire from '../wire.ts'

/** @param events of a finished stream. */
export function fromStream(events: Buffer): FieldsOf<wire.Message> {
  let message: FieldsOf<wire.Message> = {}
  let usage: unknown
  const blocks = new Map<unknown, Fields>()
  const inputs = new Map<unknown, string>()
  for (const { data } of sseEvents(events)) {
    const event = tryParse(data)
    if (!isRecord(event)) continue
    const { type, index, delta } = event
    if (type === 'message_start' && isRecord(event.message)) {
      message = { ...event.message }
      usage = message.usage
    } else if (type === 'content_block_start' && isRecord(event.content_block)) {
      blocks.set(index, Object.assign(noFields(), event.content_block))
    } else if (type === 'content_block_delta' && isRecord(delta)) {
      const block = blocks.get(index) ?? begun(delta)
      blocks.set(index, block)
      if (delta.type === 'input_json_delta')
        inputs.set(index, (inputs.get(index) ?? '') + String(delta.partial_json ?? ''))
      else addDelta(block, delta)
    } else if (type === 'message_delta') {
      const { type: _type, delta: _delta, usage: more, ...beside } = event
      message = { ...message, ...beside, ...(isRecord(delta) && delta) }
      usage = mergeUsage(usage, more)
    }
  }
  for (const [index, text] of inputs) {
    const block = blocks.get(index)
    if (block !== undefined && text.trim() !== '') block.input = parseArguments(text) ?? text
  }
  return { ...message, content: [...listOf(message.content), ...blocks.values()], usage }
}

/** The block for a delta without a start, which some upstreams omit. */
function begun(delta: Fields): Fields {
  const isThought = delta.type === 'thinking_delta' || delta.type === 'signature_delta'
  const type: wire.OwnBlock['type'] = isThought ? 'thinking' : 'text'
  return Object.assign(noFields(), { type })
}

/** Appends text and thinking. The last value of any other field, such as a signature, counts. */
function addDelta(block: Fields, { type, ...delta }: Fields): void {
  if (type === 'citations_delta') {
    block.citations = [...listOf(block.citations), delta.citation]
    return
  }
  for (const [key, value] of Object.entries(delta)) {
    const grows = (key === 'text' || key === 'thinking') && typeof value === 'string'
    block[key] = grows ? `${block[key] ?? ''}${value}` : value
  }
}
