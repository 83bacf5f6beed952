/** What Open Responses' compliance suite asks of an API over a WebSocket, over each type of channel. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  connect,
  held,
  MODELS,
  openRoom,
  post,
  type Room,
  respond,
  textOf,
  toldTo,
} from './open-responses-room.ts'
import { compactionSchema } from './open-responses-schema.ts'

let room: Room
beforeAll(async () => {
  room = await openRoom()
})
afterAll(() => room?.close())

const users = (...texts: string[]) => texts.map((text) => ['user', text])
const heard = (response: Parameters<typeof toldTo>[0]) => toldTo(response).filter(([role]) => role === 'user')
/** The error for an answer that is not there to go on from. */
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
  const asked = { model, store: false }

  it('a message becomes a response, told by the events of a stream', async () => {
    const client = await connect(room)
    const turn = await client.turn({ model, input: [{ type: 'message', role: 'user', content: 'Count.' }] })
    if ('error' in turn) throw new Error(JSON.stringify(turn.error))
    expect(turn.response).toMatchObject({ status: 'completed', store: true })
    expect(turn.events.map(({ type }) => type)).toContain('response.output_text.delta')
    expect(heard(turn.response)).toEqual(users('Count.'))
  })

  it('responses follow each other on one connection, and know nothing of each other', async () => {
    const client = await connect(room)
    const first = await client.respond({ ...asked, input: 'first' })
    const second = await client.respond({ ...asked, input: 'second' })
    expect([heard(first), heard(second)]).toEqual([users('first'), users('second')])
    expect(first.id).not.toBe(second.id)
  })

  it('a response that is not stored can be gone on from, as often as one likes', async () => {
    const client = await connect(room)
    const first = await client.respond({ ...asked, input: 'one' })
    const second = await client.respond({ ...asked, input: 'two', previous_response_id: first.id })
    const third = await client.respond({ ...asked, input: 'three', previous_response_id: second.id })
    expect(heard(third)).toEqual(users('one', 'two', 'three'))
    expect(third.store).toBe(false)
    // What the gateway told anew to an upstream of the same API, that one answers as a beginning.
    expect([second.id, null]).toContain(third.previous_response_id)
  })

  it('the result of a function goes on from its call', async () => {
    const client = await connect(room)
    const parameters = { type: 'object', properties: { location: { type: 'string' } } }
    const tools = [{ type: 'function', name: 'get_weather', parameters }]
    const called = await client.respond({ ...asked, input: 'Weather?', tools })
    const [call] = called.output
    if (call?.type !== 'function_call') throw new Error('no call')
    const output = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' }
    const next = await client.respond({ ...asked, input: [output], tools, previous_response_id: called.id })
    expect(heard(next)).toEqual(users('Weather?'))
  })

  it('a new connection does not know what was not stored; told anew, the conversation goes on', async () => {
    const first = await connect(room)
    const { id } = await first.respond({ ...asked, input: 'one' })
    first.close()
    const second = await connect(room)
    expect(await second.fail({ ...asked, input: 'two', previous_response_id: id })).toEqual(notFound(id))
    expect(heard(await second.respond({ ...asked, input: 'anew' }))).toEqual(users('anew'))
  })

  it('what was stored is known on every connection, and over HTTP', async () => {
    const first = await connect(room)
    const { id } = await first.respond({ model, input: 'one' })
    const second = await connect(room)
    const next = await second.respond({ model, input: 'two', previous_response_id: id })
    expect(heard(next)).toEqual(users('one', 'two'))
    const { response } = await respond(room, { model, input: 'three', previous_response_id: next.id })
    expect(heard(response)).toEqual(users('one', 'two', 'three'))
  })

  it('an unknown response is not found, and the connection stays', async () => {
    const client = await connect(room)
    const asks = { ...asked, input: 'Hello', previous_response_id: 'resp_missing' }
    expect(await client.fail(asks)).toEqual(notFound('resp_missing'))
    expect((await client.respond({ ...asked, input: 'Hello' })).status).toBe('completed')
  })

  it('a failed turn takes what it should have gone on from with it', async () => {
    const client = await connect(room)
    const { id } = await client.respond({ ...asked, input: 'one' })
    const output = { type: 'function_call_output', call_id: 'call_nobody', output: 'x' }
    const failed = await client.fail({ ...asked, input: [output], previous_response_id: id })
    expect(failed).toMatchObject({ status: 400, error: { type: 'invalid_request_error' } })
    expect(await client.fail({ ...asked, input: 'two', previous_response_id: id })).toEqual(notFound(id))
  })

  it.each(['Break off.', 'Go wrong.'])('a stream that fails ends its turn alone: %s', async (input) => {
    const client = await connect(room)
    const { id } = await client.respond({ ...asked, input: 'one' })
    const broken = await client.respond({ ...asked, input, previous_response_id: id })
    expect(broken).toMatchObject({ status: 'failed', error: { code: expect.any(String) } })
    expect(JSON.stringify(broken)).not.toContain('Hidden words')
    expect((await client.respond({ ...asked, input: 'anew' })).status).toBe('completed')
  })

  it('a compaction is the beginning of a new chain', async () => {
    const input = [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'The word is slate.' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'OK.' }] },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Compress this.' }] },
    ]
    const { body } = await post(room, '/responses/compact', { model, input })
    const { output } = held(compactionSchema, body())
    expect(new Set(output.map(({ id }) => id)).size).toBe(3)
    const client = await connect(room)
    const goOn = { type: 'message', role: 'user', content: 'Go on.' }
    const first = await client.respond({ ...asked, input: [...output, goOn], tools: [] })
    expect(textOf(first)).toMatch(/slate.*Go on\./s)
    const next = await client.respond({ ...asked, input: 'And on.', previous_response_id: first.id })
    expect(textOf(next)).toMatch(/slate.*Go on\..*And on\./s)
  })
})
