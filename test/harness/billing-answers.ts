/** What the billing upstream makes of a script, in each dialect. */
import type { ServerResponse } from 'node:http'

/** Before its head; after its head; in the middle of the text; after the text and its finish reason, before the usage. */
export type Stage = 'head' | 'thinking' | 'text' | 'end'

/** Tokens made so far. */
export interface UpstreamBill {
  input: number
  /** Reasoning included. */
  output: number
}

interface Plan {
  /** Hidden tokens. */
  reasoning: number
  /** Tokens of text, or of the arguments of a tool call. */
  words: number
  tool?: true
  /** Tokens in an event; 1 if absent. */
  perEvent?: number
  /** The stream ends with an error after half of the words. */
  fails?: true
  /** Makes tokens one by one, as a model does, so that a client can leave between them. */
  paced?: true
}

export const SCRIPTS = {
  default: { reasoning: 400, words: 40 },
  plain: { reasoning: 0, words: 60, paced: true },
  reasoning: { reasoning: 400, words: 40, paced: true },
  tool: { reasoning: 0, words: 60, tool: true, paced: true },
  long: { reasoning: 0, words: 600, perEvent: 3, paced: true },
  failing: { reasoning: 0, words: 80, fails: true, paced: true },
} as const satisfies Record<string, Plan>
export type Script = keyof typeof SCRIPTS

export interface Asked {
  model: string
  stream: boolean
  script: Plan
  /** The answer goes on; rejects when the connection is closed. */
  reach(stage?: Stage): Promise<void>
  work: UpstreamBill
}

/** A token of four bytes. */
const WORD = 'abc '
/** Tokens as models have them: one to eight bytes, 4.3 in the mean. */
const UNEVEN = [
  'the ',
  'weather',
  ' is',
  ' un',
  'predict',
  'able',
  ', ',
  'however ',
  '4',
  '2 ',
  'degrees ',
  'so ',
]
const tokensOf = ({ words, paced }: Plan) =>
  Array.from({ length: words }, (_, i) => (paced ? (UNEVEN[i % UNEVEN.length] ?? '') : WORD))
const textOf = (plan: Plan) => tokensOf(plan).join('')
/** The arguments of a tool call. */
const argumentsOf = (plan: Plan) => JSON.stringify({ text: textOf(plan) })
const CALL = { id: 'call_1', name: 'write' }
const FAILURE = { message: 'The model failed.', type: 'server_error', code: 'server_error' }
/** Of hidden reasoning. */
const TOKENS_AT_ONCE = 20

class Failed extends Error {}

export const ANSWERS: Record<string, (asked: Asked, res: ServerResponse) => Promise<void>> = {
  '/chat/completions': chat,
  '/messages': messages,
  '/responses': responses,
}

function event(res: ServerResponse, data: object, type?: string): void {
  res.write(`${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(data)}\n\n`)
}

/** Thinks, then writes `word` for each word; stops at the stage that the test chose. Rejects with Failed if the script fails. */
async function make({ reach, work, script, stream }: Asked, write: (word: string) => void): Promise<void> {
  const { reasoning, words, tool, fails, paced, perEvent = 1 } = script
  const tokens = tokensOf(script)
  const [before, after] = tool ? ['{"text":"', '"}'] : ['', '']
  const pause = async () => {
    if (!paced || !stream) return
    await new Promise((resolve) => setTimeout(resolve, 1))
    await reach()
  }
  await reach('thinking')
  while (work.output < reasoning) {
    work.output += paced ? Math.min(TOKENS_AT_ONCE, reasoning - work.output) : reasoning
    await pause()
  }
  for (let i = 0; i < words; i++) {
    if (i === words / 2) await reach('text')
    if (fails && i === words / 2) throw new Failed()
    work.output++
    if ((i + 1) % perEvent > 0) continue
    const first = Math.max(0, i + 1 - perEvent)
    const said = tokens.slice(first, i + 1).join('')
    write(`${first === 0 ? before : ''}${said}${i === words - 1 ? after : ''}`)
    await pause()
  }
  await reach()
}

function whole(res: ServerResponse, body: object): void {
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function begin(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' })
}

/** The rest of a stream, unless its script fails: then the error, and its end. */
async function orFailure(res: ServerResponse, made: Promise<void>, fail: () => void): Promise<boolean> {
  try {
    await made
    return true
  } catch (error) {
    if (!(error instanceof Failed)) throw error
    fail()
    res.end()
    return false
  }
}

async function chat(asked: Asked, res: ServerResponse): Promise<void> {
  const { model, stream, reach, work, script } = asked
  const usage = () => ({
    prompt_tokens: work.input,
    completion_tokens: work.output,
    total_tokens: work.input + work.output,
    completion_tokens_details: { reasoning_tokens: script.reasoning },
  })
  const base = { id: 'chatcmpl-1', created: 1, model }
  const end = script.tool ? 'tool_calls' : 'stop'
  const callOf = (args: string) => ({ ...CALL_OF_CHAT, function: { name: CALL.name, arguments: args } })
  await reach('head')
  if (!stream) {
    await make(asked, () => undefined)
    const said = script.tool
      ? { content: null, tool_calls: [callOf(argumentsOf(script))] }
      : { content: textOf(script) }
    const message = { role: 'assistant', refusal: null, ...said }
    const choices = [{ index: 0, message, finish_reason: end, logprobs: null }]
    return whole(res, { ...base, object: 'chat.completion', choices, usage: usage() })
  }
  const chunk = (choices: object[], more: object = {}) =>
    event(res, { ...base, object: 'chat.completion.chunk', choices, ...more })
  const delta = (delta: object, finish_reason: string | null = null) =>
    chunk([{ index: 0, delta, finish_reason }])
  begin(res)
  delta({ role: 'assistant', content: script.tool ? null : '' })
  let begun = false
  const write = (word: string) => {
    if (!script.tool) return delta({ content: word })
    const own = begun ? { function: { arguments: word } } : callOf(word)
    begun = true
    delta({ tool_calls: [{ index: 0, ...own }] })
  }
  const isMade = await orFailure(res, make(asked, write), () => event(res, { error: FAILURE }))
  if (!isMade) return
  delta({}, end)
  await reach('end')
  chunk([], { usage: usage() })
  res.end('data: [DONE]\n\n')
}

const CALL_OF_CHAT = { id: CALL.id, type: 'function' }

async function messages(asked: Asked, res: ServerResponse): Promise<void> {
  const { model, stream, reach, work, script } = asked
  const base = { id: 'msg_1', type: 'message', role: 'assistant', model, stop_sequence: null }
  const end = script.tool ? 'tool_use' : 'end_turn'
  await reach('head')
  if (!stream) {
    await make(asked, () => undefined)
    const content = script.tool
      ? [{ type: 'tool_use', ...CALL, input: { text: textOf(script) } }]
      : [{ type: 'text', text: textOf(script) }]
    const usage = { input_tokens: work.input, output_tokens: work.output }
    return whole(res, { ...base, content, stop_reason: end, usage })
  }
  const send = (data: { type: string } & Record<string, unknown>) => event(res, data, data.type)
  begin(res)
  const usage = { input_tokens: work.input, output_tokens: 1 }
  send({ type: 'message_start', message: { ...base, content: [], stop_reason: null, usage } })
  const block = script.tool ? { type: 'tool_use', ...CALL, input: {} } : { type: 'text', text: '' }
  let begun = false
  const write = (word: string) => {
    if (!begun) send({ type: 'content_block_start', index: 0, content_block: block })
    begun = true
    const delta = script.tool
      ? { type: 'input_json_delta', partial_json: word }
      : { type: 'text_delta', text: word }
    send({ type: 'content_block_delta', index: 0, delta })
  }
  const isMade = await orFailure(res, make(asked, write), () => send({ type: 'error', error: FAILURE }))
  if (!isMade) return
  send({ type: 'content_block_stop', index: 0 })
  await reach('end')
  const delta = { stop_reason: end, stop_sequence: null }
  send({ type: 'message_delta', delta, usage: { output_tokens: work.output } })
  send({ type: 'message_stop' })
  res.end()
}

async function responses(asked: Asked, res: ServerResponse): Promise<void> {
  const { model, stream, reach, work, script } = asked
  const base = { id: 'resp_1', object: 'response', created_at: 1, model }
  const text = textOf(script)
  const part = { type: 'output_text', text, annotations: [] }
  const said = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [part] }
  const called = {
    type: 'function_call',
    id: 'fc_1',
    call_id: CALL.id,
    name: CALL.name,
    arguments: argumentsOf(script),
    status: 'completed',
  }
  const item = script.tool ? called : said
  const completed = () => ({
    ...base,
    status: 'completed',
    output: [item],
    usage: {
      input_tokens: work.input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: work.output,
      output_tokens_details: { reasoning_tokens: script.reasoning },
      total_tokens: work.input + work.output,
    },
  })
  await reach('head')
  if (!stream) {
    await make(asked, () => undefined)
    return whole(res, completed())
  }
  let number = 0
  const send = (data: { type: string } & Record<string, unknown>) =>
    event(res, { ...data, sequence_number: number++ }, data.type)
  const at = { item_id: item.id, output_index: 0 }
  const inPart = { ...at, content_index: 0 }
  begin(res)
  send({ type: 'response.created', response: { ...base, status: 'in_progress', output: [] } })
  let begun = false
  const write = (word: string) => {
    if (!begun) {
      const empty = script.tool ? { ...called, arguments: '' } : { ...said, content: [] }
      send({ type: 'response.output_item.added', output_index: 0, item: { ...empty, status: 'in_progress' } })
      if (!script.tool) send({ type: 'response.content_part.added', ...inPart, part: { ...part, text: '' } })
    }
    begun = true
    if (script.tool) send({ type: 'response.function_call_arguments.delta', ...at, delta: word })
    else send({ type: 'response.output_text.delta', ...inPart, delta: word, logprobs: [] })
  }
  const isMade = await orFailure(res, make(asked, write), () => {
    const response = { ...base, status: 'failed', output: [], error: FAILURE }
    send({ type: 'response.failed', response })
  })
  if (!isMade) return
  if (script.tool) {
    const all = { arguments: called.arguments }
    send({ type: 'response.function_call_arguments.done', ...at, ...all })
  } else {
    send({ type: 'response.output_text.done', ...inPart, text, logprobs: [] })
    send({ type: 'response.content_part.done', ...inPart, part })
  }
  send({ type: 'response.output_item.done', output_index: 0, item })
  await reach('end')
  send({ type: 'response.completed', response: completed() })
  res.end()
}
