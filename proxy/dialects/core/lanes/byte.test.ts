import { expect, it } from 'vitest'
import { GatewayError } from '../../../errors.ts'
import { chat } from '../../chat/index.ts'
import { noLosses } from '../../testing.ts'
import type { ClientView } from '../dialect.ts'
import { byteLane } from './byte.ts'

const PARSED = chat.parseRequest(
  Buffer.from('{"model":"m","messages":[{"role":"user","content":"Hi"}]}'),
  { maxDepth: 10, maxKeys: 100 },
  {},
)
const STREAM = Buffer.from(
  [
    'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"}}]}',
    'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
    'data: {"id":"c","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}',
    'data: [DONE]\n\n',
  ].join('\n\n'),
)

const TARGET = { path: '/chat/completions', model: 'up', askStreamUsage: false, codec: chat.codec }

function read(view: () => ClientView) {
  return byteLane(chat, PARSED, TARGET, view).readAnswer(STREAM, false)
}

const ENVELOPES = { seal: () => '', open: () => 'foreign' as const }
const VIEW: ClientView = {
  request: chat.codec.decodeRequest(PARSED, ENVELOPES),
  parsed: PARSED,
  id: 'x',
  created: 1,
  inputTokens: 1,
  envelopes: ENVELOPES,
  losses: noLosses('chat'),
}

it('a stream that nobody asked for becomes the answer that it carries', () => {
  const answer = read(() => VIEW)
  expect(answer).toMatchObject({ usage: { input: 1, output: 2 }, delivered: { deltas: 1, bytes: 2 } })
  const body = 'body' in answer ? JSON.parse(answer.body.toString()) : {}
  expect(body).toMatchObject({ object: 'chat.completion', choices: [{ message: { content: 'Hi' } }] })
})

it('a request that only passes as bytes is not blamed for such a stream', () => {
  const answer = read(() => {
    throw new GatewayError('unsupported_parameter', 'messages[0].content[0].type is not offered.')
  })
  expect(answer).toEqual({ class: 'unknown', status: 200, detail: 'unasked_stream' })
})

it('such a stream needs no finish_reason where the upstream never sends one', () => {
  const done = Buffer.from(
    'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n',
  )
  const lane = (finishReason: boolean) =>
    byteLane(chat, PARSED, { ...TARGET, finishReason }, () => VIEW).readAnswer(done, false)
  expect(lane(true)).toMatchObject({ detail: 'no_finish_reason' })
  expect(lane(false)).toHaveProperty('body')
})
