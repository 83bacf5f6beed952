import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Revocation } from './revocation.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => vi.useRealTimers())

function inFlight(revocation: Revocation, hash: string) {
  const request = new AbortController()
  return { request, end: revocation.watch(hash, request) }
}

test('the requests of a key that was taken back end, and no others', async () => {
  const revocation = new Revocation()
  const [bad, alsoBad, good] = ['bad', 'bad', 'good'].map((hash) => inFlight(revocation, hash))
  await revocation.recheck(undefined, async (hash) => hash === 'good')
  expect(bad?.request.signal.reason).toMatchObject({ code: 'unauthorized' })
  expect(alsoBad?.request.signal.aborted).toBe(true)
  expect(good?.request.signal.aborted).toBe(false)
})

test('a key of which nobody can tell is looked at again until somebody can', async () => {
  const revocation = new Revocation()
  const { request } = inFlight(revocation, 'key')
  let verdict: boolean | undefined
  await revocation.recheck(['key'], async () => verdict)
  expect(request.signal.aborted).toBe(false)
  verdict = false
  await vi.runAllTimersAsync()
  expect(request.signal.aborted).toBe(true)
})

test('and nobody asks for it once its requests are over', async () => {
  const revocation = new Revocation()
  const { end } = inFlight(revocation, 'key')
  const mayBeUsed = vi.fn(async () => undefined)
  await revocation.recheck(['key'], mayBeUsed)
  end()
  await vi.runAllTimersAsync()
  expect(mayBeUsed).toHaveBeenCalledTimes(1)
})
