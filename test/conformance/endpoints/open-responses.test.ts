/** The HTTP checks of Open Responses' compliance suite, over each type of channel. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectError } from '../../harness/http.ts'
import {
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

const message = (role: string, content: unknown, more: object = {}) => ({
  type: 'message',
  role,
  content,
  ...more,
})
const user = (content: unknown) => message('user', content)
const PARAMETERS = { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] }
/** As clients send it: without `strict`. */
const TOOL = { type: 'function', name: 'get_weather', description: 'The weather', parameters: PARAMETERS }
/** A white pixel. */
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAG7buVgAAAABJRU5ErkJggg=='

describe.each(MODELS)('over %s', (model) => {
  it.each([false, true])('an answer has every required field of a response (stream: %s)', async (stream) => {
    const { response } = await respond(room, { model, input: [user('Say hello.')] }, stream)
    expect(response).toMatchObject({ status: 'completed', model: expect.any(String), store: true })
    expect(response.completed_at).not.toBeNull()
    expect(messagesSeenBy(response)).toEqual([['user', 'Say hello.']])
  })

  it('a stream delivers its text in order, and the same response from start to end', async () => {
    const { response, events } = await respond(room, { model, input: [user('Count to five.')] }, true)
    const deltas = events.flatMap((event) =>
      event.type === 'response.output_text.delta' ? [event.delta] : [],
    )
    expect(deltas.length).toBeGreaterThan(1)
    expect(deltas.join('')).toBe(textOf(response))
    const ids = events.flatMap((event) => ('response' in event ? [Object(event.response).id as unknown] : []))
    expect(new Set(ids)).toEqual(new Set([response.id]))
    expect(events.map(({ type }) => type).slice(0, 2)).toEqual(['response.created', 'response.in_progress'])
  })

  it.each([false, true])('a truncated answer says so (stream: %s)', async (stream) => {
    const { response } = await respond(room, { model, input: 'Be short.' }, stream)
    expect(response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    })
  })

  it.each(['Break off.', 'Go wrong.'])('a stream that fails ends as a failed response: %s', async (input) => {
    const { response } = await respond(room, { model, input }, true)
    expect(textOf(response)).not.toContain(input)
    expect(response).toMatchObject({ status: 'failed', error: { code: expect.any(String) } })
  })

  it('a system message in the input reaches the model as one', async () => {
    const input = [message('system', 'You are a pirate.'), user('Say hello.')]
    const { response } = await respond(room, { model, input })
    expect(messagesSeenBy(response)).toEqual([
      ['system', 'You are a pirate.'],
      ['user', 'Say hello.'],
    ])
  })

  it('history with phases is accepted', async () => {
    const input = [
      message('assistant', 'I answer with the number.', { phase: 'commentary' }),
      message('assistant', 'The number is four.', { phase: 'final_answer' }),
      user('Repeat only the number.'),
    ]
    const { response } = await respond(room, { model, input })
    expect(textOf(response)).toContain('The number is four.')
  })

  it('turns of a history keep their order and roles', async () => {
    const input = [user('My name is Alice.'), message('assistant', 'Hello Alice!'), user('What is my name?')]
    expect(messagesSeenBy((await respond(room, { model, input })).response)).toEqual([
      ['user', 'My name is Alice.'],
      ['assistant', 'Hello Alice!'],
      ['user', 'What is my name?'],
    ])
  })

  it('an image as a data URL reaches the model', async () => {
    const parts = [
      { type: 'input_text', text: 'What is this? ' },
      { type: 'input_image', image_url: PIXEL },
    ]
    const { response } = await respond(room, { model, input: [user(parts)] })
    expect(messagesSeenBy(response)).toEqual([['user', 'What is this? <image>']])
    expect(room.upstream.calls.at(-1)?.body.toString()).toContain(PIXEL.split(',')[1])
  })

  it.each([false, true])('a function is called, and its result is sent back (stream: %s)', async (stream) => {
    const question = user('Weather in San Francisco?')
    const { response, events } = await respond(room, { model, input: [question], tools: [TOOL] }, stream)
    const [call] = response.output
    expect(call).toMatchObject({ type: 'function_call', name: 'get_weather', status: 'completed' })
    if (call?.type !== 'function_call') throw new Error('no call')
    expect(JSON.parse(call.arguments)).toEqual({ location: 'San Francisco, CA' })
    if (stream) {
      const types = new Set(events.map(({ type }) => type))
      for (const type of [
        'output_item.added',
        'function_call_arguments.delta',
        'function_call_arguments.done',
      ])
        expect(types).toContain(`response.${type}`)
    }
    const output = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' }
    const input = [question, ...response.output, output]
    const { response: after } = await respond(room, { model, input, tools: [TOOL] }, stream)
    expect(messagesSeenBy(after)[0]).toEqual(['user', 'Weather in San Francisco?'])
    const chained = { model, input: [output], previous_response_id: response.id, tools: [TOOL] }
    expect(textOf((await respond(room, chained, stream)).response)).toContain('Weather in San Francisco?')
  })

  it('a stored response can be continued', async () => {
    const { response } = await respond(room, { model, input: 'The word is papaya.' })
    const more = { model, input: 'Which word?', previous_response_id: response.id }
    const { response: next } = await respond(room, more)
    expect(next.previous_response_id).toBe(response.id)
    expect(messagesSeenBy(next).filter(([role]) => role === 'user')).toEqual([
      ['user', 'The word is papaya.'],
      ['user', 'Which word?'],
    ])
  })

  it('a result without its call is refused', async () => {
    const { response } = await respond(room, { model, input: 'Hello' })
    const output = { type: 'function_call_output', call_id: 'call_nobody', output: 'x' }
    const answer = await post(room, '/responses', {
      model,
      input: [output],
      previous_response_id: response.id,
    })
    expectError(answer, 400, 'invalid_request', 'input')
  })

  it('a conversation is compacted and continues from the compaction', async () => {
    const { status, body } = await post(room, '/responses/compact', {
      model,
      prompt_cache_key: 'compact',
      input: [user('We launch on Tuesday.'), message('assistant', 'Understood: Tuesday.')],
    })
    expect([status, body()]).toEqual([200, expect.any(Object)])
    const { output } = matching(compactionSchema, body())
    expect(output.filter(({ type }) => type === 'compaction')).toHaveLength(1)
    const input = [...output, user('When do we launch?')]
    const { response } = await respond(room, { model, input, store: false }, true)
    expect(textOf(response)).toMatch(/Understood: Tuesday\..*When do we launch\?/s)
  })
})

it('a compaction without a model is refused by the name of the field', async () => {
  expectError(
    await post(room, '/responses/compact', { input: [user('Compact this.')] }),
    400,
    'invalid_request',
    'model',
  )
})
