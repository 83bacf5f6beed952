/** Responses over a WebSocket, from an upstream of another dialect. */
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { connect } from '../../proxy/socket/testing.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { call } from '../harness/http.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { chatAnswer, chatEvents, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-socket-key-0123456789'

let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await startUpstream()
})
afterEach(() => gateway?.stop())
afterAll(() => upstream?.close())

async function start(env: Record<string, string> = {}) {
  upstream.calls.length = 0
  upstream.answer(chatAnswer({ content: 'Hello there' }))
  gateway = await startGateway(
    {
      'all.yaml':
        channel('c', upstream.baseURL) +
        route('r', 'model', ['c'], { price: { input: '1', output: '1' } }) +
        account('a', '1') +
        apiKey('k', KEY, { accountRef: { name: 'a' } }),
    },
    env,
  )
  const url = `${gateway.base.replace('http', 'ws')}/v1/responses`
  return connect(url, { headers: { authorization: `Bearer ${KEY}` } })
}

type Message = Record<string, unknown> & { response?: { id: string; output: unknown[] } }

/** Waits for `count` answers; returns their final messages. */
async function answers(messages: Message[], count: number): Promise<Message[]> {
  const over = ({ type }: Message) =>
    type === 'response.completed' || type === 'response.failed' || type === 'error'
  await until(() => messages.filter(over).length >= count, `${count} answers`)
  return messages.filter(over)
}

const ask = (text: string) => [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }]

it.each([{}, { input: [] }])('prepares a conversation that begins with %j', async (nothing) => {
  const client = await start()
  const create = (fields: object) =>
    client.send({ type: 'response.create', model: 'model', store: false, ...fields })
  create({ ...nothing, generate: false })
  const [warm] = await answers(client.messages, 1)
  expect(warm).toMatchObject({ type: 'response.completed', response: { output: [] } })
  create({ ...nothing, generate: false, previous_response_id: warm?.response?.id })
  const [, again] = await answers(client.messages, 2)
  expect(again).toMatchObject({ type: 'response.completed', response: { output: [] } })
  create({ input: ask('first'), previous_response_id: again?.response?.id })
  const [, , answer] = await answers(client.messages, 3)
  expect(answer).toMatchObject({ type: 'response.completed', response: { status: 'completed' } })
  const { messages } = JSON.parse(String(upstream.calls[0]?.body)) as { messages: unknown[] }
  expect(messages).toMatchObject([{ role: 'user' }])
  // A response that is generated needs input.
  create({ ...nothing })
  expect((await answers(client.messages, 4))[3]).toMatchObject({ status: 400, error: { param: 'input' } })
})

it('serves a conversation that is stored only on its socket', async () => {
  const client = await start()
  const create = (fields: object) =>
    client.send({ type: 'response.create', model: 'model', store: false, stream: true, ...fields })

  create({ input: ask('first'), generate: false })
  const [warm] = await answers(client.messages, 1)
  expect(warm).toMatchObject({ type: 'response.completed', response: { output: [] } })
  expect(upstream.calls.length).toBe(0)

  create({ input: ask('second'), previous_response_id: warm?.response?.id })
  const [, answer] = await answers(client.messages, 2)
  expect(answer).toMatchObject({ type: 'response.completed', response: { status: 'completed' } })
  create({ input: ask('third'), previous_response_id: answer?.response?.id, stream_id: 'side' })
  const [, , last] = await answers(client.messages, 3)
  expect(last).toMatchObject({ type: 'response.completed', stream_id: 'side' })
  const { messages } = JSON.parse(String(upstream.calls[1]?.body)) as { messages: { content: unknown }[] }
  const sent = JSON.stringify(messages.map(({ content }) => content))
  for (const text of ['first', 'second', 'Hello there', 'third']) expect(sent).toContain(text)
  expect(client.messages.every(({ type }) => typeof type === 'string')).toBe(true)

  create({ input: ask('x'), previous_response_id: 'resp_of_nobody' })
  expect((await answers(client.messages, 4))[3]).toEqual({
    type: 'error',
    status: 400,
    error: {
      type: 'invalid_request_error',
      code: 'previous_response_not_found',
      message: "Previous response with id 'resp_of_nobody' not found.",
      param: 'previous_response_id',
    },
  })
  create({ input: ask('x'), background: true })
  expect((await answers(client.messages, 5))[4]).toMatchObject({
    status: 400,
    error: { param: 'background' },
  })

  expect((await call(`${gateway.admin}/metrics`)).text).toMatch(/^sluice_sockets 1$/m)
  client.ws.close()
  const metrics = async () => (await call(`${gateway.admin}/metrics`)).text
  await until(async () => /^sluice_sockets 0$/m.test(await metrics()), 'the socket to be closed')
  // Lines wait a little in the process.
  await until(() => gateway.requests().length === 5, 'the lines of all messages')
  expect(gateway.requests().map(({ endpoint, status }) => [endpoint, status])).toEqual([
    ['responses', 200],
    ['responses', 200],
    ['responses', 200],
    ['responses', 400],
    ['responses', 400],
  ])
})

it('aborts a call when its socket closes, and bills the delivered output', async () => {
  const client = await start()
  upstream.answer((_received, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(chatEvents('m', 'one two', null).slice(0, 2).join(''))
  })
  client.send({ type: 'response.create', model: 'model', input: 'hi' })
  await until(() => client.messages.some(({ type }) => type === 'response.output_text.delta'), 'a delta')
  client.ws.terminate()
  await until(() => upstream.calls[0]?.aborted, 'the upstream call to be closed')
  const [line] = await until(() => gateway.requests().length > 0 && gateway.requests(), 'the log')
  expect(line).toMatchObject({ outcome: 'client_gone', settled: expect.any(String) })
})

it('drains: lets running responses finish, then closes with 1001', async () => {
  const client = await start()
  const gate = Promise.withResolvers<void>()
  upstream.answer(async (_received, res) => {
    const [first = '', ...rest] = chatEvents('m', 'one two', { prompt_tokens: 1, completion_tokens: 2 })
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(first)
    await gate.promise
    res.end(`${rest.join('')}data: [DONE]\n\n`)
  })
  client.send({ type: 'response.create', model: 'model', input: 'hi' })
  await until(() => client.messages.length > 0, 'the answer to begin')
  const exited = once(gateway.child, 'exit')
  gateway.child.kill('SIGTERM')
  await until(() => gateway.output().includes('draining'), 'the drain')
  client.send({ type: 'response.create', model: 'model', input: 'late', stream_id: 'late' })
  expect(await answers(client.messages, 1)).toMatchObject([{ status: 503, stream_id: 'late' }])
  gate.resolve()
  expect((await client.closed).code).toBe(1001)
  expect((await answers(client.messages, 2))[1]).toMatchObject({ type: 'response.completed' })
  expect((await exited)[0]).toBe(0)
})

it('ends running responses with an error after the drain timeout', async () => {
  const client = await start({ SLUICE_DRAIN_TIMEOUT: '100ms' })
  upstream.answer((_received, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(chatEvents('m', 'one two', null).slice(0, 2).join(''))
  })
  client.send({ type: 'response.create', model: 'model', input: 'hi' })
  await until(() => client.messages.length > 0, 'the answer to begin')
  const exited = once(gateway.child, 'exit')
  gateway.child.kill('SIGTERM')
  expect((await client.closed).code).toBe(1001)
  expect(client.messages.at(-1)).toMatchObject({
    type: 'response.failed',
    response: { error: { code: 'overloaded' } },
  })
  expect((await exited)[0]).toBe(0)
})
