import { afterEach, expect, test, vi } from 'vitest'
import { StoreUnavailable } from '../store/contract.ts'
import { createEmbeddedStore } from '../store/embedded/index.ts'
import { until } from '../test/harness/gateway.ts'
import { Candidate } from './candidate.ts'

const LEASE_MS = 600
const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() }

/** The keys of a store that may be away. */
function place() {
  const { config } = createEmbeddedStore()
  const state = { away: false, renewals: 0 }
  const reached = () => {
    if (state.away) throw new StoreUnavailable('away')
  }
  const store = {
    async lead(candidate: string, ms: number) {
      reached()
      state.renewals++
      return config.lead(candidate, ms)
    },
    async resign(candidate: string) {
      reached()
      return config.resign(candidate)
    },
  }
  return { state, store, config }
}

const candidates: Candidate[] = []
afterEach(async () => {
  await Promise.all(candidates.splice(0).map((candidate) => candidate.release()))
  vi.clearAllMocks()
})

function stand({ store }: Pick<ReturnType<typeof place>, 'store'>, instance: string) {
  const state: { began: number; ended?: string } = { began: 0 }
  const candidate = new Candidate({
    ...{ store, instance, leaseMs: LEASE_MS, log },
    onLeading: () => void state.began++,
  })
  candidates.push(candidate)
  void candidate.run().then((ended) => {
    state.ended = ended
  })
  return { candidate, state }
}

test('one leads and renews; when it resigns the other leads at once', async () => {
  const one = place()
  const a = stand(one, 'same-name')
  await until(() => a.candidate.leads, 'a to lead')
  const b = stand(one, 'same-name')
  const { renewals } = one.state
  await until(() => one.state.renewals > renewals + 20, 'attempts beyond the length of the lease')
  expect([a.state.began, a.candidate.leads, b.state.began, b.candidate.leads]).toEqual([1, true, 0, false])
  const from = performance.now()
  await a.candidate.release()
  expect([a.state.ended, a.candidate.leads]).toEqual(['stopped', false])
  await until(() => b.candidate.leads, 'b to lead')
  expect(performance.now() - from).toBeLessThan(LEASE_MS)
  expect(b.state.began).toBe(1)
})

test('a leader that does not reach the store stops counting as one before its time is over, and leads again after', async () => {
  const one = place()
  const { candidate, state } = stand(one, 'a')
  await until(() => candidate.leads, 'a to lead')
  one.state.away = true
  const from = performance.now()
  await until(() => !candidate.leads, 'a to give up')
  expect(performance.now() - from).toBeLessThan(LEASE_MS)
  one.state.away = false
  await until(() => candidate.leads, 'a to lead again')
  expect(state).toEqual({ began: 1 })
  expect(log.warn).toHaveBeenCalledOnce()
})

test('a leader whose time is over has lost to the one that took over', async () => {
  const one = place()
  const { config } = one
  const a = stand(one, 'a')
  await until(() => a.candidate.leads, 'a to lead')
  one.state.away = true
  const b = stand({ store: config }, 'b')
  await until(() => b.candidate.leads, 'b to lead')
  expect(a.candidate.leads).toBe(false)
  one.state.away = false
  await until(() => a.state.ended, 'a to end')
  expect(a.state.ended).toBe('lost')
  expect(log.error).toHaveBeenCalledWith({ instance: 'a', leader: 'b' }, 'another controller leads now')
  // What a lost leader does last must not end the leadership of the other one.
  await a.candidate.release()
  expect(await config.lead('c', 1)).toMatch(/^b /)
})

test('a candidate that is released while it waits never leads', async () => {
  const one = place()
  const a = stand(one, 'a')
  await until(() => a.candidate.leads, 'a to lead')
  const b = stand(one, 'b')
  await b.candidate.release()
  expect(b.state).toEqual({ began: 0, ended: 'stopped' })
  expect(a.candidate.leads).toBe(true)
})
