import { expect, it } from 'vitest'
import { MAX_TROUBLES } from '../../store/contract.ts'
import type { ChannelState } from './health.ts'
import { troublesOf } from './troubles.ts'

const state = (channel: string, failures: number, ejected = false): ChannelState => ({
  ...{ channel, inFlight: 0, consecutiveFailures: failures, ejected },
  lastFailure: failures > 0 || ejected ? 'transient' : undefined,
})

it('lists failing channels and since when, until they work again', () => {
  let now = 1_000
  let states = [state('a/well', 0), state('a/ill', 1)]
  const troubles = troublesOf(
    () => states,
    () => now,
  )
  const ill = { channel: 'a/ill', lastFailure: 'transient', since: 1_000, ejected: false }
  expect(troubles()).toEqual([ill])
  now = 5_000
  states = [state('a/ill', 5, true)]
  expect(troubles()).toEqual([{ ...ill, ejected: true }])
  states = [state('a/ill', 0)]
  expect(troubles()).toEqual([])
  states = [state('a/ill', 1)]
  expect(troubles()).toEqual([{ ...ill, since: 5_000 }])
})

it('lists a bounded number, ejected channels first', () => {
  const many = Array.from({ length: MAX_TROUBLES + 5 }, (_, i) => state(`a/${i}`, 1, i >= MAX_TROUBLES))
  const read = troublesOf(
    () => many,
    () => 0,
  )()
  expect(read).toHaveLength(MAX_TROUBLES)
  expect(read.filter(({ ejected }) => ejected)).toHaveLength(5)
})
