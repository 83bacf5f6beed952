/** Picks the channel of the next attempt. Pure: state, clock and chance come from outside. */
import type { TargetRecord } from '../../contract/table/records.ts'

export interface Candidate {
  target: Pick<TargetRecord, 'priority' | 'weight'>
  /** When its rest ends; 0 when it does not rest. */
  restingUntil: number
  /** All its places are taken. */
  full: boolean
  /** Attempts that this request has made on it. */
  tried: number
}

/** `no_target`: no channel with a weight; `full`: there are some, but all are full. */
export type Choice<C> = { candidate: C } | { none: 'no_target' | 'full' }

/**
 * Channels that do not rest come first, among them those least tried, then the lowest priority, then chance by
 * weight. When all rest, the one whose rest ends first is used all the same: the last channel is never ejected.
 * `random` is from [0, 1).
 */
export function choose<C extends Candidate>(candidates: readonly C[], random: number): Choice<C> {
  const candidate = byWeight(contenders(candidates), random)
  if (candidate !== undefined) return { candidate }
  return { none: candidates.some((c) => c.target.weight > 0) ? 'full' : 'no_target' }
}

/** Those among which chance decides the next attempt; none when no channel has both a weight and a free place. */
export function contenders<C extends Candidate>(candidates: readonly C[]): C[] {
  const free = candidates.filter((c) => c.target.weight > 0 && !c.full)
  const awake = free.filter((c) => c.restingUntil === 0)
  const leastTried = lowest(awake.length > 0 ? awake : free, (c) => c.tried)
  return lowest(
    lowest(leastTried, (c) => c.restingUntil),
    (c) => c.target.priority,
  )
}

/** Those with the smallest rank, in their order. */
function lowest<C>(candidates: readonly C[], rank: (candidate: C) => number): C[] {
  const least = Math.min(...candidates.map(rank))
  return candidates.filter((c) => rank(c) === least)
}

function byWeight<C extends Candidate>(candidates: readonly C[], random: number): C | undefined {
  let left = random * candidates.reduce((sum, c) => sum + c.target.weight, 0)
  for (const candidate of candidates) {
    left -= candidate.target.weight
    if (left < 0) return candidate
  }
  return candidates.at(-1)
}
