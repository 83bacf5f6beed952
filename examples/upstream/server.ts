/**
 * A stand-in for a model provider, so that the quickstart works without an account anywhere. It speaks OpenAI chat
 * completions (https://platform.openai.com/docs/api-reference/chat), answers by quoting the last user message, and
 * counts words where a real provider counts tokens. Embeddings and images: beyond-text.ts.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { embeddingsOf, imagesOf } from './beyond-text.ts'

/** The credential that examples/quickstart sends; a real provider's belongs in a Secret. */
export const EXAMPLE_KEY = 'example-upstream-key'
const MODEL = 'example-model'
const PATHS = ['/v1/chat/completions', '/v1/embeddings', '/v1/images/generations', '/v1/images/edits']
const PAUSE_BETWEEN_WORDS_MS = 15

export interface ExampleUpstream {
  /** The port it listens on; differs from the requested one if that was 0. */
  port: number
  close(): Promise<void>
}

/** Starts listening. Rejects with the system's error (such as EADDRINUSE) when it cannot. */
export async function startExampleUpstream(address: {
  port: number
  host: string
}): Promise<ExampleUpstream> {
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(address.port, address.host, resolve)
  })
  return { port: portOf(server), close: () => close(server) }
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.headers.authorization !== `Bearer ${EXAMPLE_KEY}`)
    return refuse(response, 401, 'invalid_api_key', 'Incorrect API key provided.')
  if (request.method !== 'POST' || !PATHS.includes(request.url ?? ''))
    return refuse(response, 404, 'unknown_url', `This example serves POST ${PATHS.join(', ')} only.`)
  const text = await readText(request)
  // A form; the example does not read its images.
  if (request.url === '/v1/images/edits') return sendJson(response, 200, imagesOf(1))

  const body = parseJson(text)
  if (!isObject(body) || typeof body.model !== 'string')
    return refuse(response, 400, 'invalid_request', 'The body must be JSON with a model.')
  if (body.model !== MODEL)
    return refuse(response, 404, 'model_not_found', `The model does not exist. This example has ${MODEL}.`)
  if (request.url === '/v1/embeddings') serveEmbeddings(body, response)
  else if (request.url === '/v1/images/generations')
    sendJson(response, 200, imagesOf(typeof body.n === 'number' ? Math.min(body.n, 10) : 1))
  else await serveChat(body, response)
}

type Body = Record<string, unknown>

function serveEmbeddings({ input }: Body, response: ServerResponse): void {
  const texts: unknown[] = Array.isArray(input) ? input : [input]
  if (texts.every((text) => typeof text === 'string')) sendJson(response, 200, embeddingsOf(MODEL, texts))
  else refuse(response, 400, 'invalid_request', 'The input must be a text, or a list of texts.')
}

async function serveChat(body: Body, response: ServerResponse): Promise<void> {
  const request = readRequest(body)
  if (request === undefined) return refuse(response, 400, 'invalid_request', 'The body must have messages.')
  const answer = answerTo(request)
  if (request.stream) await sendStream(response, request, answer)
  else sendJson(response, 200, wholeAnswer(answer))
}

/** The fields of a request that this example reads. */
interface ChatRequest {
  prompt: string[]
  maxWords: number
  stream: boolean
  includeUsage: boolean
}

interface ChatAnswer {
  id: string
  created: number
  words: string[]
  finishReason: 'stop' | 'length'
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
}

function answerTo(request: ChatRequest): ChatAnswer {
  const full = ['Hello', 'from', 'the', 'example', 'upstream.', 'You', 'said:', ...request.prompt]
  const words = full.slice(0, request.maxWords)
  return {
    id: `chatcmpl-example-${Date.now().toString(36)}`,
    created: Math.floor(Date.now() / 1000),
    words,
    finishReason: words.length < full.length ? 'length' : 'stop',
    usage: {
      prompt_tokens: request.prompt.length,
      completion_tokens: words.length,
      total_tokens: request.prompt.length + words.length,
    },
  }
}

function wholeAnswer({ id, created, words, finishReason, usage }: ChatAnswer): object {
  const message = { role: 'assistant', content: words.join(' '), refusal: null }
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finishReason }]
  return { id, object: 'chat.completion', created, model: MODEL, choices, usage }
}

/** Server-sent events: a chunk with the role, one for each word, one with the finish reason, usage if asked, [DONE]. */
async function sendStream(response: ServerResponse, request: ChatRequest, answer: ChatAnswer): Promise<void> {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  })
  const send = (choices: object[], usage: ChatAnswer['usage'] | null) => {
    const chunk = {
      id: answer.id,
      object: 'chat.completion.chunk',
      created: answer.created,
      model: MODEL,
      choices,
    }
    response.write(`data: ${JSON.stringify(request.includeUsage ? { ...chunk, usage } : chunk)}\n\n`)
  }
  const sendDelta = (delta: object, finishReason: string | null = null) =>
    send([{ index: 0, delta, logprobs: null, finish_reason: finishReason }], null)

  sendDelta({ role: 'assistant', content: '', refusal: null })
  for (const [index, word] of answer.words.entries()) {
    await pause(PAUSE_BETWEEN_WORDS_MS)
    if (response.destroyed) return
    sendDelta({ content: index === 0 ? word : ` ${word}` })
  }
  sendDelta({}, answer.finishReason)
  if (request.includeUsage) send([], answer.usage)
  response.end('data: [DONE]\n\n')
}

/** Undefined if the body is not a chat request. */
function readRequest(body: Body): ChatRequest | undefined {
  if (!Array.isArray(body.messages)) return undefined
  const limit = body.max_completion_tokens ?? body.max_tokens
  return {
    prompt: lastUserWords(body.messages),
    maxWords: typeof limit === 'number' ? limit : Number.POSITIVE_INFINITY,
    stream: body.stream === true,
    includeUsage: isObject(body.stream_options) && body.stream_options.include_usage === true,
  }
}

/** Reads text only: content is a string, or a list of parts. */
function lastUserWords(messages: unknown[]): string[] {
  const last = messages.filter((message) => isObject(message) && message.role === 'user').at(-1)
  const content = isObject(last) ? last.content : ''
  const parts = Array.isArray(content) ? content : [{ text: content }]
  const text = parts
    .map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : ''))
    .join(' ')
  return text.split(/\s+/).filter((word) => word !== '')
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = ''
  request.setEncoding('utf8')
  for await (const piece of request) text += piece
  return text
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  sendJson(response, status, { error: { message, type: 'invalid_request_error', param: null, code } })
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  await closed
}
