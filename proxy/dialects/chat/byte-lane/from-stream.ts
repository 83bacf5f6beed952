/** Converts a whole stream to a completion, for a client that requested no stream. */
import { type Fields, isRecord, listOf, noFields, textOf, tryParse } from '../../core/json/value.ts'
import { sseEvents } from '../../core/sse/events.ts'
import { startsAnother } from '../codec/answer/stream-calls.ts'
import { addDetails } from '../codec/answer/stream-details.ts'

/** Fields of a delta that arrive whole: repetitions are not appended. */
const WHOLE = new Set(['id', 'index', 'type', 'role', 'name'])

/** @param events of a finished stream. Unknown fields are merged by their type. */
export function fromStream(events: Buffer): Fields {
  const completion = noFields()
  const choices = new Map<unknown, Fields>()
  for (const { data } of sseEvents(events)) {
    const chunk = tryParse(data)
    if (!isRecord(chunk)) continue
    const { choices: given, ...head } = chunk
    for (const [key, value] of Object.entries(head)) completion[key] = value || (completion[key] ?? value)
    for (const [i, choice] of recordsOf(given).entries()) {
      const index = choice.index ?? i
      const known =
        choices.get(index) ?? fieldsOf({ index, message: fieldsOf({ role: 'assistant', content: null }) })
      choices.set(index, known)
      addChoice(known, choice)
    }
  }
  return { ...completion, object: 'chat.completion', choices: [...choices.values()].map(finished) }
}

function addChoice(known: Fields, { delta, index: _index, ...rest }: Fields): void {
  if (isRecord(delta) && isRecord(known.message)) addDelta(known.message, delta)
  for (const [key, value] of Object.entries(rest)) {
    if (key === 'logprobs') known.logprobs = merged(known.logprobs, value)
    else if (value || !(key in known)) known[key] = value
  }
}

function addDelta(message: Fields, delta: Fields): void {
  for (const [key, value] of Object.entries(delta)) {
    if (!Array.isArray(value))
      message[key] = WHOLE.has(key) ? message[key] || value : merged(message[key], value)
    else if (key === 'tool_calls') message[key] = addCalls(recordsOf(message[key]), value.filter(isRecord))
    else if (key === 'reasoning_details') {
      const entries = recordsOf(message[key])
      addDetails(entries, value.filter(isRecord))
      message[key] = entries
    } else message[key] = merged(message[key], value)
  }
}

function addCalls(calls: Fields[], entries: readonly Fields[]): Fields[] {
  for (const entry of entries) {
    const id = textOf(entry.id)
    const known =
      typeof entry.index === 'number'
        ? calls.findLast((call) => call.index === entry.index)
        : (calls.findLast((call) => id !== '' && call.id === id) ?? calls.at(-1))
    const { name, input } = bodyOf(entry)
    if (known === undefined || startsAnother({ id: textOf(known.id), ...bodyOf(known) }, id, name, input))
      calls.push(merged({}, entry) as Fields)
    else for (const [key, value] of Object.entries(entry)) known[key] = mergedField(key, known[key], value)
  }
  return calls
}

function bodyOf(call: Fields): { name: string; input: string } {
  const body = [call.function, call.custom].find(isRecord) ?? {}
  return { name: textOf(body.name), input: textOf(body.arguments) || textOf(body.input) }
}

/** Appends texts and lists, merges objects field by field, and replaces any other value. */
function merged(known: unknown, value: unknown): unknown {
  if (value === null || value === undefined) return known ?? value
  if (typeof known === 'string' && typeof value === 'string') return known + value
  if (Array.isArray(known) && Array.isArray(value)) return [...known, ...value]
  if (!isRecord(value)) return value
  const out = fieldsOf(isRecord(known) ? known : {})
  for (const [key, inner] of Object.entries(value)) out[key] = mergedField(key, out[key], inner)
  return out
}

function mergedField(key: string, known: unknown, value: unknown): unknown {
  return WHOLE.has(key) ? known || value : merged(known, value)
}

/** Removes the indexes of calls, and adds a finish that the upstream did not send. */
function finished(choice: Fields): Fields {
  const message = isRecord(choice.message) ? choice.message : {}
  const calls = recordsOf(message.tool_calls).map(({ index: _index, ...call }) => ({
    ...call,
    type: call.type || ('custom' in call ? 'custom' : 'function'),
  }))
  const reason = choice.finish_reason || (calls.length > 0 ? 'tool_calls' : 'stop')
  return {
    ...choice,
    message: calls.length > 0 ? { ...message, tool_calls: calls } : message,
    finish_reason: reason,
  }
}

/** A copy without a prototype, which can take a field of any name. */
function fieldsOf(fields: Fields): Fields {
  return Object.assign(noFields(), fields)
}

function recordsOf(value: unknown): Fields[] {
  return listOf(value).filter(isRecord)
}
