/** Proxies follow publications in a real Redis. */
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keyHash } from '../../../contract/ids.ts'
import { testKey } from '../../../proxy/auth/testing.ts'
import { until } from '../../harness/gateway.ts'
import {
  ask,
  startWorld,
  statusOf,
  type TestProxy,
  tableOf,
  UNKNOWN,
  UNMETERED,
  type World,
} from './world.ts'

let world: World
let proxies: TestProxy[]
beforeAll(async () => {
  world = await startWorld()
  proxies = await Promise.all([world.startProxy(), world.startProxy(), world.startProxy()])
})
afterAll(() => world.stop())

const everywhere = <T>(look: (proxy: TestProxy) => Promise<T>) => Promise.all(proxies.map(look))

test('a table is soon in force on all of them, and their heartbeats report it', async () => {
  expect(await everywhere((proxy) => statusOf(proxy, UNMETERED, 'new'))).toEqual([502, 502, 502])
  const generation = await world.publish({ table: tableOf(world.upstream.baseURL, 'free', 'new') })
  await until(async () => {
    const beats = await world.store.config.heartbeats(5_000)
    return beats.length === 3 && beats.every((beat) => beat.generation >= generation)
  }, 'the heartbeats')
  expect(await everywhere((proxy) => statusOf(proxy, UNMETERED, 'new'))).toEqual([200, 200, 200])
})

test('a key disabled under load is refused by all a second later', async () => {
  const key = 'sk-to-be-disabled'
  const record = testKey({ id: 'kkkkkkkkkkkkkkkkkkk3' })
  await world.publish({ keys: { put: new Map([[keyHash(key), record]]), remove: [] } })
  await until(
    async () => (await everywhere((proxy) => statusOf(proxy, key))).every((s) => s === 200),
    'the key',
  )

  const answers: { sentAt: number; status: number }[] = []
  let over = false
  const load = Array.from({ length: 12 }, async (_, i) => {
    while (!over) {
      const sentAt = performance.now()
      const [proxy] = proxies.slice(i % proxies.length)
      if (proxy !== undefined) answers.push({ sentAt, status: await statusOf(proxy, key) })
    }
  })
  await delay(300)
  await world.publish({ keys: { put: new Map([[keyHash(key), { ...record, disabled: true }]]), remove: [] } })
  const disabledAt = performance.now()
  await delay(1_500)
  over = true
  await Promise.all(load)

  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 401]))
  const late = answers.filter(({ sentAt, status }) => status === 200 && sentAt > disabledAt)
  const slowest = Math.max(0, ...late.map(({ sentAt }) => sentAt - disabledAt))
  expect(slowest).toBeLessThan(1_000)
})

test('a new key is accepted at once although it was refused before', async () => {
  expect(await everywhere((proxy) => statusOf(proxy, UNKNOWN))).toEqual([401, 401, 401])
  const key = testKey({ id: 'kkkkkkkkkkkkkkkkkkk4' })
  await world.publish({ keys: { put: new Map([[keyHash(UNKNOWN), key]]), remove: [] } })
  await until(
    async () => (await everywhere((proxy) => statusOf(proxy, UNKNOWN))).every((s) => s === 200),
    'it',
  )
})

test('a stream started under an older table ends under it', async () => {
  const gate = Promise.withResolvers<void>()
  world.upstream.answer(async ({ body }, res) => {
    // The request that tests for the new table must not wait for the gate.
    if (!body.includes('"stream":true')) return void res.writeHead(400).end()
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    const event = (content: string) => {
      const choices = [{ index: 0, delta: { content }, finish_reason: null }]
      res.write(
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'free', choices })}\n\n`,
      )
    }
    event('one')
    await gate.promise
    event('two')
    res.end('data: [DONE]\n\n')
  })
  const [proxy] = proxies
  if (proxy === undefined) throw new Error('no proxy')
  const answer = ask(proxy, UNMETERED, 'free', { stream: true })
  await until(() => world.upstream.calls.some(({ body }) => body.includes('"stream":true')), 'the stream')
  await world.publish({ table: tableOf('http://127.0.0.1:1/v1', 'other') })
  await until(async () => (await statusOf(proxy, UNMETERED, 'free')) === 502, 'the new table')
  gate.resolve()
  expect((await answer).text).toContain('two')
})
