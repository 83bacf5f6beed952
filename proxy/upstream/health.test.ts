import { describe, expect, test } from 'vitest'
import type { FailureClass } from '../../contract/failures.ts'
import { ChannelHealth, type Place } from './health.ts'

const policy = { consecutiveFailures: 3, intervalMs: 1_000, maxIntervalMs: 3_000 }
const CHANNEL = 'default/main'

function setUp() {
  const clock = { ms: 50_000 }
  const health = new ChannelHealth(() => clock.ms)
  const take = (model = 'm'): Place => {
    const place = health.acquire(CHANNEL, model, undefined)
    if (place === undefined) throw new Error('no place')
    return place
  }
  const failAt = (place: Place, failureClass: FailureClass, retryAfterSeconds?: number) => {
    const after = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
    health.failed(place, { class: failureClass, detail: 'test', ...after }, policy)
    health.release(place)
  }
  const fail = (failureClass: FailureClass, times = 1, retryAfterSeconds?: number, model = 'm') => {
    const places = Array.from({ length: times }, () => take(model))
    for (const place of places) failAt(place, failureClass, retryAfterSeconds)
  }
  const succeed = (place = take()) => {
    health.succeeded(place)
    health.release(place)
  }
  /** How long the channel still rests. */
  const rest = (model = 'm') => Math.max(0, health.ejectedUntil(CHANNEL, model) - clock.ms)
  return { clock, health, take, failAt, fail, succeed, rest }
}

describe('ejection', () => {
  test.each(['transient', 'credential', 'quota', 'region_blocked', 'unknown'] as const)(
    '%s failures in a row let the channel rest, for every model',
    (failureClass) => {
      const { fail, rest } = setUp()
      fail(failureClass, 2)
      expect(rest()).toBe(0)
      fail(failureClass)
      expect(rest()).toBe(1_000)
      expect(rest('other')).toBe(1_000)
    },
  )

  test.each(['model_gone', 'model_access'] as const)('%s lets only that model rest', (failureClass) => {
    const { health, fail, rest } = setUp()
    fail(failureClass, 3)
    expect(rest('m')).toBe(1_000)
    expect(rest('other')).toBe(0)
    expect(health.snapshot()).toEqual([
      { channel: CHANNEL, inFlight: 0, consecutiveFailures: 0, ejected: false, lastFailure: failureClass },
    ])
  })

  test('a channel whose settings changed starts afresh, for every model', () => {
    const { health, fail, rest } = setUp()
    fail('transient', 3)
    fail('model_gone', 3, undefined, 'other')
    health.reset('default/main2')
    expect(rest()).toBe(1_000)
    health.reset(CHANNEL)
    expect(rest()).toBe(0)
    expect(rest('other')).toBe(0)
  })

  test("a caller's fault never counts, and does not break a row of failures", () => {
    const { health, fail, rest } = setUp()
    fail('caller_fault', 100)
    expect(rest()).toBe(0)
    expect(health.snapshot()[0]).toMatchObject({ consecutiveFailures: 0, lastFailure: undefined })
    fail('transient', 2)
    fail('caller_fault')
    fail('transient')
    expect(rest()).toBe(1_000)
  })

  test('a success breaks the row', () => {
    const { fail, succeed, rest } = setUp()
    fail('transient', 2)
    succeed()
    fail('transient', 2)
    expect(rest()).toBe(0)
  })

  test('zero consecutive failures means never', () => {
    const { health, take } = setUp()
    for (let i = 0; i < 50; i++)
      health.failed(take(), { class: 'transient', detail: 'test' }, { ...policy, consecutiveFailures: 0 })
    expect(health.ejectedUntil(CHANNEL, 'm')).toBe(0)
  })

  test('after a rest one probe goes; its failures double the rest up to the longest', () => {
    const { clock, fail, failAt, take, rest } = setUp()
    fail('transient', 3)
    const rests: number[] = []
    for (let i = 0; i < 4; i++) {
      rests.push(rest())
      clock.ms += rest()
      expect(rest()).toBe(0)
      const probe = take()
      expect(rest()).toBeGreaterThan(0)
      failAt(probe, 'transient')
    }
    expect(rests).toEqual([1_000, 2_000, 3_000, 3_000])
  })

  test('the probe that succeeds ends it all', () => {
    const { clock, fail, succeed, rest } = setUp()
    fail('transient', 3)
    clock.ms += 1_000
    succeed()
    expect(rest()).toBe(0)
    fail('transient', 2)
    expect(rest()).toBe(0)
    fail('transient')
    expect(rest()).toBe(1_000)
  })

  test('a probe that never reports holds the channel for one more rest, not for ever', () => {
    const { clock, fail, take, rest } = setUp()
    fail('transient', 3)
    clock.ms += 1_000
    take()
    expect(rest()).toBe(1_000)
    clock.ms += 1_000
    expect(rest()).toBe(0)
  })

  test('a model that rests is probed too', () => {
    const { clock, fail, failAt, take, rest } = setUp()
    fail('model_gone', 3)
    clock.ms += 1_000
    const probe = take()
    expect(rest()).toBe(1_000)
    failAt(probe, 'model_gone')
    expect(rest()).toBe(2_000)
  })

  test('failures of requests that were in flight when the rest began add nothing', () => {
    const { clock, take, failAt, fail, rest } = setUp()
    const early = Array.from({ length: 10 }, () => take())
    fail('transient', 3)
    clock.ms += 400
    for (const place of early) failAt(place, 'transient')
    expect(rest()).toBe(600)
  })
})

describe('a probe that proves nothing', () => {
  function setUpProbe() {
    const known = setUp()
    const early = known.take()
    known.fail('transient', 3)
    known.clock.ms += 1_000
    const probe = known.take()
    expect(known.rest()).toBe(1_000)
    return { ...known, early, probe }
  }

  test('leaves the channel open for the next one, whose failure doubles the rest once', () => {
    const { health, take, failAt, rest, probe } = setUpProbe()
    health.release(probe)
    expect(rest()).toBe(0)
    const next = take()
    expect(rest()).toBe(1_000)
    failAt(next, 'transient')
    expect(rest()).toBe(2_000)
  })

  test("a caller's fault is none, nor is a rate limit without a Retry-After", () => {
    const { take, failAt, rest, probe, health } = setUpProbe()
    failAt(probe, 'caller_fault')
    expect(rest()).toBe(0)
    failAt(take(), 'rate_limit')
    expect(rest()).toBe(0)
    expect(health.snapshot()[0]?.consecutiveFailures).toBe(3)
  })

  test('after a rate limit the channel rests as long as Retry-After says, then the next request is the probe', () => {
    const { clock, take, failAt, rest, probe } = setUpProbe()
    failAt(probe, 'rate_limit', 2)
    expect(rest()).toBe(2_000)
    clock.ms += 2_000
    expect(rest()).toBe(0)
    failAt(take(), 'transient')
    expect(rest()).toBe(2_000)
  })

  test('the fault of one model does not prove that the channel works', () => {
    const { failAt, rest, probe } = setUpProbe()
    failAt(probe, 'model_gone')
    expect(rest()).toBe(0)
  })

  test('a request that began before the rest neither ends the probe nor decides it', () => {
    const { health, failAt, rest, early, take } = setUpProbe()
    const other = take()
    failAt(early, 'transient')
    expect(rest()).toBe(1_000)
    health.release(other)
    expect(rest()).toBe(1_000)
  })

  test('a probe that reports late leaves the one that followed it alone', () => {
    const { clock, health, take, rest, probe } = setUpProbe()
    clock.ms += 1_000
    take()
    health.release(probe)
    expect(rest()).toBe(1_000)
  })

  test('a model that rests is open again, too', () => {
    const { clock, health, take, fail, rest } = setUp()
    fail('model_gone', 3)
    clock.ms += 1_000
    const probe = take()
    expect(rest()).toBe(1_000)
    health.release(probe)
    expect(rest()).toBe(0)
  })
})

describe('rate limits', () => {
  test('the channel rests as long as it asked for, and is simply back after it', () => {
    const { clock, health, fail, take, rest } = setUp()
    fail('rate_limit', 10, 7)
    expect(rest('other')).toBe(7_000)
    clock.ms += 7_000
    health.release(take())
    expect(rest()).toBe(0)
    expect(health.snapshot()[0]?.consecutiveFailures).toBe(0)
  })

  test('no longer than a minute; not at all without a Retry-After; a shorter one does not end a longer', () => {
    const { fail, rest } = setUp()
    fail('rate_limit', 10)
    expect(rest()).toBe(0)
    fail('rate_limit', 1, 3_600)
    expect(rest()).toBe(60_000)
    fail('rate_limit', 1, 1)
    expect(rest()).toBe(60_000)
  })
})

describe('places', () => {
  test('acquire takes until full, release gives back', () => {
    const { health } = setUp()
    const take = (channel = CHANNEL) => health.acquire(channel, 'm', 2)
    const first = take()
    expect(first).toBeDefined()
    expect(health.isFull(CHANNEL, 2)).toBe(false)
    expect(take()).toBeDefined()
    expect(health.isFull(CHANNEL, 2)).toBe(true)
    expect(take()).toBeUndefined()
    expect(take('default/other')).toBeDefined()
    if (first !== undefined) health.release(first)
    expect(take()).toBeDefined()
    expect(health.snapshot().map((c) => [c.channel, c.inFlight])).toEqual([
      [CHANNEL, 2],
      ['default/other', 1],
    ])
  })

  test('a channel that is gone is forgotten when it is idle', () => {
    const { health, fail } = setUp()
    fail('transient')
    const place = health.acquire('default/busy', 'm', undefined)
    if (place === undefined) throw new Error('no place')
    health.retain(new Set())
    expect(health.snapshot().map((c) => c.channel)).toEqual(['default/busy'])
    health.release(place)
    health.retain(new Set())
    expect(health.snapshot()).toEqual([])
    health.release(place)
    expect(health.snapshot()).toEqual([])
  })
})
