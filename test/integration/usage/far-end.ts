/** An upstream of all endpoints that keeps a log of its own: what it was asked for, and the tokens that it reported. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One call. */
export interface Logged {
  /** Number of the case, by its prompt. */
  id: number
  path: string
  model: string
  input: number
  output: number
  failed: boolean
}

export interface FarEnd {
  origin: string
  log: Logged[]
  close(): Promise<void>
}

/** The prompt of a case; the far end fails every 41st. */
export const promptOf = (id: number) => `case:${id};`
const fails = (id: number) => id % 41 === 40

export async function startFarEnd(): Promise<FarEnd> {
  const log: Logged[] = []
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const id = Number(/case:(\d+);/.exec(body)?.[1])
    const path = (req.url ?? '').replace(/^.*\/v1/, '')
    const isForm = req.headers['content-type']?.startsWith('multipart/')
    const asked = isForm ? { model: 'paint', stream: false } : (JSON.parse(body) as Asked)
    const output = path === '/embeddings' ? 0 : 1 + (id % 31)
    const call = { id, path, model: asked.model, input: 10 + (id % 97), output, failed: fails(id) }
    log.push(call)
    if (call.failed) answer(res, { error: { message: 'It failed.', type: 'server_error' } }, 500)
    else (ANSWERS[path] ?? unknown)(res, call, asked.stream === true)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    log,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

interface Asked {
  model: string
  stream?: boolean
}

function answer(res: ServerResponse, body: object, status = 200): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** Events with their `type` as the name, where they have one. */
function stream(res: ServerResponse, events: Record<string, unknown>[], end = ''): void {
  const named = events.map((one) => {
    const name = typeof one.type === 'string' ? `event: ${one.type}\n` : ''
    return `${name}data: ${JSON.stringify(one)}\n\n`
  })
  res.writeHead(200, { 'content-type': 'text/event-stream' }).end(named.join('') + end)
}

const TEXT = 'Well said.'
const IMAGE = { b64_json: 'aGVsbG8=' }

const ANSWERS: Record<string, (res: ServerResponse, call: Logged, streams: boolean) => void> = {
  '/chat/completions': chat,
  '/responses': responses,
  '/responses/compact': (res, { model, input, output }) => {
    const item = { type: 'compaction', id: 'cmp_1', encrypted_content: 'sealed' }
    const usage = responseUsage(input, output)
    answer(res, { id: 'resp_1', object: 'response.compaction', created_at: 1, model, output: [item], usage })
  },
  '/messages': messages,
  '/embeddings': (res, { model, input }) =>
    answer(res, {
      object: 'list',
      model,
      data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }],
      usage: { prompt_tokens: input, total_tokens: input },
    }),
  '/images/generations': images,
  '/images/edits': images,
}

function unknown(res: ServerResponse): void {
  answer(res, { error: { message: 'There is no such path.', type: 'invalid_request_error' } }, 404)
}

function chat(res: ServerResponse, { model, input, output }: Logged, streams: boolean): void {
  const base = { id: 'chatcmpl-1', created: 1, model }
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
  if (!streams) {
    const message = { role: 'assistant', content: TEXT, refusal: null }
    const choices = [{ index: 0, message, finish_reason: 'stop', logprobs: null }]
    answer(res, { ...base, object: 'chat.completion', choices, usage })
    return
  }
  const chunk = (choices: object[], more: object = {}) => ({
    ...{ ...base, object: 'chat.completion.chunk', choices, ...more },
  })
  stream(
    res,
    [
      chunk([{ index: 0, delta: { role: 'assistant', content: TEXT }, finish_reason: null }]),
      chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
      chunk([], { usage }),
    ],
    'data: [DONE]\n\n',
  )
}

function responses(res: ServerResponse, { model, input, output }: Logged, streams: boolean): void {
  const content = [{ type: 'output_text', text: TEXT, annotations: [] }]
  const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }
  const base = { id: 'resp_1', object: 'response', created_at: 1, model, output: [item] }
  const whole = { ...base, status: 'completed', usage: responseUsage(input, output) }
  if (!streams) {
    answer(res, whole)
    return
  }
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  const events = [
    { type: 'response.created', response: { ...base, status: 'in_progress', output: [] } },
    {
      ...{ type: 'response.output_item.added', output_index: 0 },
      item: { ...item, status: 'in_progress', content: [] },
    },
    { type: 'response.content_part.added', ...at, part: { ...content[0], text: '' } },
    { type: 'response.output_text.delta', ...at, delta: TEXT, logprobs: [] },
    { type: 'response.output_text.done', ...at, text: TEXT, logprobs: [] },
    { type: 'response.content_part.done', ...at, part: content[0] },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: whole },
  ]
  stream(
    res,
    events.map((event, i) => ({ ...event, sequence_number: i })),
  )
}

const responseUsage = (input: number, output: number) => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: input + output,
})

function messages(res: ServerResponse, { model, input, output }: Logged, streams: boolean): void {
  const base = { id: 'msg_1', type: 'message', role: 'assistant', model, stop_sequence: null }
  const usage = { input_tokens: input, output_tokens: output }
  const block = { type: 'text', text: TEXT }
  if (!streams) {
    answer(res, { ...base, content: [block], stop_reason: 'end_turn', usage })
    return
  }
  const start = { ...base, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } }
  stream(res, [
    { type: 'message_start', message: start },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: TEXT } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: output },
    },
    { type: 'message_stop' },
  ])
}

function images(res: ServerResponse, { input, output }: Logged): void {
  const usage = {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    input_tokens_details: { text_tokens: input, image_tokens: 0 },
  }
  answer(res, { created: 1, data: [IMAGE], usage })
}
