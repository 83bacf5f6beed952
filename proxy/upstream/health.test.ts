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
  /** Remaining milliseconds of the ejection. */
  const ejectedFor = (model = 'm') => Math.max(0, health.ejectedUntil(CHANNEL, model) - clock.ms)
  return { clock, health, take, failAt, fail, succeed, ejectedFor }
}

describe('ejection', () => {
  test.each(['transient', 'credential', 'quota', 'region_blocked', 'unknown'] as const)(
    '%s failures in a row eject the channel, for every model',
    (failureClass) => {
      const { fail, ejectedFor } = setUp()
      fail(failureClass, 2)
      expect(ejectedFor()).toBe(0)
      fail(failureClass)
      expect(ejectedFor()).toBe(1_000)
      expect(ejectedFor('other')).toBe(1_000)
    },
  )

  test.each(['model_gone', 'model_access'] as const)('%s ejects only that model', (failureClass) => {
    const { health, fail, ejectedFor } = setUp()
    fail(failureClass, 3)
    expect(ejectedFor('m')).toBe(1_000)
    expect(ejectedFor('other')).toBe(0)
    expect(health.snapshot()).toEqual([
      { channel: CHANNEL, inFlight: 0, consecutiveFailures: 0, ejected: false, lastFailure: failureClass },
    ])
  })

  test('new settings of a channel end its ejection, for every model', () => {
    const { health, fail, ejectedFor } = setUp()
    fail('transient', 3)
    fail('model_gone', 3, undefined, 'other')
    health.reset(new Set(['default/main2']))
    expect(ejectedFor()).toBe(1_000)
    health.reset(new Set([CHANNEL]))
    expect(ejectedFor()).toBe(0)
    expect(ejectedFor('other')).toBe(0)
  })

  test('new settings of a channel leave the models of another one ejected', () => {
    const { health, fail, ejectedFor } = setUp()
    fail('model_gone', 3, undefined, 'other')
    health.reset(new Set(['default/main2']))
    expect(ejectedFor('other')).toBe(1_000)
    health.reset(new Set([CHANNEL]))
    expect(ejectedFor('other')).toBe(0)
  })

  test("a caller's fault never counts, and does not break a row of failures", () => {
    const { health, fail, ejectedFor } = setUp()
    fail('caller_fault', 100)
    expect(ejectedFor()).toBe(0)
    expect(health.snapshot()[0]).toMatchObject({ consecutiveFailures: 0, lastFailure: undefined })
    fail('transient', 2)
    fail('caller_fault')
    fail('transient')
    expect(ejectedFor()).toBe(1_000)
  })

  test('a success breaks the row', () => {
    const { fail, succeed, ejectedFor } = setUp()
    fail('transient', 2)
    succeed()
    fail('transient', 2)
    expect(ejectedFor()).toBe(0)
  })

  test('zero consecutive failures disables ejection', () => {
    const { health, take } = setUp()
    for (let i = 0; i < 50; i++)
      health.failed(take(), { class: 'transient', detail: 'test' }, { ...policy, consecutiveFailures: 0 })
    expect(health.ejectedUntil(CHANNEL, 'm')).toBe(0)
  })

  test('after an ejection one probe is sent; its failures double the ejection up to the maximum', () => {
    const { clock, fail, failAt, take, ejectedFor } = setUp()
    fail('transient', 3)
    const ejections: number[] = []
    for (let i = 0; i < 4; i++) {
      ejections.push(ejectedFor())
      clock.ms += ejectedFor()
      expect(ejectedFor()).toBe(0)
      const probe = take()
      expect(ejectedFor()).toBeGreaterThan(0)
      failAt(probe, 'transient')
    }
    expect(ejections).toEqual([1_000, 2_000, 3_000, 3_000])
  })

  test('a successful probe ends the ejection', () => {
    const { clock, fail, succeed, ejectedFor } = setUp()
    fail('transient', 3)
    clock.ms += 1_000
    succeed()
    expect(ejectedFor()).toBe(0)
    fail('transient', 2)
    expect(ejectedFor()).toBe(0)
    fail('transient')
    expect(ejectedFor()).toBe(1_000)
  })

  test('a probe that never reports ejects the channel once more, not for ever', () => {
    const { clock, fail, take, ejectedFor } = setUp()
    fail('transient', 3)
    clock.ms += 1_000
    take()
    expect(ejectedFor()).toBe(1_000)
    clock.ms += 1_000
    expect(ejectedFor()).toBe(0)
  })

  test('an ejected model is probed too', () => {
    const { clock, fail, failAt, take, ejectedFor } = setUp()
    fail('model_gone', 3)
    clock.ms += 1_000
    const probe = take()
    expect(ejectedFor()).toBe(1_000)
    failAt(probe, 'model_gone')
    expect(ejectedFor()).toBe(2_000)
  })

  test('failures of requests that were in flight when the ejection began do not extend it', () => {
    const { clock, take, failAt, fail, ejectedFor } = setUp()
    const early = Array.from({ length: 10 }, () => take())
    fail('transient', 3)
    clock.ms += 400
    for (const place of early) failAt(place, 'transient')
    expect(ejectedFor()).toBe(600)
  })
})

describe('a probe without a result', () => {
  function setUpProbe() {
    const known = setUp()
    const early = known.take()
    known.fail('transient', 3)
    known.clock.ms += 1_000
    const probe = known.take()
    expect(known.ejectedFor()).toBe(1_000)
    return { ...known, early, probe }
  }

  test('leaves the channel to the next probe, whose failure doubles the ejection once', () => {
    const { health, take, failAt, ejectedFor, probe } = setUpProbe()
    health.release(probe)
    expect(ejectedFor()).toBe(0)
    const next = take()
    expect(ejectedFor()).toBe(1_000)
    failAt(next, 'transient')
    expect(ejectedFor()).toBe(2_000)
  })

  test("is one with a caller's fault, or with a rate limit without Retry-After", () => {
    const { take, failAt, ejectedFor, probe, health } = setUpProbe()
    failAt(probe, 'caller_fault')
    expect(ejectedFor()).toBe(0)
    failAt(take(), 'rate_limit')
    expect(ejectedFor()).toBe(0)
    expect(health.snapshot()[0]?.consecutiveFailures).toBe(3)
  })

  test('after a rate limit the channel is ejected for its Retry-After, then the next request is the probe', () => {
    const { clock, take, failAt, ejectedFor, probe } = setUpProbe()
    failAt(probe, 'rate_limit', 2)
    expect(ejectedFor()).toBe(2_000)
    clock.ms += 2_000
    expect(ejectedFor()).toBe(0)
    failAt(take(), 'transient')
    expect(ejectedFor()).toBe(2_000)
  })

  test('the failure of one model leaves the channel to the next probe', () => {
    const { failAt, ejectedFor, probe } = setUpProbe()
    failAt(probe, 'model_gone')
    expect(ejectedFor()).toBe(0)
  })

  test('a request that began before the ejection neither ends nor decides the probe', () => {
    const { health, failAt, ejectedFor, early, take } = setUpProbe()
    const other = take()
    failAt(early, 'transient')
    expect(ejectedFor()).toBe(1_000)
    health.release(other)
    expect(ejectedFor()).toBe(1_000)
  })

  test('a probe that reports late does not affect the next one', () => {
    const { clock, health, take, ejectedFor, probe } = setUpProbe()
    clock.ms += 1_000
    take()
    health.release(probe)
    expect(ejectedFor()).toBe(1_000)
  })

  test('a probe of an ejected model leaves the model to the next probe', () => {
    const { clock, health, take, fail, ejectedFor } = setUp()
    fail('model_gone', 3)
    clock.ms += 1_000
    const probe = take()
    expect(ejectedFor()).toBe(1_000)
    health.release(probe)
    expect(ejectedFor()).toBe(0)
  })
})

describe('rate limits', () => {
  test('the channel is ejected for its Retry-After, and used again without a probe', () => {
    const { clock, health, fail, take, ejectedFor } = setUp()
    fail('rate_limit', 10, 7)
    expect(ejectedFor('other')).toBe(7_000)
    clock.ms += 7_000
    health.release(take())
    expect(ejectedFor()).toBe(0)
    expect(health.snapshot()[0]?.consecutiveFailures).toBe(0)
  })

  test('at most for a minute; not without a Retry-After; a shorter one does not shorten a longer', () => {
    const { fail, ejectedFor } = setUp()
    fail('rate_limit', 10)
    expect(ejectedFor()).toBe(0)
    fail('rate_limit', 1, 3_600)
    expect(ejectedFor()).toBe(60_000)
    fail('rate_limit', 1, 1)
    expect(ejectedFor()).toBe(60_000)
  })
})

describe('places', () => {
  test('acquire takes places until the channel is full, release gives them back', () => {
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

  test('a removed channel is forgotten when it is idle', () => {
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
