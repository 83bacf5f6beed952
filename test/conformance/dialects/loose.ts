/**
 * Turns the stream of an upstream into a plain answer of its dialect, as a lenient client would. It is independent of the
 * codecs, so tests can compare their result with this one.
 */
import { isRecord, tryParse } from '../../../proxy/dialects/core/json/value.ts'
import type { DialectName } from './codecs.ts'
import { specEvents } from './sse.ts'

type Json = Record<string, unknown>

export interface LooseAnswer {
  answer: Json
  /** How the stream ended: with its dialect's last event, an error event, or neither. */
  end: 'complete' | 'error' | 'cut'
}

export function sumStream(dialect: DialectName, text: string): LooseAnswer {
  const data = specEvents(text).map((event) => event.data)
  if (dialect === 'chat') return sumChat(data)
  const events = data.map(tryParse).filter(isRecord)
  return dialect === 'responses' ? sumResponses(events) : sumMessages(events)
}

function sumChat(data: string[]): LooseAnswer {
  const message: Json = { content: null }
  const calls: Json[] = []
  let current: Json | undefined
  const byIndex = new Map<unknown, Json>()
  let finish: unknown = null
  let usage: unknown
  let end: LooseAnswer['end'] = 'cut'

  const add = (name: string, more: unknown) => {
    if (typeof more === 'string') message[name] = `${message[name] ?? ''}${more}`
  }
  const addCall = (piece: Json) => {
    const open = piece.index === undefined ? current : byIndex.get(piece.index)
    const inner = isRecord(piece.function) ? piece.function : isRecord(piece.custom) ? piece.custom : {}
    const isNew = open === undefined || (nonEmpty(piece.id) && nonEmpty(open.id) && piece.id !== open.id)
    const call = isNew
      ? { type: 'custom' in piece ? 'custom' : 'function', id: '', name: '', text: '' }
      : open
    if (isNew) calls.push(call)
    current = call
    byIndex.set(piece.index, call)
    if (nonEmpty(piece.id)) call.id = piece.id
    if (nonEmpty(inner.name)) call.name = inner.name
    call.text = `${call.text}${inner.arguments ?? inner.input ?? ''}`
  }

  for (const item of data) {
    if (item.trim() === '[DONE]') {
      end = 'complete'
      break
    }
    const chunk = tryParse(item)
    if (!isRecord(chunk)) continue
    if (chunk.error) return { answer: {}, end: 'error' }
    if (isRecord(chunk.usage)) usage = chunk.usage
    const choice = Array.isArray(chunk.choices)
      ? chunk.choices.find((one) => isRecord(one) && !one.index)
      : undefined
    if (!isRecord(choice)) continue
    if (nonEmpty(choice.finish_reason)) finish = choice.finish_reason
    const delta = isRecord(choice.delta) ? choice.delta : {}
    add('content', delta.content)
    add('refusal', delta.refusal)
    add('reasoning_content', delta.reasoning_content ?? delta.reasoning)
    if (Array.isArray(delta.tool_calls)) delta.tool_calls.filter(isRecord).forEach(addCall)
    if (isRecord(delta.function_call)) addCall({ index: 0, function: delta.function_call })
  }
  if (end === 'cut' && finish !== null) end = 'complete'
  message.tool_calls = calls.map(({ id, type, name, text }) =>
    type === 'custom'
      ? { id, type, custom: { name, input: text } }
      : { id, type, function: { name, arguments: text } },
  )
  return { answer: { choices: [{ message, finish_reason: finish }], usage }, end }
}

/** The last event has the whole answer; items that occur only in their own events are added. */
function sumResponses(events: Json[]): LooseAnswer {
  const items: Json[] = []
  for (const event of events) {
    if (event.type === 'response.output_item.done' && isRecord(event.item)) items.push(event.item)
    if (event.type === 'error' || event.type === 'response.failed') return { answer: {}, end: 'error' }
    if (event.type !== 'response.completed' && event.type !== 'response.incomplete') continue
    const answer = isRecord(event.response) ? event.response : {}
    const output = Array.isArray(answer.output) && answer.output.length > 0 ? answer.output : items
    return { answer: { ...answer, output }, end: 'complete' }
  }
  return { answer: {}, end: 'cut' }
}

function sumMessages(events: Json[]): LooseAnswer {
  let answer: Json = {}
  let usage: Json = {}
  const blocks = new Map<unknown, Json>()
  const inputs = new Map<unknown, string>()

  const more = (value: unknown) => {
    const counts = Object.entries(isRecord(value) ? value : {}).filter(([, count]) => count !== null)
    usage = { ...usage, ...Object.fromEntries(counts) }
  }
  const add = (index: unknown, delta: Json) => {
    const block = blocks.get(index)
    if (block === undefined) return
    if (typeof delta.text === 'string') block.text = `${block.text ?? ''}${delta.text}`
    if (typeof delta.thinking === 'string') block.thinking = `${block.thinking ?? ''}${delta.thinking}`
    if (typeof delta.partial_json === 'string')
      inputs.set(index, (inputs.get(index) ?? '') + delta.partial_json)
  }

  for (const event of events) {
    if (event.type === 'error') return { answer: {}, end: 'error' }
    if (event.type === 'message_start' && isRecord(event.message)) {
      answer = { ...event.message }
      more(event.message.usage)
    }
    if (event.type === 'content_block_start' && isRecord(event.content_block)) {
      blocks.set(event.index, { ...event.content_block })
    }
    if (event.type === 'content_block_delta' && isRecord(event.delta)) add(event.index, event.delta)
    if (event.type === 'message_delta') {
      answer = { ...answer, ...(isRecord(event.delta) ? event.delta : {}) }
      more(event.usage)
    }
    if (event.type !== 'message_stop') continue
    for (const [index, text] of inputs) {
      const block = blocks.get(index)
      if (block !== undefined && text.trim() !== '') block.input = tryParse(text) ?? text
    }
    return { answer: { ...answer, usage, content: [...blocks.values()] }, end: 'complete' }
  }
  return { answer: {}, end: 'cut' }
}

const nonEmpty = (value: unknown): value is string => typeof value === 'string' && value !== ''
