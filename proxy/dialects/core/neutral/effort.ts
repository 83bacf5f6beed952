/** Levels of thinking, brought to what a model has. */
import { EFFORTS } from '../../../../contract/profiles.ts'
import type { Effort } from './types.ts'

/** The level that a number of thinking tokens stands for. */
export function effortOfBudget(tokens: number): Effort {
  if (tokens >= 4096) return 'high'
  return tokens >= 2048 ? 'medium' : 'low'
}

/**
 * The nearest of `levels`, of two equally near ones the weaker; undefined when there is none. To think is never to
 * think not at all.
 */
export function nearestEffort(wanted: Effort, levels: readonly Effort[]): Effort | undefined {
  const distance = (level: Effort) => Math.abs(EFFORTS.indexOf(level) - EFFORTS.indexOf(wanted))
  let nearest: Effort | undefined
  for (const level of EFFORTS) {
    if (!levels.includes(level) || (level === 'none' && wanted !== 'none')) continue
    if (nearest === undefined || distance(level) < distance(nearest)) nearest = level
  }
  return nearest
}
