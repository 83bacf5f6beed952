/** Conversations that continue at another proxy than the one they started at. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerEvents } from '../../e2e/dialects/scripted-upstream.ts'
import { until } from '../../harness/gateway.ts'
import { call } from '../../harness/http.ts'
import { startProxyProgram } from '../proxy/program.ts'
import { UNMETERED as KEY } from '../proxy/world.ts'
import {
  type ChannelName,
  type Line,
  type LoggingProxy,
  longLine,
  ONE_OF_EACH,
  type Place,
  startPlace,
} from './place.ts'
import { ask, NOT_FOUND, say, startStream } from './say.ts'

const ROUNDS = 200

let place: Place
beforeAll(async () => {
  place = await startPlace()
})
afterAll(() => place?.stop())

describe.each(ONE_OF_EACH)('over %s', (model) => {
  it.each([false, true])(
    'each turn at the other proxy, as soon as the last is complete (stream: %s)',
    async (stream) => {
      const { one, two } = place
      let previous: string | undefined
      let path: string[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const { base } = round % 2 === 0 ? one : two
        // Enough that a missed turn would show, few enough that their sum stays small.
        if (round % 10 === 0) [previous, path] = [undefined, []]
        const input = `${model} ${stream} ${round}`
        const answer = await say(base, KEY, {
          model,
          input,
          stream,
          ...(previous !== undefined && { previous }),
        })
        expect(answer.read).toEqual([...path, input])
        // The upstream's own answer passes unchanged.
        if (model !== 'first') expect(answer.follows ?? undefined).toBe(previous)
        previous = answer.id
        path = [...answer.read, answer.me]
      }
    },
    120_000,
  )

  it('forks at both proxies at once', async () => {
    const bases = [place.one.base, place.two.base]
    const root = await say(place.one.base, KEY, { model, input: 'root' })
    const inputs = Array.from({ length: 16 }, (_, i) => `fork ${i}`)
    const forks = await Promise.all(
      inputs.map((input, i) =>
        say(bases[i % 2] ?? '', KEY, { model, input, stream: i % 3 === 0, previous: root.id }),
      ),
    )
    expect(forks.map(({ read }) => read)).toEqual(inputs.map((input) => ['root', root.me, input]))
    const next = await Promise.all(
      forks.map(({ id }, i) => say(bases[(i + 1) % 2] ?? '', KEY, { model, input: 'on', previous: id })),
    )
    expect(next.map(({ read }) => read)).toEqual(forks.map(({ read, me }) => [...read, me, 'on']))
  })

  it('a proxy is killed between two turns', async () => {
    const killed = await startProxyProgram(place.world)
    await until(async () => (await call(`${killed.admin}/readyz`)).status === 200, 'readiness')
    const begin = await say(place.one.base, KEY, { model, input: 'one' })
    const last = await say(killed.base, KEY, { model, input: 'two', stream: true, previous: begin.id })
    process.kill(killed.pid, 'SIGKILL')
    await killed.program.exited
    const { read } = await say(place.two.base, KEY, { model, input: 'three', previous: last.id })
    expect(read).toEqual(['one', begin.me, 'two', last.me, 'three'])
  })

  it('a proxy is killed in the middle of an answer: its parent can still be continued', async () => {
    const killed = await startProxyProgram(place.world)
    await until(async () => (await call(`${killed.admin}/readyz`)).status === 200, 'readiness')
    const parent = await say(killed.base, KEY, { model, input: 'one' })
    hangs(model)
    const { id, over } = await startStream(killed.base, KEY, { model, input: 'two', previous: parent.id })
    process.kill(killed.pid, 'SIGKILL')
    expect(await over).not.toContain('response.completed')
    place.speakers[model].resume()
    expect(await ask(place.two.base, KEY, { model, input: 'three', previous: id })).toEqual(NOT_FOUND)
    const { read } = await say(place.two.base, KEY, { model, input: 'instead', previous: parent.id })
    expect(read).toEqual(['one', parent.me, 'instead'])
  })

  it('an answer that its upstream cut off cannot be continued', async () => {
    const parent = await say(place.one.base, KEY, { model, input: 'one' })
    const broken = hangs(model)
    const { id, over } = await startStream(place.one.base, KEY, { model, input: 'two', previous: parent.id })
    broken()
    expect(await over).toMatch(/^event: response.failed$/m)
    place.speakers[model].resume()
    expect(await ask(place.two.base, KEY, { model, input: 'three', previous: id })).toEqual(NOT_FOUND)
    const { read } = await say(place.two.base, KEY, { model, input: 'instead', previous: parent.id })
    expect(read).toEqual(['one', parent.me, 'instead'])
  })
})

describe('a proxy with a slow connection to Redis', () => {
  let line: Line
  let far: LoggingProxy
  beforeAll(async () => {
    line = await longLine(place.world.redis.port, 20)
    far = await place.startProxy({}, line.url)
    // Caches the key and the table.
    await say(far.base, KEY, { model: 'chat', input: 'x' })
  })
  afterAll(async () => {
    await far?.stop()
    await line?.close()
  })

  it.each(ONE_OF_EACH.flatMap((model) => [false, true].map((stream) => ({ model, stream }))))(
    'stores an answer before its client learns of its end ($model, stream: $stream)',
    async ({ model, stream }) => {
      for (let i = 0; i < 5; i++) {
        const one = await say(far.base, KEY, { model, input: 'one', stream })
        const two = await say(place.two.base, KEY, { model, input: 'two', stream, previous: one.id })
        expect(two.read).toEqual(['one', one.me, 'two'])
      }
    },
  )

  it.each([false, true])('also notes the channel of encrypted reasoning (stream: %s)', async (stream) => {
    const model = 'keeping'
    for (let i = 0; i < 12; i++) {
      const one = await say(far.base, KEY, { model, input: 'one', stream, more: { store: false } })
      const input = [{ role: 'user', content: 'one' }, ...one.output, { role: 'user', content: 'two' }]
      const two = await say(place.two.base, KEY, { model, input, stream, more: { store: false } })
      expect([two.read, channelOf(two.me)]).toEqual([['one', one.me, 'two'], channelOf(one.me)])
    }
  })

  it('a session that continues at another proxy stays on its channel', async () => {
    for (let i = 0; i < 12; i++) {
      const turn = { model: 'session', input: 'one', headers: { 'x-session-affinity': `far-${i}` } }
      const one = await say(far.base, KEY, turn)
      expect(channelOf((await say(place.two.base, KEY, turn)).me)).toBe(channelOf(one.me))
    }
  })
})

const channelOf = (me: string) => me.slice(0, me.indexOf('-'))

/** The upstream starts a stream, sends half of a text, and hangs until this breaks its connection. */
function hangs(model: ChannelName): () => void {
  let broken: () => void = () => undefined
  place.speakers[model].answer((_, res) => {
    const dialect = model === 'first' || model === 'second' ? 'responses' : model
    const events = answerEvents(dialect, { text: 'half of it' })
    const id = `resp_broken${place.speakers[model].calls.length}`
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of events.slice(0, Math.floor(events.length / 2)))
      res.write(event.replaceAll('resp_up', id))
    broken = () => void res.destroy()
  })
  return () => broken()
}
