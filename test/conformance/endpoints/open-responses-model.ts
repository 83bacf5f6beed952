/**
 * An upstream whose model answers with the messages it was sent, as a JSON list of [role, text]; given tools it calls
 * the first one until it has a result. "Be short." ends its answer at the length limit, "Break off." cuts its stream
 * in mid-word, and "Go wrong." ends it with an error. Over the responses API it behaves like the hosted one: it stores,
 * its responses have all fields, it compacts conversations, and it refuses a result without its call.
 */

import type { DialectName, ScriptedAnswer } from '../../e2e/dialects/scripted-answer.ts'
import { answerBody, answerEvents, dialectOf, stream } from '../../e2e/dialects/scripted-upstream.ts'
import { json, type Script } from '../../harness/upstream.ts'

type Json = Record<string, unknown>
/** A role and a text. */
export type RoleAndText = [string, string]

const CALL = { id: 'call_weather', name: 'get_weather', input: '{"location":"San Francisco, CA"}' }

/** An error in the middle of a stream, in each dialect. */
const WORDS = { type: 'server_error', code: 'server_error', message: 'Hidden words' }
const ERRORS: Record<DialectName, string> = {
  chat: `data: ${JSON.stringify({ error: WORDS })}\n\n`,
  responses: `event: error\ndata: ${JSON.stringify({ ...WORDS, type: 'error', param: null, sequence_number: 9 })}\n\n`,
  messages: `event: error\ndata: ${JSON.stringify({ type: 'error', error: { ...WORDS, type: 'api_error' } })}\n\n`,
}

let made = 0

export function hostedModel(): Script {
  const kept = new Map<string, Json[]>()
  return (call, res) => {
    const body = JSON.parse(call.body.toString()) as Json
    const dialect = dialectOf(call)
    const id = `resp_up_${made++}`
    const items = itemsOf(body, dialect, kept)
    if (items === undefined) {
      const message = `Previous response with id '${String(body.previous_response_id)}' not found.`
      return refuse(res, message, 'previous_response_id', 'previous_response_not_found')
    }
    const orphan = orphanOf(items)
    if (orphan !== undefined)
      return refuse(res, `No tool call found for the result of ${orphan}.`, 'input', null)
    if (call.path.endsWith('/compact')) return json(res, 200, compacted(id, items))
    const answer = answerOf(body, items)
    if (dialect === 'responses' && body.store !== false) kept.set(id, [...items, ...itemsIn(answer)])
    const own = (text: string) => (dialect === 'responses' ? hosted(text, body, id) : text)
    if (body.stream === true) {
      const events = answerEvents(dialect, answer).map(ownData(own))
      return stream(res, brokenOff(events, dialect, /Break off\.|Go wrong\./.exec(call.body.toString())?.[0]))
    }
    json(res, 200, JSON.parse(own(JSON.stringify(answerBody(dialect, answer)))) as object)
  }
}

/** Cut before the last word of `words`, if given. */
function brokenOff(events: string[], dialect: DialectName, words: string | undefined): string[] {
  if (words === undefined) return events
  const end = events.findIndex((event) => event.includes(words.split(' ')[1] ?? ''))
  return [...events.slice(0, end), ...(words === 'Go wrong.' ? [ERRORS[dialect]] : [])]
}

type Answer = Parameters<Script>[1]

function refuse(res: Answer, message: string, param: string, code: string | null): void {
  json(res, 400, { type: 'error', error: { message, type: 'invalid_request_error', param, code } })
}

function answerOf({ tools }: Json, items: Json[]): ScriptedAnswer {
  const callsTool =
    Array.isArray(tools) && tools.length > 0 && !items.some((item) => resultsOf(item).length > 0)
  if (callsTool) return { calls: [CALL] }
  const text = JSON.stringify(items.flatMap(textsIn))
  return text.includes('Be short.') ? { text, end: 'length' } : { text }
}

const itemsIn = ({ text, calls = [] }: ScriptedAnswer): Json[] =>
  text === undefined
    ? calls.map(({ id, name, input }) => ({ type: 'function_call', call_id: id, name, arguments: input }))
    : [{ role: 'assistant', content: text }]

function itemsOf(body: Json, dialect: DialectName, kept: Map<string, Json[]>): Json[] | undefined {
  if (dialect === 'chat') return listOf(body.messages)
  const system = dialect === 'messages' ? body.system : body.instructions
  const leading = system === undefined || system === null ? [] : [{ role: 'system', content: system }]
  if (dialect === 'messages') return [...leading, ...listOf(body.messages)]
  const own = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : listOf(body.input)
  const { previous_response_id: previous } = body
  const before = typeof previous === 'string' ? kept.get(previous) : []
  return before && [...leading, ...before, ...own]
}

/** Role and text of an item; an image is only a placeholder. */
function textsIn({ type, role, content, encrypted_content: sealed }: Json): RoleAndText[] {
  if (type === 'compaction') return [['compaction', String(sealed)]]
  if (typeof role !== 'string' || role === 'tool') return []
  const blocks = typeof content === 'string' ? [{ text: content }] : listOf(content)
  const parts = blocks.filter(({ type }) => !/^tool_/.test(String(type)))
  if (parts.length === 0) return []
  const texts = parts.map(({ type, text }) => (/image/.test(String(type)) ? '<image>' : String(text ?? '')))
  return [[role === 'developer' ? 'system' : role, texts.join('')]]
}

/** Ids of the calls in an item, and of the calls whose results it has, in each dialect. */
const callsOf = (item: Json): unknown[] => [
  ...(item.type === 'function_call' ? [item.call_id] : []),
  ...listOf(item.tool_calls).map(({ id }) => id),
  ...blocksOf(item, 'tool_use').map(({ id }) => id),
]
const resultsOf = (item: Json): unknown[] => [
  ...(item.type === 'function_call_output' ? [item.call_id] : []),
  ...(item.role === 'tool' ? [item.tool_call_id] : []),
  ...blocksOf(item, 'tool_result').map(({ tool_use_id }) => tool_use_id),
]
const blocksOf = ({ content }: Json, type: string) => listOf(content).filter((block) => block.type === type)

function orphanOf(items: Json[]): string | undefined {
  const calls = new Set(items.flatMap(callsOf))
  const orphan = items.flatMap(resultsOf).find((id) => !calls.has(id))
  return orphan === undefined ? undefined : String(orphan)
}

function compacted(id: string, items: Json[]): object {
  const users = items
    .filter(({ role }) => role === 'user')
    .map((item, n) => ({
      ...item,
      type: 'message',
      id: `msg_${id}_${n}`,
      status: 'completed',
      content: typeof item.content === 'string' ? [{ type: 'input_text', text: item.content }] : item.content,
    }))
  const sealed = `SEALED ${JSON.stringify(items.flatMap(textsIn))}`
  const usage = {
    input_tokens: 20,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 25,
  }
  const output = [...users, { type: 'compaction', id: `cmp_${id}`, encrypted_content: sealed }]
  return { id, object: 'response.compaction', created_at: 1_790_000_000, output, usage }
}

/** A response, or the data of an event with one, with the request's fields that the hosted API repeats. */
function hosted(text: string, body: Json, id: string): string {
  const value = JSON.parse(text) as Json & { response?: Json }
  const response = value.response ?? (value.object === 'response' ? value : undefined)
  if (response === undefined) return text
  const full = {
    ...response,
    id,
    completed_at: response.status === 'completed' ? 1_790_000_001 : null,
    previous_response_id: body.previous_response_id ?? null,
    truncation: 'disabled',
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    reasoning: { effort: null, summary: null },
    user: null,
    max_output_tokens: null,
    max_tool_calls: null,
    store: body.store ?? true,
    background: false,
    service_tier: 'default',
    safety_identifier: null,
    prompt_cache_key: null,
    tools: listOf(body.tools).map((tool) => ({ description: null, strict: true, ...tool })),
  }
  return JSON.stringify(value.response === undefined ? full : { ...value, response: full })
}

const ownData = (own: (data: string) => string) => (event: string) =>
  event.replace(/^data: (\{.*\})$/m, (_, data: string) => `data: ${own(data)}`)

function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? (value as Json[]) : []
}
