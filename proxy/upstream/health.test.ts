import { describe, expect, test } from 'vitest'
import type { FailureClass } from '../../contract/failures.ts'
import { ChannelHealth } from './health.ts'

const policy = { consecutiveFailures: 3, intervalMs: 1_000, maxIntervalMs: 3_000 }
const CHANNEL = 'default/main'

function setUp() {
  const clock = { ms: 50_000 }
  const health = new ChannelHealth(() => clock.ms)
  const fail = (failureClass: FailureClass, times = 1, retryAfterSeconds?: number, model = 'm') => {
    for (let i = 0; i < times; i++)
      health.failed(
        CHANNEL,
        model,
        {
          class: failureClass,
          detail: 'test',
          ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
        },
        policy,
      )
  }
  /** How long the channel still rests. */
  const rest = (model = 'm') => Math.max(0, health.restingUntil(CHANNEL, model) - clock.ms)
  const use = () => {
    expect(health.acquire(CHANNEL, 'm', undefined)).toBe(true)
    health.release(CHANNEL)
  }
  return { clock, health, fail, rest, use }
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
      { channel: CHANNEL, inFlight: 0, consecutiveFailures: 0, resting: false, lastFailure: failureClass },
    ])
  })

  test('a channel whose settings changed starts afresh, for every model', () => {
    const { health, fail, rest } = setUp()
    fail('transient', 3)
    fail('model_gone', 3, undefined, 'other')
    health.forgive('default/main2')
    expect(rest()).toBe(1_000)
    health.forgive(CHANNEL)
    expect(rest()).toBe(0)
    expect(rest('other')).toBe(0)
  })

  test("a caller's fault never counts, and does not break a row of failures", () => {
    const { health, fail, rest } = setUp()
    fail('caller_fault', 100)
    expect(rest()).toBe(0)
    expect(health.snapshot()).toEqual([])
    fail('transient', 2)
    fail('caller_fault')
    fail('transient')
    expect(rest()).toBe(1_000)
  })

  test('a success breaks the row', () => {
    const { health, fail, rest } = setUp()
    fail('transient', 2)
    health.succeeded(CHANNEL, 'm')
    fail('transient', 2)
    expect(rest()).toBe(0)
  })

  test('zero consecutive failures means never', () => {
    const { health, clock } = setUp()
    for (let i = 0; i < 50; i++)
      health.failed(
        CHANNEL,
        'm',
        { class: 'transient', detail: 'test' },
        { ...policy, consecutiveFailures: 0 },
      )
    expect(health.restingUntil(CHANNEL, 'm')).toBe(0)
    expect(clock.ms).toBe(50_000)
  })

  test('after a rest one probe goes; its failures double the rest up to the longest', () => {
    const { clock, fail, rest, use } = setUp()
    fail('transient', 3)
    const rests: number[] = []
    for (let i = 0; i < 4; i++) {
      rests.push(rest())
      clock.ms += rest()
      expect(rest()).toBe(0)
      use()
      expect(rest()).toBeGreaterThan(0)
      fail('transient')
    }
    expect(rests).toEqual([1_000, 2_000, 3_000, 3_000])
  })

  test('the probe that succeeds ends it all', () => {
    const { clock, health, fail, rest, use } = setUp()
    fail('transient', 3)
    clock.ms += 1_000
    use()
    health.succeeded(CHANNEL, 'm')
    expect(rest()).toBe(0)
    fail('transient', 2)
    expect(rest()).toBe(0)
    fail('transient')
    expect(rest()).toBe(1_000)
  })

  test('a probe that never reports holds the channel for one more rest, not for ever', () => {
    const { clock, fail, rest, use } = setUp()
    fail('transient', 3)
    clock.ms += 1_000
    use()
    expect(rest()).toBe(1_000)
    clock.ms += 1_000
    expect(rest()).toBe(0)
  })

  test('a model that rests is probed too', () => {
    const { clock, fail, rest, use } = setUp()
    fail('model_gone', 3)
    clock.ms += 1_000
    use()
    expect(rest()).toBe(1_000)
    fail('model_gone')
    expect(rest()).toBe(2_000)
  })

  test('failures of requests that were in flight when the rest began add nothing', () => {
    const { clock, fail, rest } = setUp()
    fail('transient', 3)
    clock.ms += 400
    fail('transient', 10)
    expect(rest()).toBe(600)
  })
})

describe('rate limits', () => {
  test('the channel rests as long as it asked for, and is simply back after it', () => {
    const { clock, health, fail, rest, use } = setUp()
    fail('rate_limit', 10, 7)
    expect(rest('other')).toBe(7_000)
    clock.ms += 7_000
    use()
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
    expect(health.acquire(CHANNEL, 'm', 2)).toBe(true)
    expect(health.isFull(CHANNEL, 2)).toBe(false)
    expect(health.acquire(CHANNEL, 'm', 2)).toBe(true)
    expect(health.isFull(CHANNEL, 2)).toBe(true)
    expect(health.acquire(CHANNEL, 'm', 2)).toBe(false)
    expect(health.acquire('default/other', 'm', 2)).toBe(true)
    health.release(CHANNEL)
    expect(health.acquire(CHANNEL, 'm', 2)).toBe(true)
    expect(health.snapshot().map((c) => [c.channel, c.inFlight])).toEqual([
      [CHANNEL, 2],
      ['default/other', 1],
    ])
  })

  test('a channel that is gone is forgotten when it is idle', () => {
    const { health, fail } = setUp()
    fail('transient')
    health.acquire('default/busy', 'm', undefined)
    health.retain(new Set())
    expect(health.snapshot().map((c) => c.channel)).toEqual(['default/busy'])
    health.release('default/busy')
    health.retain(new Set())
    expect(health.snapshot()).toEqual([])
    health.release('default/busy')
    expect(health.snapshot()).toEqual([])
  })
})
