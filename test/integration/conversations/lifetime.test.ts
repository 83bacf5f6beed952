/** How long conversations live, by a clock that the test moves. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { responseKey } from '../../../store/keys.ts'
import { until } from '../../harness/gateway.ts'
import { createClock } from '../../harness/redis.ts'
import { UNMETERED as KEY } from '../proxy/world.ts'
import { type ChannelName, ONE_OF_EACH, type Place, startPlace } from './place.ts'
import { ask, NOT_FOUND, say, statusOfStored, type TurnResult } from './say.ts'

/** The key itself owns the conversations: no account pays. */
const OWNER = 'kkkkkkkkkkkkkkkkkkk1'
const HOUR = 3_600_000
const clock = createClock()
let place: Place
beforeAll(async () => {
  place = await startPlace({ clock, env: { SLUICE_CONVERSATION_TTL: '1h', SLUICE_BINDING_DAYS: '2' } })
})
afterAll(async () => {
  await place?.stop()
  clock.remove()
})

/** The clock of the servers: timers of the proxies are real. */
const passes = (ms: number) => clock.advance(ms)
const begin = (model: ChannelName) => say(place.one.base, KEY, { model, input: 'one' })
const continueFrom = (model: ChannelName, { id: previous }: TurnResult) =>
  ask(place.two.base, KEY, { model, input: 'on', previous })

describe.each(['chat', 'messages'] as const)('over %s', (model) => {
  it('expires one lifetime after its last use', async () => {
    const one = await begin(model)
    passes(0.9 * HOUR)
    const two = await say(place.two.base, KEY, { model, input: 'two', previous: one.id })
    expect(two.read).toEqual(['one', one.me, 'two'])
    passes(0.9 * HOUR)
    // The second turn used the first: both can be continued.
    expect(await continueFrom(model, one)).toMatchObject({ read: ['one', one.me, 'on'] })
    const three = await say(place.one.base, KEY, { model, input: 'three', previous: two.id })
    expect(three.read).toEqual(['one', one.me, 'two', two.me, 'three'])
    passes(1.1 * HOUR)
    for (const each of [one, two, three]) expect(await continueFrom(model, each)).toEqual(NOT_FOUND)
  })

  it('reading a response counts as a use', async () => {
    const one = await begin(model)
    passes(0.9 * HOUR)
    expect(await statusOfStored(place.two.base, KEY, one.id)).toBe(200)
    passes(0.9 * HOUR)
    expect(await continueFrom(model, one)).toMatchObject({ read: ['one', one.me, 'on'] })
    passes(1.1 * HOUR)
    expect(await statusOfStored(place.two.base, KEY, one.id)).toBe(404)
  })
})

describe('where the upstream keeps it', () => {
  it('continues by reference when the text has expired here, until the binding has too', async () => {
    const one = await begin('first')
    passes(1.1 * HOUR)
    expect(await continueFrom('first', one)).toMatchObject({ read: ['one', one.me, 'on'] })
    // Neither at another channel, nor once the upstream has lost it.
    expect(await continueFrom('chat', one)).toEqual(NOT_FOUND)
    const { kept } = place.speakers.first
    const items = kept.get(one.id) ?? []
    kept.delete(one.id)
    expect(await continueFrom('first', one)).toEqual(NOT_FOUND)
    kept.set(one.id, items)
    expect(await continueFrom('first', one)).toMatchObject({ read: ['one', one.me, 'on'] })
    passes(47 * HOUR)
    expect(await continueFrom('first', one)).toEqual(NOT_FOUND)
  })

  it('a turn after an expired one is never sent with only part of its history', async () => {
    const one = await begin('first')
    passes(1.1 * HOUR)
    const two = await say(place.one.base, KEY, { model: 'first', input: 'two', previous: one.id })
    expect(await continueFrom('chat', two)).toEqual(NOT_FOUND)
    expect(await continueFrom('first', two)).toMatchObject({ read: ['one', one.me, 'two', two.me, 'on'] })
  })
})

it('everything of a conversation expires', async () => {
  const ids = new Map<string, ChannelName>()
  for (const model of ONE_OF_EACH) {
    const one = await begin(model)
    const two = await say(place.two.base, KEY, { model, input: 'two', previous: one.id })
    ids.set(responseKey(OWNER, two.id), model)
  }
  const ends = async () => {
    const keys = ((await place.world.redis.command('KEYS', '*')) as string[]).filter((key) =>
      /conv|resp/.test(key),
    )
    return Promise.all(
      keys.map(async (key) => [key, Number(await place.world.redis.command('PTTL', key))] as const),
    )
  }
  const found = await ends()
  expect(found.length).toBeGreaterThan(8)
  const isBinding = (key: string) => key.startsWith('sluice:resp:')
  const longest = (key: string) => (isBinding(key) ? 48 * HOUR : 1.1 * HOUR)
  for (const [key, ms] of found) expect([key, ms > 0 && ms <= longest(key)]).toEqual([key, true])
  const bindings = found.flatMap(([key, ms]) => (ids.has(key) ? [[ids.get(key), ms / HOUR]] : []))
  expect(Object.fromEntries(bindings)).toEqual({ chat: 1, messages: 1, first: 48 })
  passes(48.1 * HOUR)
  await until(async () => (await ends()).length === 0, 'every key to expire')
})
