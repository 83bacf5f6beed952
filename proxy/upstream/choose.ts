/** Picks the channel of the next attempt. Pure: callers pass state, clock and chance. */
import type { TargetRecord } from '../../contract/table/records.ts'

export interface Candidate {
  target: Pick<TargetRecord, 'priority' | 'weight'>
  /** When its ejection ends; 0 when it is not ejected. */
  ejectedUntil: number
  /** It has as many requests in flight as it may have. */
  full: boolean
  /** Attempts of this request on it. */
  tried: number
}

/** `no_target`: no channel has a weight; `full`: all that have one are full. */
export type Choice<C> = { candidate: C } | { none: 'no_target' | 'full' }

/**
 * Prefers channels that are not ejected, then those tried least often, then the lowest priority; weights decide by chance
 * among the others. When all are ejected it takes the one whose ejection ends first, since a request must go somewhere.
 * `random` is from [0, 1).
 */
export function choose<C extends Candidate>(candidates: readonly C[], random: number): Choice<C> {
  const candidate = byWeight(contenders(candidates), random)
  if (candidate !== undefined) return { candidate }
  return { none: candidates.some((c) => c.target.weight > 0) ? 'full' : 'no_target' }
}

/** The candidates that chance decides between; none when no channel with a weight has room for a request. */
export function contenders<C extends Candidate>(candidates: readonly C[]): C[] {
  let best: C[] = []
  for (const candidate of candidates) {
    if (candidate.target.weight <= 0 || candidate.full) continue
    const [other] = best
    const order = other === undefined ? 0 : compare(candidate, other)
    if (order < 0) best = [candidate]
    else if (order === 0) best.push(candidate)
  }
  return best
}

/** Below 0 when `a` is the better choice. */
function compare(a: Candidate, b: Candidate): number {
  return (
    Number(a.ejectedUntil > 0) - Number(b.ejectedUntil > 0) ||
    a.tried - b.tried ||
    a.ejectedUntil - b.ejectedUntil ||
    a.target.priority - b.target.priority
  )
}

function byWeight<C extends Candidate>(candidates: readonly C[], random: number): C | undefined {
  let left = random * candidates.reduce((sum, c) => sum + c.target.weight, 0)
  for (const candidate of candidates) {
    left -= candidate.target.weight
    if (left < 0) return candidate
  }
  return candidates.at(-1)
}
