/** Conversations belong to their owner at every proxy, and an owner's room is limited. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keyHash } from '../../../contract/ids.ts'
import { testAccount, testKey } from '../../../proxy/auth/testing.ts'
import { type LoggingProxy, ONE_OF_EACH, type Place, startPlace } from './place.ts'
import { ask, NOT_FOUND, say, statusOfStored } from './say.ts'

const ALICE = 'sk-alice-of-red'
const BOB = 'sk-bob-of-red'
const CAROL = 'sk-carol-of-blue'
const FREE = 'sk-free-one'
const FREE_TOO = 'sk-free-two'
const NEAR = 'sk-small-room'
const ALL_KEYS = [ALICE, BOB, CAROL, FREE, FREE_TOO, NEAR]

let place: Place
beforeAll(async () => {
  place = await startPlace()
  const { keys, accounts } = place.world
  for (const id of ['red', 'blue', 'small'].map(accountId)) await opened(id)
  const key = (text: string, account?: string) =>
    keys.set(
      keyHash(text),
      testKey({ id: keyId(text), name: text, ...(account && { account: accountId(account) }) }),
    )
  key(ALICE, 'red')
  key(BOB, 'red')
  key(CAROL, 'blue')
  key(NEAR, 'small')
  key(FREE)
  key(FREE_TOO)
  expect(accounts.size).toBe(4)
  await place.publish()
})
afterAll(() => place?.stop())

const accountId = (name: string) => name.padEnd(20, 'a')
const keyId = (text: string) => `k${ALL_KEYS.indexOf(text)}`.padEnd(20, 'k')

async function opened(id: string): Promise<void> {
  place.world.accounts.set(id, testAccount({ id }))
  await place.world.store.ledger.open({ account: id, epoch: 1, create: true })
  await place.world.store.ledger.topup({ account: id, epoch: 1, id: `default/${id}`, amount: 1_000_000_000 })
}

describe.each(ONE_OF_EACH)('over %s', (model) => {
  const begin = (key: string) => say(place.one.base, key, { model, input: `of ${key}` })
  const continueAs = (key: string, previous: string, stream = false) =>
    ask(place.two.base, key, { model, input: 'more', previous, stream })

  it("neither another account nor a key without one can continue an account's conversation", async () => {
    const { id } = await begin(ALICE)
    const calls = place.speakers[model].calls.length
    for (const key of [CAROL, FREE]) {
      expect(await continueAs(key, id)).toEqual(NOT_FOUND)
      expect(await continueAs(key, id, true)).toEqual(NOT_FOUND)
      expect(await statusOfStored(place.two.base, key, id)).toBe(404)
    }
    expect(place.speakers[model].calls.length).toBe(calls)
  })

  it('another key of the account can continue it', async () => {
    const one = await begin(ALICE)
    const two = await continueAs(BOB, one.id)
    expect(two).toMatchObject({ read: [`of ${ALICE}`, one.me, 'more'] })
    expect(await statusOfStored(place.two.base, BOB, one.id)).toBe(200)
  })

  it('each key without an account has its own conversations', async () => {
    const one = await begin(FREE)
    expect(await continueAs(FREE_TOO, one.id)).toEqual(NOT_FOUND)
    expect(await continueAs(ALICE, one.id)).toEqual(NOT_FOUND)
    expect(await continueAs(FREE, one.id)).toMatchObject({ read: [`of ${FREE}`, one.me, 'more'] })
  })

  it('a wrong owner removes nothing of the right one', async () => {
    const one = await begin(ALICE)
    await continueAs(CAROL, one.id)
    expect(await continueAs(ALICE, one.id)).toMatchObject({ read: [`of ${ALICE}`, one.me, 'more'] })
  })
})

it('a recreated account has nothing of the deleted one', async () => {
  const { world, one, two } = place
  const before = await Promise.all(
    ONE_OF_EACH.map((model) => say(one.base, CAROL, { model, input: 'secret' })),
  )
  // As the controller does it: a new id under the same name, and the name's keys belong to it.
  const again = 'blueagain'.padEnd(20, 'b')
  await world.publish({
    keys: { put: new Map(), remove: [keyHash(CAROL)] },
    accounts: { put: new Map(), remove: [accountId('blue')] },
  })
  world.accounts.delete(accountId('blue'))
  await opened(again)
  world.keys.set(keyHash(CAROL), testKey({ id: keyId(CAROL), name: CAROL, account: again }))
  await place.publish()
  for (const [i, { id }] of before.entries()) {
    const model = ONE_OF_EACH[i] ?? 'chat'
    expect(await ask(two.base, CAROL, { model, input: 'more', previous: id })).toEqual(NOT_FOUND)
    expect(await statusOfStored(one.base, CAROL, id)).toBe(404)
    const now = await say(one.base, CAROL, { model, input: 'now' })
    expect((await say(two.base, CAROL, { model, input: 'on', previous: now.id })).read).toEqual([
      'now',
      now.me,
      'on',
    ])
  }
})

describe('room', () => {
  /** Bytes; a turn of `LARGE` takes more than a quarter of the owner's. */
  const OWNER = 12_000
  const EXCHANGE = 6_000
  const LARGE = 'x'.repeat(1_000)
  let here: LoggingProxy
  let there: LoggingProxy
  beforeAll(async () => {
    const env = { SLUICE_MAX_CONVERSATION_BYTES: `${OWNER}`, SLUICE_MAX_EXCHANGE_BYTES: `${EXCHANGE}` }
    here = await place.startProxy(env)
    there = await place.startProxy(env)
  })
  afterAll(async () => {
    await here?.stop()
    await there?.stop()
  })

  it.each([false, true])(
    'an exchange that is too large is served and not stored (stream: %s)',
    async (stream) => {
      const input = 'y'.repeat(EXCHANGE)
      for (const model of ONE_OF_EACH) {
        const one = await say(here.base, FREE_TOO, { model, input, stream })
        expect(one.read).toEqual([input])
        const next = await ask(there.base, FREE_TOO, { model, input: 'on', previous: one.id })
        if (model === 'first') expect(next).toMatchObject({ read: [input, one.me, 'on'] })
        else expect(next).toEqual(NOT_FOUND)
      }
    },
  )

  it('an account at its limit is served and not stored; stored conversations can be continued', async () => {
    const fits = await say(here.base, NEAR, { model: 'chat', input: 'fits' })
    let last = fits
    let stored = 0
    for (; stored < 20; stored++) {
      last = await say(here.base, NEAR, { model: 'messages', input: LARGE })
      expect(last.read).toEqual([LARGE])
      if ((await statusOfStored(there.base, NEAR, last.id)) === 404) break
    }
    // The text is in the input, in the answer that quotes it, and in the response as its client got it.
    expect(stored).toBeGreaterThan(0)
    expect(stored).toBeLessThan(4)
    expect(await ask(there.base, NEAR, { model: 'messages', input: 'on', previous: last.id })).toEqual(
      NOT_FOUND,
    )
    const keeps = await say(here.base, NEAR, { model: 'first', input: LARGE })
    const on = await say(there.base, NEAR, { model: 'first', input: 'on', previous: keeps.id })
    expect(on.read).toEqual([LARGE, keeps.me, 'on'])
    expect((await say(there.base, NEAR, { model: 'chat', input: 'on', previous: fits.id })).read).toEqual([
      'fits',
      fits.me,
      'on',
    ])
    // Another channel would get only part of the history.
    expect(await ask(there.base, NEAR, { model: 'chat', input: 'on', previous: keeps.id })).toEqual(NOT_FOUND)
    // Other owners are unaffected.
    const other = await say(here.base, FREE_TOO, { model: 'chat', input: LARGE })
    expect(
      (await say(there.base, FREE_TOO, { model: 'chat', input: 'on', previous: other.id })).read,
    ).toHaveLength(3)
  })
})
