/** Conversations that go on by previous_response_id, over each type of channel. */
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway } from '../../harness/gateway.ts'
import { apiKey, channel, route } from '../../harness/resources.ts'
import { rejection } from '../../harness/sdk.ts'
import { type EchoUpstream, echo, startEchoUpstream } from './echo-upstream.ts'

const KEY = 'sk-chains-0123456789'
const OTHER = 'sk-other-0123456789'
const TYPES = { chat: 'chat_completion', responses: 'responses', messages: 'messages' } as const

let reader: EchoUpstream
let second: EchoUpstream
let gateway: RunningGateway
let openai: OpenAI
let other: OpenAI

beforeAll(async () => {
  reader = await startEchoUpstream()
  second = await startEchoUpstream()
  const types = Object.entries(TYPES).map(([name, type]) => {
    const base = name === 'messages' ? reader.baseURL.replace(/\/v1$/, '') : reader.baseURL
    return channel(name, base, { type }) + route(name, name, [name])
  })
  const pair =
    channel('first', reader.baseURL, { type: 'responses', ejection: { consecutiveFailures: 0 } }) +
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
  await reader?.close()
  await second?.close()
})

type Params = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'>

async function say(stream: boolean, params: Params) {
  if (!stream) return openai.responses.create(params)
  return openai.responses.stream(params).finalResponse()
}

const heard = (response: { output_text: string }) => JSON.parse(response.output_text) as string[]

describe.each(Object.keys(TYPES))('over %s', (model) => {
  it.each([false, true])('the model knows all turns, and forks stay apart (stream: %s)', async (stream) => {
    const one = await say(stream, { model, input: 'one' })
    const two = await say(stream, { model, input: 'two', previous_response_id: one.id })
    expect(heard(two)).toEqual(['one', 'two'])
    expect(two.previous_response_id ?? one.id).toBe(one.id)
    const three = await say(!stream, {
      model,
      previous_response_id: two.id,
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'three' }] }],
    })
    expect(heard(three)).toEqual(['one', 'two', 'three'])
    const fork = await say(stream, { model, input: 'fork', previous_response_id: one.id })
    expect(heard(fork)).toEqual(['one', 'fork'])
  })

  it('what is unknown, another owner’s or not to be stored is not found', async () => {
    const mine = await say(false, { model, input: 'mine' })
    const unstored = await say(false, { model, input: 'mine', store: false })
    const asked = { model, input: 'more' }
    const errors = await Promise.all([
      rejection(openai.responses.create({ ...asked, previous_response_id: 'resp_nobody' })),
      rejection(other.responses.create({ ...asked, previous_response_id: mine.id })),
      rejection(openai.responses.create({ ...asked, previous_response_id: unstored.id })),
    ])
    for (const error of errors)
      expect(error).toMatchObject({
        status: 400,
        code: 'previous_response_not_found',
        param: 'previous_response_id',
      })
  })

  it('a stored response can be read, listed and deleted by its owner alone', async () => {
    const one = await say(false, { model, input: 'one' })
    const two = await say(true, { model, input: 'two', previous_response_id: one.id })
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

it('a conversation that has grown larger than a request may be is told so', async () => {
  let last: string | undefined
  const grow = async () => {
    const input = 'x'.repeat(40_000)
    const { id } = await say(false, { model: 'chat', input, ...(last && { previous_response_id: last }) })
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

describe('a chain that its upstream keeps', () => {
  it('goes on by reference, and is charged for what the upstream echo', async () => {
    const one = await say(false, { model: 'responses', input: 'one' })
    await say(false, { model: 'responses', input: 'two', previous_response_id: one.id })
    expect(reader.last()).toMatchObject({ input: 'two', previous_response_id: one.id })
  })

  it('is told again to an upstream that has forgotten it', async () => {
    const one = await say(false, { model: 'responses', input: 'one' })
    reader.stored.delete(one.id)
    expect(
      heard(await say(true, { model: 'responses', input: 'two', previous_response_id: one.id })),
    ).toEqual(['one', 'two'])
    expect(reader.last()).not.toHaveProperty('previous_response_id')
  })

  it('goes on at another channel when its own fails, with all that was said', async () => {
    const one = await say(false, { model: 'pair', input: 'one' })
    expect(reader.stored.has(one.id)).toBe(true)
    reader.answer((_, res) => void res.writeHead(500).end())
    try {
      const two = await say(true, { model: 'pair', input: 'two', previous_response_id: one.id })
      expect(heard(two)).toEqual(['one', 'two'])
      expect(second.stored.has(two.id)).toBe(true)
    } finally {
      reader.answer(echo(reader.stored))
    }
  })

  it('stays where it went, although another channel comes first', async () => {
    const calls = second.calls.length
    reader.answer((_, res) => void res.writeHead(500).end())
    const one = await say(false, { model: 'pair', input: 'one' })
    reader.answer(echo(reader.stored))
    await say(false, { model: 'pair', input: 'two', previous_response_id: one.id })
    expect(second.calls.length).toBe(calls + 2)
    expect(second.last()).toMatchObject({ previous_response_id: one.id })
  })
})
