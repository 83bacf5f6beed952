import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { StoreUnavailable } from '../../store/contract.ts'
import { TouchedAccounts } from './touched.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }))
afterEach(() => vi.useRealTimers())

function touchedOn() {
  const link = { cut: false }
  const reports: string[][] = []
  const touch = async (accounts: readonly string[]) => {
    if (link.cut) throw new StoreUnavailable('away')
    reports.push([...accounts])
  }
  const touched = new TouchedAccounts({ touch })
  onTestFinished(() => touched.stop())
  return { link, reports, touched }
}

test('an account in constant use is reported within a second, and then every ten', async () => {
  const { reports, touched } = touchedOn()
  for (let ms = 0; ms < 21_000; ms += 100) {
    touched.add('a')
    await vi.advanceTimersByTimeAsync(100)
    if (ms === 1_000) expect(reports).toEqual([['a']])
  }
  expect(reports).toEqual([['a'], ['a']])
})

test('accounts that were used together are reported together, and not again when they are idle', async () => {
  const { reports, touched } = touchedOn()
  for (const account of ['a', 'b', 'a']) touched.add(account)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(reports).toEqual([['a', 'b']])
})

test('a report that fails is repeated until the store takes it', async () => {
  const { link, reports, touched } = touchedOn()
  link.cut = true
  touched.add('a')
  await vi.advanceTimersByTimeAsync(5_000)
  link.cut = false
  await vi.advanceTimersByTimeAsync(1_000)
  expect(reports).toEqual([['a']])
})

test('after the store was away, and at the end, what is in use is reported', async () => {
  const { reports, touched } = touchedOn()
  touched.add('a')
  await vi.advanceTimersByTimeAsync(1_000)
  touched.restored()
  touched.add('a')
  await touched.stop()
  expect(reports).toEqual([['a'], ['a']])
})
