/** How long conversations live: by a clock that the test moves. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { responseKey } from '../../../store/keys.ts'
import { until } from '../../harness/gateway.ts'
import { createClock } from '../../harness/redis.ts'
import { UNMETERED as KEY } from '../proxy/world.ts'
import { type ChannelName, ONE_OF_EACH, type Place, startPlace } from './place.ts'
import { ask, type Heard, NOT_FOUND, say, statusOfStored } from './say.ts'

/** The key itself: nobody pays. */
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

/** Of the servers: timers of the proxies run on. */
const passes = (ms: number) => clock.advance(ms)
const begin = (model: ChannelName) => say(place.one.base, KEY, { model, input: 'one' })
const goOn = (model: ChannelName, { id: previous }: Heard) =>
  ask(place.two.base, KEY, { model, input: 'on', previous })

describe.each(['chat', 'messages'] as const)('over %s', (model) => {
  it('ends its time after it was last needed', async () => {
    const one = await begin(model)
    passes(0.9 * HOUR)
    const two = await say(place.two.base, KEY, { model, input: 'two', previous: one.id })
    expect(two.read).toEqual(['one', one.me, 'two'])
    passes(0.9 * HOUR)
    // The first was needed for the second: from both one goes on.
    expect(await goOn(model, one)).toMatchObject({ read: ['one', one.me, 'on'] })
    const three = await say(place.one.base, KEY, { model, input: 'three', previous: two.id })
    expect(three.read).toEqual(['one', one.me, 'two', two.me, 'three'])
    passes(1.1 * HOUR)
    for (const each of [one, two, three]) expect(await goOn(model, each)).toEqual(NOT_FOUND)
  })

  it('to be read is to be needed', async () => {
    const one = await begin(model)
    passes(0.9 * HOUR)
    expect(await statusOfStored(place.two.base, KEY, one.id)).toBe(200)
    passes(0.9 * HOUR)
    expect(await goOn(model, one)).toMatchObject({ read: ['one', one.me, 'on'] })
    passes(1.1 * HOUR)
    expect(await statusOfStored(place.two.base, KEY, one.id)).toBe(404)
  })
})

describe('where the upstream keeps it', () => {
  it('goes on by reference when what was said is gone here, until nobody knows the way', async () => {
    const one = await begin('first')
    passes(1.1 * HOUR)
    expect(await goOn('first', one)).toMatchObject({ read: ['one', one.me, 'on'] })
    // Nowhere else, and not when the upstream has forgotten.
    expect(await goOn('chat', one)).toEqual(NOT_FOUND)
    const { kept } = place.speakers.first
    const items = kept.get(one.id) ?? []
    kept.delete(one.id)
    expect(await goOn('first', one)).toEqual(NOT_FOUND)
    kept.set(one.id, items)
    expect(await goOn('first', one)).toMatchObject({ read: ['one', one.me, 'on'] })
    passes(47 * HOUR)
    expect(await goOn('first', one)).toEqual(NOT_FOUND)
  })

  it('a turn that followed what is gone is not told in part', async () => {
    const one = await begin('first')
    passes(1.1 * HOUR)
    const two = await say(place.one.base, KEY, { model: 'first', input: 'two', previous: one.id })
    expect(await goOn('chat', two)).toEqual(NOT_FOUND)
    expect(await goOn('first', two)).toMatchObject({ read: ['one', one.me, 'two', two.me, 'on'] })
  })
})

it('nothing of a conversation stays for ever', async () => {
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
  await until(async () => (await ends()).length === 0, 'all to be gone')
})
