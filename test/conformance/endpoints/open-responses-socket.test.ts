/** The WebSocket checks of Open Responses' compliance suite, over each type of channel. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  connect,
  MODELS,
  matching,
  messagesSeenBy,
  openRoom,
  post,
  type Room,
  respond,
  textOf,
} from './open-responses-room.ts'
import { compactionSchema } from './open-responses-schema.ts'

let room: Room
beforeAll(async () => {
  room = await openRoom()
})
afterAll(() => room?.close())

const users = (...texts: string[]) => texts.map((text) => ['user', text])
const usersSeenBy = (response: Parameters<typeof messagesSeenBy>[0]) =>
  messagesSeenBy(response).filter(([role]) => role === 'user')
/** The error for a response that cannot be continued. */
const notFound = (id: string) => ({
  type: 'error',
  status: 400,
  error: {
    type: 'invalid_request_error',
    code: 'previous_response_not_found',
    message: `Previous response with id '${id}' not found.`,
    param: 'previous_response_id',
  },
})

describe.each(MODELS)('over %s', (model) => {
  const unstored = { model, store: false }

  it('a message becomes a response, delivered as the events of a stream', async () => {
    const client = await connect(room)
    const turn = await client.turn({ model, input: [{ type: 'message', role: 'user', content: 'Count.' }] })
    if ('error' in turn) throw new Error(JSON.stringify(turn.error))
    expect(turn.response).toMatchObject({ status: 'completed', store: true })
    expect(turn.events.map(({ type }) => type)).toContain('response.output_text.delta')
    expect(usersSeenBy(turn.response)).toEqual(users('Count.'))
  })

  it('consecutive responses on one connection know nothing of each other', async () => {
    const client = await connect(room)
    const first = await client.respond({ ...unstored, input: 'first' })
    const second = await client.respond({ ...unstored, input: 'second' })
    expect([usersSeenBy(first), usersSeenBy(second)]).toEqual([users('first'), users('second')])
    expect(first.id).not.toBe(second.id)
  })

  it('an unstored response can be continued, any number of times', async () => {
    const client = await connect(room)
    const first = await client.respond({ ...unstored, input: 'one' })
    const second = await client.respond({ ...unstored, input: 'two', previous_response_id: first.id })
    const third = await client.respond({ ...unstored, input: 'three', previous_response_id: second.id })
    expect(usersSeenBy(third)).toEqual(users('one', 'two', 'three'))
    expect(third.store).toBe(false)
    // An upstream of the same API that gets the whole history sees the start of a conversation.
    expect([second.id, null]).toContain(third.previous_response_id)
  })

  it('the result of a function continues its call', async () => {
    const client = await connect(room)
    const parameters = { type: 'object', properties: { location: { type: 'string' } } }
    const tools = [{ type: 'function', name: 'get_weather', parameters }]
    const called = await client.respond({ ...unstored, input: 'Weather?', tools })
    const [call] = called.output
    if (call?.type !== 'function_call') throw new Error('no call')
    const output = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' }
    const next = await client.respond({
      ...unstored,
      input: [output],
      tools,
      previous_response_id: called.id,
    })
    expect(usersSeenBy(next)).toEqual(users('Weather?'))
  })

  it('a new connection does not know unstored responses; a full history works', async () => {
    const first = await connect(room)
    const { id } = await first.respond({ ...unstored, input: 'one' })
    first.close()
    const second = await connect(room)
    expect(await second.fail({ ...unstored, input: 'two', previous_response_id: id })).toEqual(notFound(id))
    expect(usersSeenBy(await second.respond({ ...unstored, input: 'anew' }))).toEqual(users('anew'))
  })

  it('a stored response is known on every connection and over HTTP', async () => {
    const first = await connect(room)
    const { id } = await first.respond({ model, input: 'one' })
    const second = await connect(room)
    const next = await second.respond({ model, input: 'two', previous_response_id: id })
    expect(usersSeenBy(next)).toEqual(users('one', 'two'))
    const { response } = await respond(room, { model, input: 'three', previous_response_id: next.id })
    expect(usersSeenBy(response)).toEqual(users('one', 'two', 'three'))
  })

  it('an unknown response is not found, and the connection stays open', async () => {
    const client = await connect(room)
    const body = { ...unstored, input: 'Hello', previous_response_id: 'resp_missing' }
    expect(await client.fail(body)).toEqual(notFound('resp_missing'))
    expect((await client.respond({ ...unstored, input: 'Hello' })).status).toBe('completed')
  })

  it('a failed turn also drops the response that it continued', async () => {
    const client = await connect(room)
    const { id } = await client.respond({ ...unstored, input: 'one' })
    const output = { type: 'function_call_output', call_id: 'call_nobody', output: 'x' }
    const failed = await client.fail({ ...unstored, input: [output], previous_response_id: id })
    expect(failed).toMatchObject({ status: 400, error: { type: 'invalid_request_error' } })
    expect(await client.fail({ ...unstored, input: 'two', previous_response_id: id })).toEqual(notFound(id))
  })

  it.each(['Break off.', 'Go wrong.'])('a stream that fails ends only its turn: %s', async (input) => {
    const client = await connect(room)
    const { id } = await client.respond({ ...unstored, input: 'one' })
    const broken = await client.respond({ ...unstored, input, previous_response_id: id })
    expect(broken).toMatchObject({ status: 'failed', error: { code: expect.any(String) } })
    expect(JSON.stringify(broken)).not.toContain('Hidden words')
    expect((await client.respond({ ...unstored, input: 'anew' })).status).toBe('completed')
  })

  it('a compaction starts a new chain', async () => {
    const input = [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'The word is slate.' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'OK.' }] },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Compress this.' }] },
    ]
    const { body } = await post(room, '/responses/compact', { model, input })
    const { output } = matching(compactionSchema, body())
    expect(new Set(output.map(({ id }) => id)).size).toBe(3)
    const client = await connect(room)
    const followUp = { type: 'message', role: 'user', content: 'Go on.' }
    const first = await client.respond({ ...unstored, input: [...output, followUp], tools: [] })
    expect(textOf(first)).toMatch(/slate.*Go on\./s)
    const next = await client.respond({ ...unstored, input: 'And on.', previous_response_id: first.id })
    expect(textOf(next)).toMatch(/slate.*Go on\..*And on\./s)
  })
})
