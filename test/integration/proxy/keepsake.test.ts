/** Which requests stay in memory when they are over. */
import { once } from 'node:events'
import { queryObjects } from 'node:v8'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { RequestContext } from '../../../proxy/pipeline/request/context.ts'
import { until } from '../../harness/gateway.ts'
import { call, jsonHeaders } from '../../harness/http.ts'
import { chatAnswer } from '../../harness/upstream.ts'
import { ask, startWorld, type TestProxy, UNMETERED, type World } from './world.ts'

let world: World
let proxy: TestProxy
beforeAll(async () => {
  world = await startWorld()
  proxy = await world.startProxy()
})
afterAll(() => world?.stop())

/** Requests whose objects are in memory, after a collection. */
const inMemory = () => queryObjects(RequestContext, { format: 'count' })

/** A request may not quite be over when its client has the answer. */
const kept = (requests: number) => until(() => inMemory() === requests, `${requests} requests in memory`)

async function askMessages(text: string): Promise<void> {
  const messages = [{ role: 'user', content: text }]
  const body = JSON.stringify({ model: 'free', max_tokens: 10, messages })
  const answer = await call(`${proxy.base}/v1/messages`, { headers: jsonHeaders(UNMETERED), body })
  expect(answer.status).toBe(200)
}

test('the last request of each kind, if its bodies are small', async () => {
  await kept(0)

  for (let i = 0; i < 3; i++) expect((await ask(proxy, UNMETERED)).status).toBe(200)
  await kept(1)

  for (let i = 0; i < 3; i++) expect((await ask(proxy, UNMETERED, 'free', { stream: true })).status).toBe(200)
  await kept(2)

  await askMessages('a prompt '.repeat(10_000))
  await kept(2)

  world.upstream.answer(chatAnswer({ content: 'an answer '.repeat(10_000) }))
  await askMessages('Hello')
  await kept(2)

  world.upstream.answer(chatAnswer())
  await askMessages('Hello')
  await kept(3)
})

test('no request of a WebSocket, which would keep the conversations of its connection', async () => {
  const before = inMemory()
  const socket = new WebSocket(`${proxy.base.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${UNMETERED}` },
  })
  await once(socket, 'open')
  const ended = new Promise<void>((resolve) =>
    socket.on('message', (data) => {
      if (String(data).includes('"response.completed"')) resolve()
    }),
  )
  socket.send(JSON.stringify({ type: 'response.create', model: 'free', input: 'Hello' }))
  await ended
  socket.close()
  await once(socket, 'close')
  await kept(before)
})
