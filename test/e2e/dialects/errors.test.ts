/** Errors that the SDKs throw when an upstream of any dialect refuses, fails or breaks off. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rejection } from '../../harness/sdk.ts'
import { json } from '../../harness/upstream.ts'
import { CELLS, type DialectName, PAIRS } from './scripted-answer.ts'
import { answerEvents, scripted, stream as send } from './scripted-upstream.ts'
import { ask, question, startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world?.close())

const SECRET = 'org-secret-4711'
const openaiError = (message: string, type: string, code: string | null) => ({
  error: { message: `${message} ${SECRET}`, type, param: null, code },
})
const anthropicError = (message: string, type: string) => ({
  type: 'error',
  error: { type, message: `${message} ${SECRET}` },
  request_id: 'req_up',
})

const TOO_LONG = openaiError(
  "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
  'invalid_request_error',
  'context_length_exceeded',
)
const BUSY = openaiError('Rate limit reached', 'requests', 'rate_limit_exceeded')
const BROKEN = openaiError('The server had an error', 'server_error', null)
const OPENAI = { 400: TOO_LONG, 429: BUSY, 500: BROKEN, 529: BROKEN }

/** Error bodies by upstream dialect and status. */
const UPSTREAM: Record<DialectName, Record<400 | 429 | 500 | 529, object>> = {
  chat: OPENAI,
  responses: OPENAI,
  messages: {
    400: anthropicError('prompt is too long: 9001 tokens > 8192 maximum', 'invalid_request_error'),
    429: anthropicError('Number of request tokens has exceeded your rate limit', 'rate_limit_error'),
    500: anthropicError('Internal server error', 'api_error'),
    529: anthropicError('Overloaded', 'overloaded_error'),
  },
}

describe.each(CELLS)('$client over $upstream, stream: $stream', ({ client, upstream, stream }) => {
  const failing = async () => {
    const error = await rejection(ask(world, client, upstream, question('Hello'), stream))
    expect(JSON.stringify(error)).not.toContain(SECRET)
    expect(String(error)).not.toContain(SECRET)
    return error
  }

  it('reports a prompt that is too long with its token counts', async () => {
    world.upstream.answer((_call, res) => json(res, 400, UPSTREAM[upstream][400]))
    const error = await failing()
    if (client === 'messages') {
      expect(error).toBeInstanceOf(Anthropic.BadRequestError)
      expect(error).toMatchObject({
        error: {
          type: 'error',
          error: {
            type: 'invalid_request_error',
            message: 'prompt is too long: 9001 tokens > 8192 maximum',
          },
        },
      })
    } else {
      expect(error).toBeInstanceOf(OpenAI.BadRequestError)
      expect(error).toMatchObject({ code: 'context_length_exceeded', type: 'invalid_request_error' })
      expect(String(error)).toMatch(/9001.*8192|8192.*9001/)
    }
    world.passed(client, upstream, 'upstream error')
  })

  it.each([429, 500, 529] as const)('turns an upstream’s %i into a 502', async (status) => {
    world.upstream.answer((_call, res) => json(res, status, UPSTREAM[upstream][status]))
    const error = await failing()
    expect(error).toMatchObject({ status: 502 })
    if (client === 'messages') {
      expect(error).toBeInstanceOf(Anthropic.InternalServerError)
      expect(error).toMatchObject({ type: 'api_error' })
    } else {
      expect(error).toBeInstanceOf(OpenAI.InternalServerError)
      expect(error).toMatchObject({ code: 'upstream_error', type: 'server_error' })
    }
  })

  it('takes an error body under status 200 for an error', async () => {
    world.upstream.answer((_call, res) => json(res, 200, UPSTREAM[upstream][500]))
    expect(await failing()).toMatchObject({ status: 502 })
  })

  it('takes an unknown body under status 200 for an error', async () => {
    world.upstream.answer((_call, res) => json(res, 200, { detail: SECRET }))
    expect(await failing()).toMatchObject({ status: 502 })
  })
})

/** An error event in the middle of a stream. */
const ERROR_EVENT: Record<DialectName, string> = {
  chat: `data: ${JSON.stringify(BROKEN)}\n\n`,
  responses: `event: error\ndata: ${JSON.stringify({ type: 'error', code: 'server_error', message: SECRET, param: null, sequence_number: 9 })}\n\n`,
  messages: `event: error\ndata: ${JSON.stringify(UPSTREAM.messages[529])}\n\n`,
}
/** The text before the break, and the number of events up to it. */
const BEFORE = 'One two '
const TWO_WORDS: Record<DialectName, number> = { chat: 3, responses: 6, messages: 5 }

describe.each(PAIRS)('a stream that breaks: $client over $upstream', ({ client, upstream }) => {
  const begun = () => answerEvents(upstream, { text: 'One two three four' }).slice(0, TWO_WORDS[upstream])
  const broken: [string, (events: string[]) => string[]][] = [
    ['cut between events', (events) => events],
    ['cut in an event', (events) => [...events, 'data: {"choices":[{"delta":{"content":"thr']],
    ['an error event', (events) => [...events, ERROR_EVENT[upstream]]],
    ['invalid JSON and then nothing', (events) => [...events, 'data: <html>\n\n']],
  ]

  it.each(broken)('%s: the strict helper rejects it', async (_name, end) => {
    world.upstream.answer((_call, res) => send(res, end(begun())))
    const answer = await ask(world, client, upstream, question('Hello'), true).catch((error: Error) => error)
    // The responses helper returns the failed response.
    if (client === 'responses' && !(answer instanceof Error)) expect(answer.end).toBe('failed')
    // On the byte lane the SDK itself finds invalid JSON.
    else if (client === upstream) expect(answer).toBeInstanceOf(Error)
    else expect(answer).toBeInstanceOf(client === 'messages' ? Anthropic.APIError : OpenAI.APIError)
    expect(JSON.stringify(answer)).not.toContain(SECRET)
    world.passed(client, upstream, 'cut stream')
  })

  it('when the connection breaks, delivers the text before it, then an error', async () => {
    world.upstream.answer((_call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(begun().join(''), () => res.destroy())
    })
    const seen: string[] = []
    const failure = await rejection(readText(client, upstream, seen))
    expect(seen.join('')).toBe(BEFORE)
    expect(String(failure)).not.toContain(SECRET)
  })

  it('still serves other requests', async () => {
    world.upstream.answer(scripted({ text: 'Fine' }))
    expect((await ask(world, client, upstream, question('Hello'), true)).text).toBe('Fine')
  })
})

/** Collects the text of a stream event by event; rejects if the stream fails. */
async function readText(client: DialectName, model: string, seen: string[]): Promise<void> {
  const { chat, responses, messages } = question('Hello')
  if (client === 'chat') {
    const stream = await world.openai.chat.completions.create({ ...chat, model, stream: true })
    for await (const { choices } of stream) seen.push(choices[0]?.delta.content ?? '')
  } else if (client === 'messages') {
    const stream = await world.anthropic.messages.create({ ...messages, model, stream: true })
    for await (const event of stream)
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta')
        seen.push(event.delta.text)
  } else {
    for await (const event of await world.openai.responses.create({ ...responses, model, stream: true })) {
      if (event.type === 'response.output_text.delta') seen.push(event.delta)
      if (event.type === 'response.failed') throw new Error(event.response.error?.message)
    }
  }
}
