/**
 * The content of an answer, read from the plain JSON of each dialect independently of the codecs. Two answers have the same
 * content if their views are equal.
 */
import { isRecord, tryParse } from '../../../proxy/dialects/core/json/value.ts'
import type { DialectName } from './codecs.ts'

type Json = Record<string, unknown>

export interface CallView {
  id: string
  kind: 'function' | 'custom'
  name: string
  /** For a function, the JSON value; text if it is not JSON. */
  input: unknown
}

export interface UsageView {
  /** All prompt tokens, cached ones included. */
  prompt: number
  cached: number
  written: number
  output: number
  reasoning: number
}

export interface View {
  /** All text in order. */
  text: string
  /** The text of a refusal, beside or instead of the text. */
  refusal: string
  /** Without white space around paragraphs, which dialects join differently. */
  reasoning: string
  calls: CallView[]
  finish: 'stop' | 'length' | 'tool-calls' | 'content-filter'
  usage: UsageView | undefined
}

export function viewOf(dialect: DialectName, answer: unknown): View {
  const view = READERS[dialect](record(answer))
  if (view.calls.length > 0 && view.finish === 'stop') view.finish = 'tool-calls'
  return { ...view, reasoning: view.reasoning.replace(/\s+/g, ' ').trim() }
}

/**
 * The view that a client of dialect `to` must get for an answer with `view` in dialect `from`: the inexact rows of the
 * tables of contents and stop reasons.
 */
export function viewFor(view: View, from: DialectName, to: DialectName): View {
  if (from === to) return view
  if (to === 'messages') {
    // Messages has neither refusal parts nor free text as tool input.
    const finish = view.refusal !== '' && view.finish === 'stop' ? 'content-filter' : view.finish
    const calls = view.calls.map((call) =>
      call.kind === 'custom' ? { ...call, kind: 'function' as const, input: { input: call.input } } : call,
    )
    return { ...view, text: view.text + view.refusal, refusal: '', finish, calls }
  }
  return view
}

const READERS: Record<DialectName, (answer: Json) => View> = {
  chat: chatView,
  responses: responsesView,
  messages: messagesView,
}

function chatView(answer: Json): View {
  const choice = records(answer.choices)[0] ?? {}
  const message = record(choice.message)
  const text = textOf(message.content)
  const refusal = string(message.refusal)
  const legacy = isRecord(message.function_call) ? [{ id: '', function: message.function_call }] : []
  const calls = [...records(message.tool_calls), ...legacy].map((call: Json): CallView => {
    if (call.type === 'custom') {
      const inner = record(call.custom)
      return { id: string(call.id), kind: 'custom', name: string(inner.name), input: string(inner.input) }
    }
    const inner = record(call.function)
    return functionCall(call.id, inner.name, inner.arguments)
  })
  const reasoning = string(message.reasoning_content) || string(message.reasoning)
  const finish = chatFinish(choice.finish_reason)
  return { text, refusal, reasoning, calls, finish, usage: chatUsage(answer.usage) }
}

function chatFinish(reason: unknown): View['finish'] {
  if (reason === 'length') return 'length'
  if (reason === 'content_filter') return 'content-filter'
  return reason === 'tool_calls' || reason === 'function_call' ? 'tool-calls' : 'stop'
}

function responsesView(answer: Json): View {
  let text = ''
  let refusal = ''
  const reasoning: string[] = []
  const calls: CallView[] = []
  for (const item of records(answer.output)) {
    if (item.type === 'message') {
      for (const part of records(item.content)) {
        text += string(part.text)
        refusal += string(part.refusal)
      }
    } else if (item.type === 'reasoning') {
      const summary = records(item.summary)
      const source = summary.length > 0 ? summary : records(item.content)
      reasoning.push(...source.map((part) => string(part.text)))
    } else if (item.type === 'function_call') {
      calls.push(functionCall(item.call_id, item.name, item.arguments))
    } else if (item.type === 'custom_tool_call') {
      const { call_id, name, input } = item
      calls.push({ id: string(call_id), kind: 'custom', name: string(name), input: string(input) })
    }
  }
  const why = record(answer.incomplete_details).reason
  const incomplete =
    why === 'content_filter' ? 'content-filter' : why === 'max_output_tokens' ? 'length' : 'stop'
  const finish = answer.status === 'incomplete' ? incomplete : 'stop'
  const usage = responsesUsage(answer.usage)
  return { text, refusal, reasoning: reasoning.join('\n\n'), calls, finish, usage }
}

function messagesView(answer: Json): View {
  const blocks = records(answer.content)
  const of = (type: string) => blocks.filter((block) => block.type === type)
  const text = of('text').map((block) => string(block.text))
  const thoughts = of('thinking').map((block) => string(block.thinking))
  return {
    text: text.join(''),
    refusal: string(record(answer.stop_details).explanation),
    reasoning: thoughts.filter((thought) => thought !== '').join('\n\n'),
    calls: of('tool_use').map((block) => ({
      id: string(block.id),
      kind: 'function',
      name: string(block.name),
      input: block.input,
    })),
    finish: MESSAGES_FINISH[string(answer.stop_reason)] ?? 'stop',
    usage: messagesUsage(answer.usage),
  }
}

const MESSAGES_FINISH: Record<string, View['finish']> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  compaction: 'length',
  refusal: 'content-filter',
  tool_use: 'tool-calls',
}

function functionCall(id: unknown, name: unknown, text: unknown): CallView {
  const json = string(text).trim() === '' ? {} : tryParse(string(text))
  return { id: string(id), kind: 'function', name: string(name), input: json ?? text }
}

function chatUsage(value: unknown): UsageView | undefined {
  if (!isRecord(value)) return undefined
  const details = record(value.prompt_tokens_details)
  const reasoning = number(record(value.completion_tokens_details).reasoning_tokens)
  const output = number(value.completion_tokens)
  // xAI does not count reasoning as part of the completion.
  const beside = number(value.total_tokens) === number(value.prompt_tokens) + output + reasoning
  return {
    prompt: number(value.prompt_tokens),
    cached: number(details.cached_tokens ?? value.prompt_cache_hit_tokens ?? value.num_cached_tokens),
    written: number(details.cache_write_tokens),
    output: beside ? output + reasoning : output,
    reasoning,
  }
}

function responsesUsage(value: unknown): UsageView | undefined {
  if (!isRecord(value)) return undefined
  const details = record(value.input_tokens_details)
  return {
    prompt: number(value.input_tokens),
    cached: number(details.cached_tokens),
    written: number(details.cache_write_tokens),
    output: number(value.output_tokens),
    reasoning: number(record(value.output_tokens_details).reasoning_tokens),
  }
}

function messagesUsage(value: unknown): UsageView | undefined {
  if (!isRecord(value)) return undefined
  const calls = records(value.iterations).filter(({ type }) => type === 'message' || type === 'compaction')
  const summed = (name: string) =>
    calls.length > 0 ? calls.reduce((sum, call) => sum + number(call[name]), 0) : number(value[name])
  const cached = summed('cache_read_input_tokens')
  const written = summed('cache_creation_input_tokens')
  return {
    prompt: summed('input_tokens') + cached + written,
    cached,
    written,
    output: summed('output_tokens'),
    reasoning: number(record(value.output_tokens_details).thinking_tokens),
  }
}

/** The text of a content, which is a string or a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return records(content)
    .map((part) => string(part.text))
    .join('')
}

const record = (value: unknown): Json => (isRecord(value) ? value : {})
const records = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isRecord) : [])
const string = (value: unknown): string => (typeof value === 'string' ? value : '')
const number = (value: unknown): number => (typeof value === 'number' ? value : 0)
