/**
 * A fake upstream that costs as little as possible: it makes the bytes of every answer once, at start. The first path segment
 * picks the answer: /json, /full (a stream at full speed), /blocks (the same as messages) or /paced. Prints its port.
 */
import { createServer, type ServerResponse } from 'node:http'
import { CONTENT_EVENTS, PACE_MS } from './scenarios.ts'

const MODEL = 'bench-upstream'
const USAGE = { prompt_tokens: 60, completion_tokens: 100, total_tokens: 160 }

const jsonAnswer = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-bench0000000000000000000',
    object: 'chat.completion',
    created: 1_760_000_000,
    model: MODEL,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Lorem ipsum dolor sit amet. '.repeat(10), refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: USAGE,
    service_tier: 'default',
  }),
)

function event(choices: object[], usage: object | null): string {
  const chunk = {
    id: 'chatcmpl-bench0000000000000000000',
    object: 'chat.completion.chunk',
    created: 1_760_000_000,
    model: MODEL,
    service_tier: 'default',
    system_fingerprint: 'fp_bench',
    choices,
    usage,
  }
  return `data: ${JSON.stringify(chunk)}\n\n`
}
const delta = (content: object, finish_reason: string | null = null) =>
  event([{ index: 0, delta: content, logprobs: null, finish_reason }], null)

const firstBytes = Buffer.from(delta({ role: 'assistant', content: '', refusal: null }))
const contentBytes = Buffer.from(delta({ content: ' consectetur' }))
const lastBytes = Buffer.from(`${delta({}, 'stop')}${event([], USAGE)}data: [DONE]\n\n`)

function block(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}
const message = {
  id: 'msg_bench0000000000000000',
  type: 'message',
  role: 'assistant',
  model: MODEL,
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: { input_tokens: 60, output_tokens: 1 },
}
const firstBlock = Buffer.from(
  block('message_start', { message }) +
    block('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
)
const contentBlock = Buffer.from(
  block('content_block_delta', { index: 0, delta: { type: 'text_delta', text: ' consectetur' } }),
)
const lastBlock = Buffer.from(
  block('content_block_stop', { index: 0 }) +
    block('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 100 },
    }) +
    block('message_stop', {}),
)

function sendBlocks(response: ServerResponse): void {
  response.write(firstBlock)
  for (let left = CONTENT_EVENTS.blocks; left > 0; left--) response.write(contentBlock)
  response.end(lastBlock)
}

/** One HTTP chunk for each event, as providers send them. */
function sendFull(response: ServerResponse): void {
  response.write(firstBytes)
  for (let left = CONTENT_EVENTS.full; left > 0; left--) response.write(contentBytes)
  response.end(lastBytes)
}

function sendPaced(response: ServerResponse): void {
  response.write(firstBytes)
  let left = CONTENT_EVENTS.paced
  const timer = setInterval(() => {
    if (left-- > 0) response.write(contentBytes)
    else {
      clearInterval(timer)
      response.end(lastBytes)
    }
  }, PACE_MS)
  response.on('close', () => clearInterval(timer))
}

const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    if (request.url?.startsWith('/json/')) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': jsonAnswer.length })
      response.end(jsonAnswer)
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    if (request.url?.startsWith('/full/')) sendFull(response)
    else if (request.url?.startsWith('/blocks/')) sendBlocks(response)
    else sendPaced(response)
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object' && address !== null) console.log(address.port)
})
