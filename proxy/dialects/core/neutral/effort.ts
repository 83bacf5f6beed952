/** Maps effort levels to those that a model has. */
import { EFFORTS } from '../../../../contract/features.ts'
import type { Effort } from './types.ts'

/** The level for a budget of thinking tokens. */
export function effortOfBudget(tokens: number): Effort {
  if (tokens >= 4096) return 'high'
  return tokens >= 2048 ? 'medium' : 'low'
}

/**
 * The nearest of `levels`, the weaker of two equally near ones; undefined when there is none. Any other level never
 * becomes `none`.
 */
export function nearestEffort<Level extends Effort>(
  wanted: Effort,
  levels: readonly Level[],
): Level | undefined {
  const distance = (level: Effort) => Math.abs(EFFORTS.indexOf(level) - EFFORTS.indexOf(wanted))
  let nearest: Level | undefined
  for (const level of levels.toSorted((a, b) => EFFORTS.indexOf(a) - EFFORTS.indexOf(b))) {
    if (level === 'none' && wanted !== 'none') continue
    if (nearest === undefined || distance(level) < distance(nearest)) nearest = level
  }
  return nearest
}
