/** Conversations while Redis is down: never refused for good, and never continued without their history. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../harness/gateway.ts'
import { IMPATIENT } from '../../harness/redis.ts'
import { json } from '../../harness/upstream.ts'
import { METERED, metric, UNMETERED, type World } from '../proxy/world.ts'
import { ONE_OF_EACH, type Place, startPlace } from './place.ts'
import { ask, NOT_FOUND, say, type TurnResult } from './say.ts'

let place: Place
/** Turns stored before, by model. */
let stored: Map<string, TurnResult>
beforeEach(async () => {
  place = await startPlace({ env: IMPATIENT })
  const { one, two } = place
  for (const key of [UNMETERED, METERED])
    for (const { base } of [one, two]) await say(base, key, { model: 'chat', input: 'known' })
  stored = new Map()
  for (const model of ONE_OF_EACH) stored.set(model, await say(one.base, UNMETERED, { model, input: 'one' }))
})
afterEach(() => place?.stop())

const unavailable = { status: 503, code: 'store_unavailable', retryAfter: expect.stringMatching(/^\d+$/) }

const calls = () => Object.values(place.speakers).reduce((sum, { calls: made }) => sum + made.length, 0)

describe.each([
  ['stopped', (redis: World['redis']) => redis.pause()],
  ['killed', (redis: World['redis']) => redis.kill()],
] as const)('a Redis that is %s', (how, leave) => {
  it('continuing is 503; a new conversation without an account is served and not stored', async () => {
    const { one, two, world } = place
    await leave(world.redis)
    const before = calls()
    for (const [model, { id: previous }] of stored)
      for (const stream of [false, true])
        for (const { base } of [one, two])
          expect(await ask(base, UNMETERED, { model, input: 'two', previous, stream })).toMatchObject(
            unavailable,
          )
    // Nor is the id reported as unknown.
    expect(
      await ask(one.base, UNMETERED, { model: 'chat', input: 'x', previous: 'resp_nobody' }),
    ).toMatchObject(unavailable)
    expect(await ask(one.base, METERED, { model: 'chat', input: 'x' })).toMatchObject(unavailable)
    expect(calls()).toBe(before)
    const started = new Map<string, TurnResult>()
    for (const model of ONE_OF_EACH)
      for (const stream of [false, true])
        started.set(model, await say(two.base, UNMETERED, { model, input: 'new', stream }))
    expect([...started.values()].map(({ read }) => read)).toEqual(ONE_OF_EACH.map(() => ['new']))

    if (how === 'stopped') world.redis.resume()
    else {
      await world.redis.restart()
      await until(() => world.store.config.position().catch(() => undefined), 'the store')
      await world.lead()
    }
    for (const proxy of [one, two])
      await until(async () => (await metric(proxy, 'sluice_store_available')) === 1, 'the store')
    for (const [model, { id: previous, me }] of stored) {
      const turn = { model, input: 'two', previous }
      const answer = await until(async () => {
        const response = await ask(two.base, UNMETERED, turn)
        return 'code' in response && response.code === 'store_unavailable' ? undefined : response
      }, 'the conversation')
      if (how === 'killed') expect(answer).toEqual(NOT_FOUND)
      else expect(answer).toMatchObject({ read: ['one', me, 'two'] })
    }
    for (const [model, { id: previous, me }] of started) {
      const answer = await ask(one.base, UNMETERED, { model, input: 'two', previous })
      // A stopped server may run commands that it received before, once it resumes.
      if (how === 'stopped' && 'id' in answer) expect(answer.read).toEqual(['new', me, 'two'])
      else expect(answer).toEqual(NOT_FOUND)
    }
  })
})

it('an upstream that lost the conversation does not make it unknown', async () => {
  const { one, speakers, world } = place
  const started = stored.get('first')
  const refused = {
    error: { message: 'Not found.', code: 'previous_response_not_found', type: 'invalid_request_error' },
  }
  speakers.first.answer((_, res) => {
    world.redis.pause()
    json(res, 400, refused)
  })
  const turn = { model: 'first', input: 'two', ...(started && { previous: started.id }) }
  expect(await ask(one.base, UNMETERED, turn)).toMatchObject(unavailable)
  expect(speakers.first.last()).toMatchObject({ previous_response_id: started?.id })
  world.redis.resume()
})

it('a session is served although its channel cannot be looked up', async () => {
  await place.world.redis.kill()
  const turn = { model: 'session', input: 'x', headers: { 'x-session-affinity': 's' } }
  for (let i = 0; i < 5; i++) expect((await say(place.two.base, UNMETERED, turn)).read).toEqual(['x'])
})

it('the log reports once that nothing can be stored', async () => {
  await place.world.redis.kill()
  for (let i = 0; i < 5; i++) await say(place.one.base, UNMETERED, { model: 'chat', input: 'x' })
  const lines = place.one.log.filter((text) => text.includes('conversations cannot be stored'))
  expect(lines).toHaveLength(1)
})
