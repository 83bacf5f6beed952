/** Conversations continued by previous_response_id, over each type of channel. */
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway } from '../../harness/gateway.ts'
import { apiKey, channel, route } from '../../harness/resources.ts'
import { rejection } from '../../harness/sdk.ts'
import { type EchoUpstream, echo, startEchoUpstream } from './echo-upstream.ts'

const KEY = 'sk-chains-0123456789'
const OTHER = 'sk-other-0123456789'
const TYPES = { chat: 'chat_completion', responses: 'responses', messages: 'messages' } as const

let first: EchoUpstream
let second: EchoUpstream
let gateway: RunningGateway
let openai: OpenAI
let other: OpenAI

beforeAll(async () => {
  first = await startEchoUpstream()
  second = await startEchoUpstream()
  const types = Object.entries(TYPES).map(([name, type]) => {
    const base = name === 'messages' ? first.baseURL.replace(/\/v1$/, '') : first.baseURL
    return channel(name, base, { type }) + route(name, name, [name])
  })
  const pair =
    channel('first', first.baseURL, { type: 'responses', ejection: { consecutiveFailures: 0 } }) +
    channel('second', second.baseURL, { type: 'responses' }) +
    route('pair', 'pair', [
      { name: 'first', priority: 0 },
      { name: 'second', priority: 1 },
    ])
  gateway = await startGateway(
    { 'all.yaml': apiKey('key', KEY) + apiKey('other', OTHER) + types.join('') + pair },
    { SLUICE_MAX_BODY_BYTES: '100000' },
  )
  const client = (apiKey: string) => new OpenAI({ baseURL: `${gateway.base}/v1`, apiKey, maxRetries: 0 })
  openai = client(KEY)
  other = client(OTHER)
})
afterAll(async () => {
  await gateway?.stop()
  await first?.close()
  await second?.close()
})

type Params = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'>

async function respond(stream: boolean, params: Params) {
  if (!stream) return openai.responses.create(params)
  return openai.responses.stream(params).finalResponse()
}

const textsIn = (response: { output_text: string }) => JSON.parse(response.output_text) as string[]

describe.each(Object.keys(TYPES))('over %s', (model) => {
  it.each([false, true])(
    'the model receives all turns, and forks stay separate (stream: %s)',
    async (stream) => {
      const one = await respond(stream, { model, input: 'one' })
      const two = await respond(stream, { model, input: 'two', previous_response_id: one.id })
      expect(textsIn(two)).toEqual(['one', 'two'])
      expect(two.previous_response_id ?? one.id).toBe(one.id)
      const three = await respond(!stream, {
        model,
        previous_response_id: two.id,
        input: [{ role: 'user', content: [{ type: 'input_text', text: 'three' }] }],
      })
      expect(textsIn(three)).toEqual(['one', 'two', 'three'])
      const fork = await respond(stream, { model, input: 'fork', previous_response_id: one.id })
      expect(textsIn(fork)).toEqual(['one', 'fork'])
    },
  )

  it('does not find an unknown response, another owner’s, or one that was not stored', async () => {
    const mine = await respond(false, { model, input: 'mine' })
    const unstored = await respond(false, { model, input: 'mine', store: false })
    const params = { model, input: 'more' }
    const errors = await Promise.all([
      rejection(openai.responses.create({ ...params, previous_response_id: 'resp_nobody' })),
      rejection(other.responses.create({ ...params, previous_response_id: mine.id })),
      rejection(openai.responses.create({ ...params, previous_response_id: unstored.id })),
    ])
    for (const error of errors)
      expect(error).toMatchObject({
        status: 400,
        code: 'previous_response_not_found',
        param: 'previous_response_id',
      })
  })

  it('only the owner can read, list and delete a stored response', async () => {
    const one = await respond(false, { model, input: 'one' })
    const two = await respond(true, { model, input: 'two', previous_response_id: one.id })
    const read = await openai.responses.retrieve(two.id)
    expect(read).toMatchObject({ id: two.id, output_text: two.output_text, status: 'completed' })
    const items = await openai.responses.inputItems.list(two.id, { order: 'asc' })
    expect(items.data.map((item) => ('content' in item ? item.content : item))).toEqual([
      'one',
      [expect.objectContaining({ type: 'output_text', text: one.output_text })],
      'two',
    ])
    expect(await rejection(other.responses.retrieve(two.id))).toMatchObject({ status: 404 })
    expect(await rejection(other.responses.delete(two.id))).toMatchObject({ status: 404 })
    await openai.responses.delete(two.id)
    expect(await rejection(openai.responses.retrieve(two.id))).toMatchObject({ status: 404 })
    const after = rejection(openai.responses.create({ model, input: 'x', previous_response_id: two.id }))
    expect(await after).toMatchObject({ status: 400, code: 'previous_response_not_found' })
  })
})

it('refuses to continue a conversation that exceeds the body limit', async () => {
  let last: string | undefined
  const grow = async () => {
    const input = 'x'.repeat(40_000)
    const { id } = await respond(false, { model: 'chat', input, ...(last && { previous_response_id: last }) })
    last = id
  }
  expect(
    await rejection(
      (async () => {
        for (let i = 0; i < 9; i++) await grow()
      })(),
    ),
  ).toMatchObject({
    status: 413,
    code: 'request_too_large',
    param: 'previous_response_id',
  })
})

describe('a chain that its upstream stores', () => {
  it('continues by reference', async () => {
    const one = await respond(false, { model: 'responses', input: 'one' })
    await respond(false, { model: 'responses', input: 'two', previous_response_id: one.id })
    expect(first.last()).toMatchObject({ input: 'two', previous_response_id: one.id })
  })

  it('is replayed to an upstream that has forgotten it', async () => {
    const one = await respond(false, { model: 'responses', input: 'one' })
    first.stored.delete(one.id)
    expect(
      textsIn(await respond(true, { model: 'responses', input: 'two', previous_response_id: one.id })),
    ).toEqual(['one', 'two'])
    expect(first.last()).not.toHaveProperty('previous_response_id')
  })

  it('falls over to another channel with the whole conversation', async () => {
    const one = await respond(false, { model: 'pair', input: 'one' })
    expect(first.stored.has(one.id)).toBe(true)
    first.answer((_, res) => void res.writeHead(500).end())
    try {
      const two = await respond(true, { model: 'pair', input: 'two', previous_response_id: one.id })
      expect(textsIn(two)).toEqual(['one', 'two'])
      expect(second.stored.has(two.id)).toBe(true)
    } finally {
      first.answer(echo(first.stored))
    }
  })

  it('stays on the channel it fell over to, despite its lower priority', async () => {
    const calls = second.calls.length
    first.answer((_, res) => void res.writeHead(500).end())
    const one = await respond(false, { model: 'pair', input: 'one' })
    first.answer(echo(first.stored))
    await respond(false, { model: 'pair', input: 'two', previous_response_id: one.id })
    expect(second.calls.length).toBe(calls + 2)
    expect(second.last()).toMatchObject({ previous_response_id: one.id })
  })
})
