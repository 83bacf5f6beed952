/** The official Node SDK over a WebSocket, over upstreams of every dialect. */
import OpenAI from 'openai'
import { ResponsesWS, type ResponsesWSClientOptions } from 'openai/resources/responses/ws'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startGateway, until } from '../../harness/gateway.ts'
import { apiKey, channel, route } from '../../harness/resources.ts'
import { DIALECTS } from '../dialects/scripted-answer.ts'
import { KEY, type SocketWorld, startSocketWorld } from './world.ts'

type Received = OpenAI.Responses.ResponsesServerEvent
type Create = Omit<OpenAI.Responses.ResponsesClientEvent.ResponseCreate, 'type'>

let world: SocketWorld
beforeAll(async () => {
  world = await startSocketWorld()
})
afterAll(() => world?.close())

/** An SDK connection through the TCP proxy, with all its events. */
function open(options: ResponsesWSClientOptions = {}, apiKey = KEY) {
  const client = new OpenAI({ baseURL: `${world.proxy.base}/v1`, apiKey })
  const ws = new ResponsesWS(client, options)
  onTestFinished(() => ws.close())
  const events: Received[] = []
  const errors: Error[] = []
  ws.on('event', (event) => void events.push(event))
  ws.on('error', (error) => void errors.push(error))
  let reconnects = 0
  ws.on('reconnected', () => void reconnects++)
  const create = (params: Create) => ws.send({ type: 'response.create', ...params })
  return {
    ws,
    reconnects: () => reconnects,
    events,
    errors,
    create,
    /** Creates a response and returns its last event. */
    async end(params: Create): Promise<Received> {
      const from = events.length
      create(params)
      return until(() => events.slice(from).find(isEnd), 'the end of a response')
    },
    async respond(params: Create): Promise<OpenAI.Responses.Response> {
      const last = await this.end(params)
      if (last.type !== 'response.completed') throw new Error(`ended with ${JSON.stringify(last)}`)
      return last.response
    },
  }
}

const isEnd = ({ type }: Received) => /^(?:error|response\.(?:completed|incomplete|failed))$/.test(type)
const streamOf = (event: Received) => ('stream_id' in event ? event.stream_id : undefined)
const textOf = ({ output }: OpenAI.Responses.Response) =>
  output.flatMap((item) =>
    item.type === 'message' ? item.content.map((part) => (part.type === 'output_text' ? part.text : '')) : [],
  )
const textsIn = (response: OpenAI.Responses.Response) => JSON.parse(textOf(response).join('')) as string[]

describe.each(DIALECTS)('over %s', (model) => {
  it('streams several responses one after the other', async () => {
    const socket = open()
    const one = await socket.respond({ model, input: 'one' })
    const two = await socket.respond({ model, input: 'two', stream: true })
    expect([textsIn(one), textsIn(two)]).toEqual([['one'], ['two']])
    const deltas = socket.events.flatMap((event) =>
      event.type === 'response.output_text.delta' ? [event.delta] : [],
    )
    expect(deltas.join('')).toBe('["one"]["two"]')
    const created = socket.events.flatMap((event) =>
      event.type === 'response.created' ? [event.response.id] : [],
    )
    expect(created).toEqual([one.id, two.id])
    expect(socket.events.map(streamOf).filter((stream) => stream !== undefined)).toEqual([])
    expect(socket.errors).toEqual([])
  })

  it('answers messages that were sent at once in order', async () => {
    const socket = open()
    for (const input of ['one', 'two', 'three']) socket.create({ model, input })
    await until(() => socket.events.filter(isEnd).length === 3, 'three ends')
    const ends = socket.events.flatMap((event) =>
      event.type === 'response.completed' ? [event.response] : [],
    )
    expect(ends.map(textsIn)).toEqual([['one'], ['two'], ['three']])
  })

  it('continues and forks a chain that is not stored', async () => {
    const socket = open()
    const params = { model, store: false }
    const one = await socket.respond({ ...params, input: 'one' })
    const two = await socket.respond({ ...params, input: 'two', previous_response_id: one.id })
    expect(textsIn(two)).toEqual(['one', 'two'])
    const fork = await socket.respond({ ...params, input: 'fork', previous_response_id: one.id })
    expect(textsIn(fork)).toEqual(['one', 'fork'])
  })

  it('continues a prepared conversation', async () => {
    const socket = open()
    const calls = world.upstream.calls.length
    const params = { model, store: false }
    const prepared = await socket.respond({ ...params, input: 'one', generate: false })
    expect([prepared.output, world.upstream.calls.length]).toEqual([[], calls])
    const next = await socket.respond({ ...params, input: 'two', previous_response_id: prepared.id })
    // Over messages the two inputs are one turn.
    expect(textsIn(next).join('')).toBe('onetwo')
  })

  it('calls a function and takes only its result', async () => {
    const socket = open()
    const parameters = { type: 'object', properties: { city: { type: 'string' } } }
    const tools: OpenAI.Responses.Tool[] = [{ type: 'function', name: 'weather', parameters, strict: false }]
    const params = { model, store: false, tools }
    const called = await socket.respond({ ...params, input: 'Weather in Ulm?' })
    expect(called.output).toMatchObject([
      { type: 'function_call', name: 'weather', arguments: '{"city":"Ulm"}' },
    ])
    const [call] = called.output
    const call_id = call?.type === 'function_call' ? call.call_id : ''
    const input: OpenAI.Responses.ResponseInput = [{ type: 'function_call_output', call_id, output: 'sunny' }]
    const next = await socket.respond({ ...params, input, previous_response_id: called.id })
    expect(textOf(next).join('')).toContain('Weather in Ulm?')
  })

  it('runs named streams in parallel, with the stream’s name in each event', async () => {
    const socket = open()
    socket.create({ model, input: 'slow: wait', stream_id: 'slow' })
    socket.create({ model, input: 'quick', stream_id: 'quick' })
    socket.create({ model, input: 'after it', stream_id: 'slow' })
    const ended = (stream: string) =>
      socket.events.filter((event) => isEnd(event) && streamOf(event) === stream)
    await until(() => ended('quick').length === 1, 'the quick response')
    expect(ended('slow')).toEqual([])
    await until(() => world.release() > 0, 'the slow call')
    await until(() => ended('slow').length === 2, 'both responses of the slow stream')
    expect(
      ended('slow').map((event) => (event.type === 'response.completed' ? textsIn(event.response) : [])),
    ).toEqual([['slow: wait'], ['after it']])
    const idsOf = (stream: string) =>
      socket.events.flatMap((event) =>
        'response' in event && streamOf(event) === stream ? [(event.response as { id: string }).id] : [],
      )
    expect([new Set(idsOf('slow')).size, new Set(idsOf('quick')).size]).toEqual([2, 1])
    expect(socket.events.every((event) => ['slow', 'quick'].includes(streamOf(event) ?? ''))).toBe(true)
  })

  it('reports an error with its status and stream, and keeps the connection', async () => {
    const socket = open()
    const { length } = socket.errors
    const missing = await socket.end({
      model,
      input: 'x',
      stream_id: 'a',
      previous_response_id: 'resp_missing',
    })
    expect(missing).toMatchObject({
      type: 'error',
      status: 400,
      stream_id: 'a',
      error: { code: 'previous_response_not_found', param: 'previous_response_id' },
    })
    const broken = await socket.end({ model, input: 'now fail' })
    expect(broken).toMatchObject({ type: 'error', status: 502, error: { code: 'upstream_error' } })
    expect(JSON.stringify(broken)).not.toContain('Hidden words')
    expect(socket.errors.slice(length)).toMatchObject([
      { message: expect.stringContaining("'resp_missing' not found"), error: { status: 400 } },
      { error: { status: 502 } },
    ])
    expect(textsIn(await socket.respond({ model, input: 'again' }))).toEqual(['again'])
  })

  it('reconnects; stored responses can be continued, others cannot', async () => {
    const socket = open({ reconnect: { onReconnecting: () => undefined, initialDelay: 1, maxDelay: 10 } })
    const unstored = await socket.respond({ model, input: 'one', store: false })
    const stored = await socket.respond({ model, input: 'one' })
    socket.create({ model, input: 'cut' })
    await until(() => socket.reconnects() === 1, 'another connection')
    const lost = await socket.end({ model, input: 'two', store: false, previous_response_id: unstored.id })
    expect(lost).toMatchObject({ status: 400, error: { code: 'previous_response_not_found' } })
    expect(textsIn(await socket.respond({ model, input: 'anew', store: false }))).toEqual(['anew'])
    const next = await socket.respond({ model, input: 'again', previous_response_id: stored.id })
    expect(textsIn(next)).toEqual(['one', 'again'])
  })
})

it.each([
  ['an invalid stream name', { stream_id: 'a b' }, 'invalid_stream_id', 'stream_id'],
  ['no model', { model: '' }, 'invalid_request', 'model'],
  ['a background response', { background: true }, expect.any(String), 'background'],
])('refuses %s and names the field', async (_, more, code, param) => {
  const socket = open()
  const last = await socket.end({ model: 'chat', input: 'x', ...more })
  expect(last).toMatchObject({ type: 'error', status: 400, error: { code, param } })
  expect(socket.errors).toHaveLength(1)
})

it('refuses a connection with an unknown key', async () => {
  const { errors } = open({}, 'sk-unknown')
  await until(() => errors.length > 0, 'the refusal')
  expect(errors[0]?.message).toContain('401')
})

it('refuses steering with the event that the SDK expects', async () => {
  const socket = open()
  const { id } = await socket.respond({ model: 'chat', input: 'one' })
  const content = [{ type: 'input_text' as const, text: 'left' }]
  const input = [{ type: 'message' as const, role: 'user' as const, content }]
  socket.ws.send({ type: 'response.steer', previous_response_id: id, input })
  const failed = await until(
    () => socket.events.find(({ type }) => type === 'response.steer.failed'),
    'the answer',
  )
  expect(failed).toMatchObject({
    error: { code: 'steering_not_supported' },
    steer: { previous_response_id: id, input },
  })
  expect(socket.errors).toEqual([])
})

it('a stopping gateway lets responses finish, and clients continue with another gateway', async () => {
  const { upstream } = world
  const start = () =>
    startGateway({
      'all.yaml': apiKey('key', KEY) + channel('up', upstream.baseURL) + route('r', 'm', ['up']),
    })
  const [first, second] = await Promise.all([start(), start()])
  onTestFinished(async () => {
    await Promise.all([first.stop(), second.stop()])
    world.proxy.redirect(world.gateway.base)
  })
  world.proxy.redirect(first.base)
  const codes: number[] = []
  const reconnect = {
    onReconnecting: ({ closeCode }: { closeCode: number }) => void codes.push(closeCode),
    initialDelay: 1,
  }
  const socket = open({ reconnect })
  expect(textsIn(await socket.respond({ model: 'm', input: 'one' }))).toEqual(['one'])
  socket.create({ model: 'm', input: 'two: wait' })
  await until(() => upstream.calls.at(-1)?.body.includes('two: wait'), 'the upstream call')
  world.proxy.redirect(second.base)
  first.child.kill('SIGTERM')
  await until(() => first.output().includes('draining'), 'the drain')
  await until(() => world.release() > 0, 'the response to be released')
  const ends = () =>
    socket.events.flatMap((event) => (event.type === 'response.completed' ? [event.response] : []))
  await until(() => ends().length === 2, 'the response to end')
  await until(() => socket.reconnects() === 1, 'the other gateway')
  expect(codes).toEqual([1001])
  expect(textsIn(await socket.respond({ model: 'm', input: 'three' }))).toEqual(['three'])
  await until(() => second.requests().length > 0, 'a request of the second gateway')
})
