import { beforeEach, expect, test } from 'vitest'
import type { ResponseBinding, StateStore } from '../../../store/contract.ts'
import { createEmbeddedStore } from '../../../store/embedded/index.ts'
import { StoreTime } from '../../ledger/store-time.ts'
import { bindingOf, storedExchanges } from './previous.ts'
import { type StoredExchange, writeExchange } from './stored-exchange.ts'

const OWNER = 'o'
const LIMITS = { ttlMs: 60_000, bindingTtlMs: 60_000, exchangeBytes: 1_000, ownerBytes: 10_000 }
const BINDING: ResponseBinding = {
  channel: 'default/a',
  upstreamId: 'u',
  native: false,
  contextTokens: 1,
  root: 'resp_1',
}
const SAID: StoredExchange = { input: ['"in"'], output: ['"out"'], response: '{}' }

let state: StateStore
beforeEach(async () => {
  state = createEmbeddedStore().state
  await state.putResponse(OWNER, 'resp_1', BINDING, 60_000)
  await state.putExchange(OWNER, { id: 'resp_1', root: 'resp_1', text: writeExchange(SAID) }, 60_000, LIMITS)
})

const binding = (owner = OWNER) => bindingOf(state, new StoreTime(5_000), owner, 'resp_1')

test('a response is visible to its owner alone', async () => {
  expect(await binding()).toEqual(BINDING)
  expect(await binding('other')).toBeUndefined()
  expect(await storedExchanges({ state, limits: LIMITS }, OWNER, BINDING, 'resp_1')).toEqual([SAID])
  expect(await storedExchanges({ state, limits: LIMITS }, 'other', BINDING, 'resp_1')).toBeUndefined()
})

test('a response that is deleted while it is read does not reappear', async () => {
  const racing: StateStore = {
    ...state,
    async exchanges(...ids) {
      const found = await state.exchanges(...ids)
      await state.removeExchange(OWNER, 'resp_1', 'resp_1')
      await state.removeResponse(OWNER, 'resp_1')
      return found
    },
  }
  expect(await storedExchanges({ state: racing, limits: LIMITS }, OWNER, BINDING, 'resp_1')).toEqual([SAID])
  expect(await binding()).toBeUndefined()
})
