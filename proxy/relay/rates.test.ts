import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GatewayError } from '../errors.ts'
import { type RateLimits, RelayRates } from './rates.ts'

const OFF: RateLimits = { maxInFlight: 1_000, maxInFlightPerClient: 0, requestsPerMinute: 0 }

function ratesOf(limits: Partial<RateLimits>, maxClients?: number) {
  const clock = { ms: 5_000 }
  const rates = new RelayRates({ ...OFF, ...limits }, () => clock.ms, maxClients)
  return { rates, clock }
}

/** The refusal of a request; undefined if it was admitted. */
function refusal(ask: () => unknown): GatewayError | undefined {
  try {
    ask()
    return undefined
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

test('the process has a bound, and a finished request makes room', () => {
  const { rates } = ratesOf({ maxInFlight: 2 })
  const leave = rates.enter()
  rates.enter()
  const refused = refusal(() => rates.enter())
  expect(refused).toMatchObject({ code: 'overloaded', status: 503, retryAfterSeconds: 1 })
  leave()
  expect(refusal(() => rates.enter())).toBeUndefined()
})

test('without bounds for clients no client is remembered', () => {
  const { rates } = ratesOf({})
  for (let i = 0; i < 1_000; i++) rates.admit('a')
  expect(rates.clients).toBe(0)
})

test('in flight: clients do not share their bound', () => {
  const { rates } = ratesOf({ maxInFlightPerClient: 2 })
  const leave = rates.admit('a')
  rates.admit('a')
  expect(refusal(() => rates.admit('a'))).toMatchObject({
    code: 'rate_limit_exceeded',
    status: 429,
    retryAfterSeconds: 1,
  })
  expect(refusal(() => rates.admit('b'))).toBeUndefined()
  leave()
  expect(refusal(() => rates.admit('a'))).toBeUndefined()
  expect(refusal(() => rates.admit('a'))).toBeDefined()
})

test('per minute: all at once, then evenly; Retry-After is exact, and a refusal does not count', () => {
  const { rates, clock } = ratesOf({ requestsPerMinute: 6 })
  for (let i = 0; i < 6; i++) expect(refusal(() => rates.admit('a'))).toBeUndefined()
  for (let i = 0; i < 3; i++)
    expect(refusal(() => rates.admit('a'))).toMatchObject({ status: 429, retryAfterSeconds: 10 })
  expect(refusal(() => rates.admit('b'))).toBeUndefined()
  clock.ms += 9_999
  expect(refusal(() => rates.admit('a'))).toMatchObject({ retryAfterSeconds: 1 })
  clock.ms += 1
  expect(refusal(() => rates.admit('a'))).toBeUndefined()
  expect(refusal(() => rates.admit('a'))).toBeDefined()
})

const steps = fc.array(
  fc.record({
    wait: fc.oneof(fc.constant(0), fc.nat(30_000)),
    client: fc.constantFrom('a', 'b', 'c'),
    leaves: fc.boolean(),
  }),
  { maxLength: 200, size: 'max' },
)

test('no client ever exceeds its bounds, and a client within them is never refused', () => {
  fc.assert(
    fc.property(
      steps,
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 5 }),
      (all, perMinute, most) => {
        const { rates, clock } = ratesOf({ requestsPerMinute: perMinute, maxInFlightPerClient: most })
        const admitted = new Map<string, number[]>()
        const inFlight = new Map<string, (() => void)[]>()
        for (const { wait, client, leaves } of all) {
          clock.ms += wait
          const times = admitted.get(client) ?? []
          const open = inFlight.get(client) ?? []
          if (leaves) open.pop()?.()
          const lastMinute = times.filter((time) => time > clock.ms - 60_000).length
          let leave: (() => void) | undefined
          const refused = refusal(() => {
            leave = rates.admit(client)
          })
          if (leave !== undefined) {
            expect(open.length).toBeLessThan(most)
            times.push(clock.ms)
            open.push(leave)
          } else {
            // A client with less than a minute's requests in the last minute is not refused by its rate.
            if (open.length < most) expect(lastMinute).toBeGreaterThanOrEqual(perMinute)
            expect(refused?.retryAfterSeconds).toBeGreaterThanOrEqual(1)
          }
          admitted.set(client, times)
          inFlight.set(client, open)
        }
        // In any period at most a minute's requests, plus those that the period itself allows.
        for (const times of admitted.values())
          for (const [first, from] of times.entries())
            for (const [offset, to] of times.slice(first).entries())
              expect(offset + 1).toBeLessThanOrEqual(perMinute + ((to - from) / 60_000) * perMinute + 0.001)
      },
    ),
  )
})

test('memory is bounded: it forgets the idle client that was seen longest ago', () => {
  const { rates } = ratesOf({ requestsPerMinute: 1, maxInFlightPerClient: 5 }, 3)
  rates.admit('busy')
  for (const client of ['old', 'new']) rates.admit(client)()
  expect(refusal(() => rates.admit('old'))).toBeDefined()
  rates.admit('next')()
  expect(rates.clients).toBe(3)
  // `new` was forgotten: the refused request of `old` was later, and `busy` is in flight.
  expect(refusal(() => rates.admit('busy'))).toBeDefined()
  expect(refusal(() => rates.admit('old'))).toBeDefined()
  expect(refusal(() => rates.admit('new'))).toBeUndefined()
  for (let i = 0; i < 1_000; i++) refusal(() => rates.admit(`flood-${i}`)())
  expect(rates.clients).toBe(3)
})
