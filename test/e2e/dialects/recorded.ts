/**
 * Reads text, calls and usage from a recorded answer's bytes. It shares no code with the gateway, so that they do not
 * make the same mistake.
 */
import type { Call, Counts, DialectName } from './scripted-answer.ts'

export interface Fold {
  /** `error`: an error body or event; `cut`: a stream without its end, or a response that is only queued. */
  end: 'whole' | 'cut' | 'error'
  text: string
  reasoning: string
  calls: Call[]
  counts?: Counts
}

type Json = Record<string, unknown>

const object = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
const list = (value: unknown): Json[] => (Array.isArray(value) ? value.map(object) : [])
const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const number = (value: unknown): number => (typeof value === 'number' ? value : 0)

/** The JSON of every event of a stream. */
export function eventsOf(stream: string): Json[] {
  return stream
    .replace(/\r\n?/g, '\n')
    .split('\n\n')
    .map((event) =>
      event
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trim())
        .join('\n'),
    )
    .filter((data) => data !== '' && data !== '[DONE]')
    .map((data) => object(JSON.parse(data)))
}

export function foldRecording(dialect: DialectName, file: string, content: string): Fold {
  const stream = file.endsWith('.sse')
  const fold = { chat: stream ? chatStream : chatBody, responses: stream ? responsesStream : responsesBody }
  const of = dialect === 'messages' ? (stream ? messagesStream : messagesBody) : fold[dialect]
  return of(stream ? eventsOf(content) : [object(JSON.parse(content))])
}

const FAILED: Fold = { end: 'error', text: '', reasoning: '', calls: [] }

// --- chat -------------------------------------------------------------------------------------------------------------

function chatBody([body = {}]: Json[]): Fold {
  const [choice] = list(body.choices)
  if (choice === undefined) return FAILED
  const message = object(choice.message)
  return {
    end: 'whole',
    text: text(message.content),
    reasoning: text(message.reasoning_content ?? message.reasoning),
    calls: list(message.tool_calls).map(chatCall),
    ...chatCounts(body.usage),
  }
}

const chatCall = (call: Json): Call => {
  const named = object(call.function ?? call.custom)
  return { id: text(call.id), name: text(named.name), input: text(named.arguments ?? named.input) }
}

function chatStream(chunks: Json[]): Fold {
  if (chunks.some(({ error }) => error)) return FAILED
  const choices = chunks.flatMap((chunk) => list(chunk.choices)).filter(({ index }) => number(index) === 0)
  const deltas = choices.map(({ delta }) => object(delta))
  const calls = new Map<number, Call>()
  for (const delta of deltas) {
    for (const piece of list(delta.tool_calls)) {
      const { id, name, input } = chatCall(piece)
      const call = calls.get(number(piece.index)) ?? { id, name, input: '' }
      call.input += input
      calls.set(number(piece.index), call)
    }
  }
  return {
    end: choices.some(({ finish_reason }) => finish_reason) ? 'whole' : 'cut',
    text: deltas.map(({ content }) => text(content)).join(''),
    reasoning: deltas
      .map(({ reasoning_content, reasoning }) => text(reasoning_content ?? reasoning))
      .join(''),
    calls: [...calls.values()],
    ...chatCounts(chunks.map(({ usage }) => usage).findLast(Boolean)),
  }
}

function chatCounts(value: unknown): { counts?: Counts } {
  if (!value) return {}
  const usage = object(value)
  const details = object(usage.prompt_tokens_details)
  const reasoning = number(object(usage.completion_tokens_details).reasoning_tokens)
  const input = number(usage.prompt_tokens)
  const completion = number(usage.completion_tokens)
  // Some vendors count reasoning tokens apart from the completion; the total shows it.
  const countedApart = number(usage.total_tokens) === input + completion + reasoning
  const cached = number(details.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.num_cached_tokens)
  const output = countedApart ? completion + reasoning : completion
  return { counts: { input, cached, written: number(details.cache_write_tokens), output, reasoning } }
}

// --- responses --------------------------------------------------------------------------------------------------------

function responsesBody([body = {}]: Json[]): Fold {
  if (!Array.isArray(body.output) || body.status === 'failed') return FAILED
  return {
    end: body.status === 'queued' ? 'cut' : 'whole',
    ...items(list(body.output)),
    ...responsesCounts(body.usage),
  }
}

/** Reads items from their done events; the last event repeats them. */
function responsesStream(events: Json[]): Fold {
  if (events.some(({ type }) => type === 'error' || type === 'response.failed')) return FAILED
  const done = events
    .filter(({ type }) => type === 'response.output_item.done')
    .map(({ item }) => object(item))
  const last = events.find(({ type }) => type === 'response.completed' || type === 'response.incomplete')
  return {
    end: last ? 'whole' : 'cut',
    ...items(done),
    ...responsesCounts(object(last?.response).usage),
  }
}

function items(output: Json[]): Omit<Fold, 'end' | 'counts'> {
  const of = (...types: string[]) => output.filter(({ type }) => types.includes(text(type)))
  return {
    text: of('message')
      .flatMap(({ content }) => list(content))
      .map((part) => text(part.text))
      .join(''),
    reasoning: of('reasoning')
      .flatMap(({ summary, content }) => [...list(summary), ...list(content)])
      .map((part) => text(part.text))
      .join(''),
    calls: of('function_call', 'custom_tool_call').map((item) => ({
      id: text(item.call_id),
      name: text(item.name),
      input: text(item.arguments ?? item.input),
    })),
  }
}

function responsesCounts(value: unknown): { counts?: Counts } {
  if (!value) return {}
  const usage = object(value)
  const details = object(usage.input_tokens_details)
  return {
    counts: {
      input: number(usage.input_tokens),
      cached: number(details.cached_tokens),
      written: number(details.cache_write_tokens),
      output: number(usage.output_tokens),
      reasoning: number(object(usage.output_tokens_details).reasoning_tokens),
    },
  }
}

// --- messages ---------------------------------------------------------------------------------------------------------

function messagesBody([body = {}]: Json[]): Fold {
  if (!Array.isArray(body.content)) return FAILED
  return { end: 'whole', ...blocks(list(body.content)), ...messagesCounts(object(body.usage)) }
}

function messagesStream(all: Json[]): Fold {
  // Ignore events after the end.
  const stop = all.findIndex(({ type }) => type === 'message_stop')
  const events = all.slice(0, stop < 0 ? all.length : stop)
  if (events.some(({ type }) => type === 'error')) return FAILED
  const open = new Map<number, Json>()
  let usage: Json = {}
  for (const event of events) {
    const block = open.get(number(event.index)) ?? {}
    const delta = object(event.delta)
    if (event.type === 'content_block_start')
      open.set(number(event.index), { ...object(event.content_block) })
    if (event.type === 'content_block_delta') {
      for (const key of ['text', 'thinking', 'partial_json'])
        if (typeof delta[key] === 'string') block[key] = text(block[key]) + delta[key]
    }
    const counted = object(event.type === 'message_start' ? object(event.message).usage : event.usage)
    usage = { ...usage, ...Object.fromEntries(Object.entries(counted).filter(([, value]) => value !== null)) }
  }
  return { end: stop < 0 ? 'cut' : 'whole', ...blocks([...open.values()]), ...messagesCounts(usage) }
}

function blocks(content: Json[]): Omit<Fold, 'end' | 'counts'> {
  const of = (name: string) => content.filter(({ type }) => type === name)
  return {
    text: of('text')
      .map((block) => text(block.text))
      .join(''),
    reasoning: of('thinking')
      .map((block) => text(block.thinking))
      .join(''),
    calls: of('tool_use').map(({ id, name, input, partial_json }) => ({
      id: text(id),
      name: text(name),
      input: text(partial_json) || JSON.stringify(input),
    })),
  }
}

/** Sums the passes of an answer; with a model fallback the totals already include all of them. */
function messagesCounts(usage: Json): { counts: Counts } {
  const iterations = list(usage.iterations)
  const replaced = iterations.some(({ type }) => type === 'fallback_message')
  const passes = replaced ? [] : iterations.filter(({ type }) => type === 'message' || type === 'compaction')
  const counted = passes.length > 0 ? passes : [usage]
  const sum = (key: string) => counted.reduce((total, one) => total + number(one[key]), 0)
  const cached = sum('cache_read_input_tokens')
  const written = sum('cache_creation_input_tokens')
  return {
    counts: {
      input: sum('input_tokens') + cached + written,
      cached,
      written,
      output: sum('output_tokens'),
      reasoning: number(object(usage.output_tokens_details).thinking_tokens),
    },
  }
}
