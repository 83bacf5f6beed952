/**
 * An upstream that keeps its own bill. It speaks all dialects of text, thinks before it writes, and bills what it has made
 * until the answer is over or the connection closes. A test can stop it at a stage of its answer.
 */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { until } from './gateway.ts'

/** Before its head; after its head; in the middle of the text; after the text and its finish reason, before the usage. */
export type Stage = 'head' | 'thinking' | 'text' | 'end'

/** Tokens made so far. */
export interface UpstreamBill {
  input: number
  /** Reasoning included. */
  output: number
}

export const INPUT_TOKENS = 100
export const REASONING_TOKENS = 400
const WORDS = 40
/** A token of four bytes. */
const WORD = 'abc '
export const OUTPUT_TOKENS = REASONING_TOKENS + WORDS

/** A prompt of 400 bytes that names its case. */
export const promptOf = (id: string) => `case:${id};`.padEnd(INPUT_TOKENS * 4, 'p')

export interface BillingUpstream {
  /** Base URL for a channel; messages channels expect it without the version. */
  origin: string
  bill(id: string): UpstreamBill | undefined
  /** The answer to this prompt stops there until it is released. */
  stopAt(id: string, stage: Stage): void
  /** Resolves when the answer has stopped. */
  stopped(id: string): Promise<unknown>
  release(id: string): void
  /** Resolves when the answer is over: made to its end, or broken off. */
  over(id: string): Promise<unknown>
  close(): Promise<void>
}

interface Work extends UpstreamBill {
  stopped: boolean
  over: boolean
}

interface Asked {
  model: string
  stream: boolean
  /** The answer goes on; rejects when the connection is closed. */
  reach(stage: Stage): Promise<void>
  work: Work
}

export async function startBillingUpstream(): Promise<BillingUpstream> {
  const works = new Map<string, Work>()
  const stops = new Map<string, { stage: Stage; gate: PromiseWithResolvers<void> }>()
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    const id = /case:([\w-]+);/.exec(text)?.[1] ?? ''
    const body = JSON.parse(text) as { model: string; stream?: boolean }
    const work: Work = { input: INPUT_TOKENS, output: 0, stopped: false, over: false }
    works.set(id, work)
    const closed = once(res, 'close').then(() => Promise.reject(new Error('closed')))
    closed.catch(() => {
      work.over = true
    })
    const reach = async (stage: Stage) => {
      const stop = stops.get(id)
      if (stop?.stage === stage) {
        work.stopped = true
        await Promise.race([stop.gate.promise, closed])
      }
      if (res.destroyed) throw new Error('closed')
    }
    const answer = Object.entries(ANSWERS).find(([path]) => req.url?.endsWith(path))?.[1]
    const asked = { model: body.model, stream: body.stream === true, reach, work }
    await answer?.(asked, res).catch(() => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bill: (id) => works.get(id),
    stopAt: (id, stage) => stops.set(id, { stage, gate: Promise.withResolvers() }),
    stopped: (id) => until(() => works.get(id)?.stopped, `the answer to ${id} to stop`),
    release: (id) => stops.get(id)?.gate.resolve(),
    over: (id) => until(() => works.get(id)?.over, `the answer to ${id} to be over`),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const ANSWERS: Record<string, (asked: Asked, res: ServerResponse) => Promise<void>> = {
  '/chat/completions': chat,
  '/messages': messages,
  '/responses': responses,
}

const TEXT = WORD.repeat(WORDS)

function event(res: ServerResponse, data: object, type?: string): void {
  res.write(`${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(data)}\n\n`)
}

/** Thinks, then writes `word` for each word; stops at the stage that the test chose. */
async function make({ reach, work }: Asked, word: () => void = () => undefined): Promise<void> {
  await reach('thinking')
  work.output = REASONING_TOKENS
  for (let i = 0; i < WORDS; i++) {
    if (i === WORDS / 2) await reach('text')
    work.output++
    word()
  }
}

function whole(res: ServerResponse, body: object): void {
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function begin(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' })
}

async function chat(asked: Asked, res: ServerResponse): Promise<void> {
  const { model, stream, reach, work } = asked
  const usage = () => ({
    prompt_tokens: work.input,
    completion_tokens: work.output,
    total_tokens: work.input + work.output,
    completion_tokens_details: { reasoning_tokens: REASONING_TOKENS },
  })
  const base = { id: 'chatcmpl-1', created: 1, model }
  await reach('head')
  if (!stream) {
    await make(asked)
    const message = { role: 'assistant', content: TEXT, refusal: null }
    const choices = [{ index: 0, message, finish_reason: 'stop', logprobs: null }]
    return whole(res, { ...base, object: 'chat.completion', choices, usage: usage() })
  }
  const chunk = (choices: object[], more: object = {}) =>
    event(res, { ...base, object: 'chat.completion.chunk', choices, ...more })
  const delta = (delta: object, finish_reason: string | null = null) =>
    chunk([{ index: 0, delta, finish_reason }])
  begin(res)
  delta({ role: 'assistant', content: '' })
  await make(asked, () => delta({ content: WORD }))
  delta({}, 'stop')
  await reach('end')
  chunk([], { usage: usage() })
  res.end('data: [DONE]\n\n')
}

async function messages(asked: Asked, res: ServerResponse): Promise<void> {
  const { model, stream, reach, work } = asked
  const base = { id: 'msg_1', type: 'message', role: 'assistant', model, stop_sequence: null }
  await reach('head')
  if (!stream) {
    await make(asked)
    const content = [{ type: 'text', text: TEXT }]
    const usage = { input_tokens: work.input, output_tokens: work.output }
    return whole(res, { ...base, content, stop_reason: 'end_turn', usage })
  }
  const send = (data: { type: string }) => event(res, data, data.type)
  begin(res)
  const usage = { input_tokens: work.input, output_tokens: 1 }
  const message = { ...base, content: [], stop_reason: null, usage }
  send({ type: 'message_start', message } as { type: string })
  const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
  await make(asked, () => {
    if (work.output === REASONING_TOKENS + 1) send(block)
    const delta = { type: 'text_delta', text: WORD }
    send({ type: 'content_block_delta', index: 0, delta } as { type: string })
  })
  send({ type: 'content_block_stop', index: 0 } as { type: string })
  await reach('end')
  const end = { stop_reason: 'end_turn', stop_sequence: null }
  send({ type: 'message_delta', delta: end, usage: { output_tokens: work.output } } as { type: string })
  send({ type: 'message_stop' })
  res.end()
}

async function responses(asked: Asked, res: ServerResponse): Promise<void> {
  const { model, stream, reach, work } = asked
  const base = { id: 'resp_1', object: 'response', created_at: 1, model }
  const part = { type: 'output_text', text: TEXT, annotations: [] }
  const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [part] }
  const completed = () => ({
    ...base,
    status: 'completed',
    output: [item],
    usage: {
      input_tokens: work.input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: work.output,
      output_tokens_details: { reasoning_tokens: REASONING_TOKENS },
      total_tokens: work.input + work.output,
    },
  })
  await reach('head')
  if (!stream) {
    await make(asked)
    return whole(res, completed())
  }
  let number = 0
  const send = (data: { type: string } & Record<string, unknown>) =>
    event(res, { ...data, sequence_number: number++ }, data.type)
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  const empty = { ...part, text: '' }
  begin(res)
  send({ type: 'response.created', response: { ...base, status: 'in_progress', output: [] } })
  await make(asked, () => {
    if (work.output === REASONING_TOKENS + 1) {
      const begun = { ...item, status: 'in_progress', content: [] }
      send({ type: 'response.output_item.added', output_index: 0, item: begun })
      send({ type: 'response.content_part.added', ...at, part: empty })
    }
    send({ type: 'response.output_text.delta', ...at, delta: WORD, logprobs: [] })
  })
  send({ type: 'response.output_text.done', ...at, text: TEXT, logprobs: [] })
  send({ type: 'response.content_part.done', ...at, part })
  send({ type: 'response.output_item.done', output_index: 0, item })
  await reach('end')
  send({ type: 'response.completed', response: completed() })
  res.end()
}
