import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Price } from '../../../contract/money.ts'
import { StoreUnavailable } from '../../../store/contract.ts'
import { createEmbeddedStore } from '../../../store/embedded/index.ts'
import type { Ledger, Renewal } from '../../../store/ledger/contract.ts'
import { Holds } from '../../ledger/holds.ts'
import { testNote, testPayer, testPrice } from '../../ledger/testing.ts'
import { type MeterOptions, StreamMeter } from './meter.ts'

const ACCOUNT = testPayer()
const PROMPT = { textBytes: 0, images: 0, audioBytes: 0, fileBytes: 0, tools: 0 }
/** One nano-dollar per output token, so that money and tokens are the same number. */
const PRICE = testPrice({ output: '0.001' })
/** The number of output tokens by which a hold grows. */
const QUANTUM = 2_048
/** The most output tokens between two checks. */
const STEP = 32

interface Setup extends Partial<Pick<MeterOptions, 'tier' | 'prompt' | 'learned' | 'capped'>> {
  funds: number
  held: number
  price?: Price
  renew?: Ledger['renew']
}

/** A metered stream; `to` delivers deltas up to a number, `by` at a time. */
async function stream({ funds, held, price = PRICE, renew, ...options }: Setup) {
  const { ledger } = createEmbeddedStore()
  await ledger.open({ account: ACCOUNT.id, epoch: 1, create: true })
  await ledger.topup({ account: ACCOUNT.id, epoch: 1, id: 'default/first', amount: funds })
  const renewals: { at: number; command: Renewal }[] = []
  let tokens = 0
  const watched: Ledger = {
    ...ledger,
    renew(account, own) {
      renewals.push(...own.map((command) => ({ at: tokens, command })))
      return (renew ?? ledger.renew)(account, own)
    },
  }
  const holds = new Holds(watched, {
    failed: () => undefined,
    accountMissing: () => undefined,
    heldAgain: () => undefined,
    limited: () => undefined,
    dead: () => undefined,
  })
  onTestFinished(() => holds.stop(0))
  const note = testNote({ reason: 'checkpoint', tokens: {} })
  const hold = await holds.take(ACCOUNT, { id: 'r1', amount: held, seen: 0, note })
  const exhausted = vi.fn()
  const meter = new StreamMeter({
    hold,
    price,
    tier: undefined,
    prompt: PROMPT,
    learned: { ratio: 1, hidden: 0, thinkingMs: 0 },
    capped: false,
    note,
    exhausted,
    ...options,
  })
  const to = async (end: number, by = 1) => {
    while (tokens < end && exhausted.mock.calls.length === 0) {
      tokens = Math.min(tokens + by, end)
      meter.progress({ deltas: tokens, bytes: 0 })
      await new Promise((resolve) => setImmediate(resolve))
    }
    return tokens
  }
  return { hold, renewals, exhausted, to, now: () => tokens }
}

describe('a hold grows', () => {
  test('by one quantum, when 80 % of it is used', async () => {
    const { hold, renewals, to } = await stream({ funds: 1_000_000, held: 4_000 })
    await to(3_200)
    expect([renewals, hold.amount]).toEqual([[], 4_000])
    await to(3_200 + STEP + 1)
    expect(hold.amount).toBe(4_000 + QUANTUM)
    expect(renewals).toHaveLength(1)
    expect(renewals[0]?.command.amount).toBe(4_000 + QUANTUM)
    await to(4_800)
    expect(renewals).toHaveLength(1)
    // 80 % of 6,048.
    await to(4_839 + STEP)
    expect(renewals).toHaveLength(2)
  })

  test('never, while the answer stays within a limit that the hold covers', async () => {
    const { hold, renewals, exhausted, to } = await stream({ funds: 1_000_000, held: 4_000, capped: true })
    await to(4_000)
    expect([renewals, hold.amount, exhausted.mock.calls]).toEqual([[], 4_000, []])
    await to(4_000 + STEP + 1)
    expect(hold.amount).toBe(4_000 + QUANTUM)
  })

  test('as far as the funds allow', async () => {
    const { hold, exhausted, to } = await stream({ funds: 1_000_000, held: 100 })
    await to(20_000, 10)
    expect(exhausted).not.toHaveBeenCalled()
    expect(hold.amount).toBeGreaterThan(20_000)
    expect(hold.amount).toBeLessThan(20_000 / 0.8 + QUANTUM)
  })

  test('one renewal at a time', async () => {
    const answer = Promise.withResolvers<['OK']>()
    const { renewals, exhausted, to } = await stream({
      funds: 1_000_000,
      held: 1_000,
      renew: () => answer.promise,
    })
    await to(3_000)
    expect([renewals.length, exhausted.mock.calls]).toEqual([1, []])
    answer.resolve(['OK'])
    await to(3_000 + STEP + 2)
    expect(renewals).toHaveLength(2)
  })
})

describe('a stream ends', () => {
  test('when more funds were refused and the hold is used up, not before', async () => {
    const { renewals, exhausted, to, now } = await stream({ funds: 4_000, held: 4_000 })
    await to(4_000)
    expect([renewals.length, exhausted.mock.calls]).toEqual([1, []])
    await to(9_999)
    expect(exhausted).toHaveBeenCalledOnce()
    expect(now()).toBeLessThanOrEqual(4_000 + STEP + 1)
    expect(renewals).toHaveLength(1)
  })

  test('even if the caller set a limit and the answer exceeds it', async () => {
    const { exhausted, to, now } = await stream({ funds: 1_000, held: 1_000, capped: true })
    await to(9_999)
    expect(exhausted).toHaveBeenCalledOnce()
    expect(now()).toBeGreaterThan(1_000)
    expect(now()).toBeLessThanOrEqual(1_000 + 2 * (STEP + 1))
  })

  test('never because the store is away', async () => {
    const { renewals, exhausted, to } = await stream({
      funds: 1_000,
      held: 1_000,
      renew: () => Promise.reject(new StoreUnavailable('away')),
    })
    await to(3_000)
    expect(exhausted).not.toHaveBeenCalled()
    expect(renewals.length).toBeGreaterThan(1)
  })

  test.each([
    ['requests alone', testPrice({ perRequest: '1' }), 1_000_000_000],
    ['the prompt alone', testPrice({ input: '1000' }), 1],
    ['nothing', testPrice({}), 0],
  ])('never under a price for %s', async (_, price, held) => {
    const { renewals, exhausted, to } = await stream({
      funds: 1_000_000_000,
      held,
      price,
      prompt: { ...PROMPT, textBytes: 1_000_000 },
    })
    await to(50_000, 100)
    expect([renewals, exhausted.mock.calls]).toEqual([[], []])
  })

  test('at most one check past its hold, whatever the funds and the pieces', async () => {
    const amount = fc.integer({ min: 1, max: 12_000 })
    const piece = fc.integer({ min: 1, max: 200 })
    await fc.assert(
      fc.asyncProperty(amount, amount, piece, fc.boolean(), async (funds, part, by, capped) => {
        const held = Math.min(part, funds)
        const { hold, exhausted, to } = await stream({ funds, held, capped })
        const end = await to(40_000, by)
        expect(exhausted).toHaveBeenCalledOnce()
        expect(hold.amount).toBeLessThanOrEqual(funds)
        // Less is left than the quantum that was refused.
        expect(hold.amount).toBeGreaterThan(funds - QUANTUM)
        expect(end).toBeGreaterThan(hold.amount)
        expect(end).toBeLessThanOrEqual(hold.amount + 2 * (STEP + by))
      }),
      { numRuns: 30 },
    )
  })
})

describe('the cost so far', () => {
  /** The cost so far that a renewal after `tokens` reports. */
  async function seenAfter(tokens: number, setup: Partial<Setup>): Promise<number | undefined> {
    const { hold, to } = await stream({ funds: 1_000_000, held: 900_000, ...setup })
    await to(tokens, tokens)
    return hold.renewal().seen
  }

  test('covers the delivered output and the prompt, with what was learned and the tier', async () => {
    const price = { ...testPrice({ input: '0.002', output: '0.001' }), multipliers: { fast: 3_000_000_000 } }
    expect(await seenAfter(1_000, {})).toBe(1_000)
    expect(await seenAfter(1_000, { learned: { ratio: 1.5, hidden: 0, thinkingMs: 0 } })).toBe(1_500)
    expect(await seenAfter(1_000, { price, prompt: { ...PROMPT, textBytes: 400 } })).toBe(1_200)
    expect(await seenAfter(1_000, { price, tier: 'fast' })).toBe(3_000)
  })

  test('is reported even if the hold need not grow', async () => {
    const price = testPrice({ perRequest: '0.0001' })
    expect(await seenAfter(1_000, { price, capped: true })).toBe(100_000)
  })

  test('is not computed for every token', async () => {
    expect(await seenAfter(STEP - 1, {})).toBe(0)
    expect(await seenAfter(STEP, {})).toBe(STEP)
  })
})
