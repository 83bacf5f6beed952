/**
 * Rate limits, counted with the holds of an account. A meter over time is a bucket that leaks: a request fills it by its share of
 * the limit, and a full one is empty after its window. Kept is when it will be empty: the generic cell rate algorithm (GCRA)
 * with the whole limit as its burst. A meter without a window counts live holds.
 */
import type { Correction, Fill, Meter, MeterLevel } from './contract.ts'
import { integer, natural } from './numbers.ts'

/** Times are in whole microseconds, rounded down, so that a whole burst fits. A quotient may be a little too small. */
const TOLERANCE = 1e-6
/** Beyond any limit and time, and not next to 2^53, where a client of Redis may round integers. */
const ENDLESS = 9e15
/** The most that one request fills: 31 years. */
const MOST_FILL_US = 1e15
/** When to ask again for a place that a running request has. */
const RUNNING_WAIT_MS = 1_000

export interface Meters {
  /** Meters over time. */
  readonly fills: Map<string, Fill>
  /** Live holds by meter. */
  readonly running: Map<string, number>
}

type Rate = Omit<Meter, 'takes'>

/** By how much a request fills a meter: time in microseconds, or its place among live holds. */
export function fillOf({ windowMs, takes, most }: Meter): number {
  return windowMs === 0 ? 1 : share({ windowMs, most }, takes)
}

/** How full a meter may be. */
function boundOf({ windowMs, most }: Omit<Rate, 'id'>): number {
  return windowMs === 0 ? most : windowMs * 1_000
}

/** How full a meter may be to have room for a request. An empty one has room for any, so that no request is refused for ever. */
export function roomyAt(meter: Meter): number {
  return Math.max(0, boundOf(meter) - fillOf(meter))
}

/** By how much a correction fills a meter over time, or below 0 empties it. */
export function correctionOf({ by, ...rate }: Correction): number {
  return Math.sign(by) * share(rate, Math.abs(by))
}

function share({ windowMs, most }: Omit<Rate, 'id'>, units: number): number {
  return Math.min(Math.floor((units * windowMs * 1_000) / most), MOST_FILL_US)
}

/** Room in a meter that is filled to `level`, in whole requests or tokens. */
export function roomAt(level: number, meter: Rate): number {
  const free = boundOf(meter) - level
  const room = meter.windowMs === 0 ? free : (free * meter.most) / boundOf(meter)
  return Math.min(Math.max(0, Math.floor(room + TOLERANCE)), ENDLESS)
}

export function roomIn(state: Meters, meters: readonly Meter[], nowMs: number): number[] {
  return meters.map((meter) => roomAt(levelOf(state, meter, nowMs), meter))
}

/** The meter that has no room for the longest time, and for how long; undefined if all have room. */
export function findFull(
  state: Meters,
  meters: readonly Meter[],
  nowMs: number,
): { meter: number; waitMs: number } | undefined {
  let full: { meter: number; waitMs: number } | undefined
  meters.forEach((meter, index) => {
    const over = levelOf(state, meter, nowMs) - roomyAt(meter)
    if (over <= 0) return
    const waitMs = meter.windowMs === 0 ? RUNNING_WAIT_MS : Math.ceil(over / 1_000)
    if (full === undefined || waitMs > full.waitMs) full = { meter: index, waitMs }
  })
  return full
}

/** Takes room for a request. Its place among live holds is counted with its hold. */
export function take(state: Meters, meters: readonly Meter[], nowMs: number): void {
  for (const meter of meters) if (meter.windowMs > 0) fill(state, meter, fillOf(meter), nowMs)
}

/** Replaces what requests were admitted with by what they took in fact. */
export function correct(state: Meters, corrections: readonly Correction[], nowMs: number): void {
  for (const correction of corrections) fill(state, correction, correctionOf(correction), nowMs)
}

function fill(state: Meters, meter: Rate, by: number, nowMs: number): void {
  const emptyAt = nowMs * 1_000 + levelOf(state, meter, nowMs) + by
  state.fills.set(meter.id, { emptyAt: Math.min(Math.max(0, emptyAt), ENDLESS), most: meter.most })
}

/** Forgets meters that are empty: those of keys that rest, or are gone. */
export function forgetEmpty({ fills }: Meters, nowMs: number): void {
  for (const [id, { emptyAt }] of fills) if (emptyAt <= nowMs * 1_000) fills.delete(id)
}

/** Ids of the meters that count live holds. */
export function runningIds(meters: readonly Meter[]): string[] {
  return meters.flatMap(({ id, windowMs }) => (windowMs === 0 ? [id] : []))
}

export function addRunning(state: Meters, ids: readonly string[], by: 1 | -1): void {
  for (const id of ids) {
    const count = (state.running.get(id) ?? 0) + by
    if (count > 0) state.running.set(id, count)
    else state.running.delete(id)
  }
}

export function checkMeters(meters: readonly Meter[] = []): readonly Meter[] {
  for (const { most, windowMs, takes } of meters) {
    checkRate(most, windowMs)
    natural('takes', takes)
  }
  return meters
}

export function checkCorrections(corrections: readonly Correction[] = []): readonly Correction[] {
  for (const { most, windowMs, by } of corrections) {
    checkRate(most, windowMs)
    integer('by', by)
  }
  return corrections
}

function checkRate(most: number, windowMs: number): void {
  if (natural('most', most) === 0) throw new RangeError('most must be above zero')
  natural('windowMs', windowMs)
}

/** How full a meter is: microseconds until it is empty, or live holds. */
function levelOf({ running, fills }: Meters, meter: Rate, nowMs: number): number {
  return levelAt((meter.windowMs === 0 ? running : fills).get(meter.id), meter, nowMs)
}

/** The same, by what a balance tells of the meter. A changed limit keeps what was used of it, in requests or tokens. */
export function levelAt(stored: MeterLevel | undefined, { most }: Rate, nowMs: number): number {
  if (stored === undefined || typeof stored === 'number') return stored ?? 0
  const level = Math.max(0, stored.emptyAt - nowMs * 1_000)
  return stored.most === most ? level : Math.floor((level * stored.most) / most)
}
