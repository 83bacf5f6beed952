/**
 * Rate limits, counted with the holds of an account. A meter over time is a leaky bucket: it has room for as many requests or
 * tokens as the limit, and empties in its window. This is the generic cell rate algorithm (GCRA) with the whole limit as its
 * burst. A meter without a window counts live holds.
 */
import type { Correction, Meter, MeterLevel } from './contract.ts'
import { integer, natural } from './numbers.ts'

/** A level is a fraction, so that what was taken may leave a little too little room. */
const TOLERANCE = 1e-6
/** When to ask again for a place that a running request has. */
const RUNNING_WAIT_MS = 1_000

export interface Meters {
  /** Levels of meters over time, as they were at a store time in ms, and the time from which they are empty. */
  readonly buckets: Map<string, { level: number; at: number; emptyFrom: number }>
  /** Live holds by meter. */
  readonly running: Map<string, number>
}

/** Room in each meter, in whole requests or tokens. */
export function roomIn(state: Meters, meters: readonly Meter[], nowMs: number): number[] {
  return meters.map((meter) => Math.max(0, Math.floor(meter.most - levelOf(state, meter, nowMs) + TOLERANCE)))
}

/** Room in a meter with this level, as a balance has it. */
export function roomAt(level: MeterLevel | undefined, meter: Meter, nowMs: number): number {
  const { id } = meter
  const buckets = new Map(level !== undefined && 'at' in level ? [[id, { ...level, emptyFrom: 0 }]] : [])
  const running = new Map(level !== undefined && !('at' in level) ? [[id, level.level]] : [])
  return roomIn({ buckets, running }, [meter], nowMs)[0] ?? 0
}

/** The meter that has no room for the longest time, and for how long; undefined if all have room. */
export function findFull(
  state: Meters,
  meters: readonly Meter[],
  nowMs: number,
): { meter: number; waitMs: number } | undefined {
  let full: { meter: number; waitMs: number } | undefined
  meters.forEach((meter, index) => {
    const { most, windowMs, takes } = meter
    // More than the limit is admitted by an empty bucket, so that no request is refused for ever.
    const over = levelOf(state, meter, nowMs) + Math.min(takes, most) - most
    if (over <= TOLERANCE) return
    const waitMs = windowMs === 0 ? RUNNING_WAIT_MS : Math.ceil((over * windowMs) / most)
    if (full === undefined || waitMs > full.waitMs) full = { meter: index, waitMs }
  })
  return full
}

/** Takes room for a request. Its place among live holds is counted with its hold. */
export function take(state: Meters, meters: readonly Meter[], nowMs: number): void {
  for (const meter of meters) {
    if (meter.windowMs === 0) continue
    setLevel(state, meter, levelOf(state, meter, nowMs) + meter.takes, nowMs)
  }
}

/** Replaces what requests were admitted with by what they took in fact. */
export function correct(state: Meters, corrections: readonly Correction[], nowMs: number): void {
  for (const { by, ...meter } of corrections)
    setLevel(state, meter, Math.max(0, levelOf(state, meter, nowMs) + by), nowMs)
}

/** Forgets meters that are empty: those of keys that rest, or are gone. */
export function forgetEmpty({ buckets }: Meters, nowMs: number): void {
  for (const [id, { emptyFrom }] of buckets) if (emptyFrom <= nowMs) buckets.delete(id)
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

function setLevel(
  { buckets }: Meters,
  { id, most, windowMs }: Omit<Meter, 'takes'>,
  level: number,
  nowMs: number,
): void {
  buckets.set(id, { level, at: nowMs, emptyFrom: nowMs + Math.ceil((level * windowMs) / most) })
}

function levelOf(state: Meters, { id, most, windowMs }: Omit<Meter, 'takes'>, nowMs: number): number {
  if (windowMs === 0) return state.running.get(id) ?? 0
  const bucket = state.buckets.get(id)
  if (bucket === undefined) return 0
  return Math.max(0, bucket.level - (Math.max(0, nowMs - bucket.at) * most) / windowMs)
}
