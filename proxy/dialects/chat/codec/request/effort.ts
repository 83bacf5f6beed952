import { effortOfBudget, nearestEffort } from '../../../core/neutral/effort.ts'
import type { Effort, Reasoning } from '../../../core/neutral/types.ts'
import { lose, type Writing } from './encode-content.ts'

/** The effort level to request, among those that the model has; undefined: the model decides. Records losses. */
export function effortFor(reasoning: Reasoning, writing: Writing): Effort | undefined {
  const { features } = writing
  const { effort, budgetTokens, thinking } = reasoning
  const wanted =
    thinking === 'off'
      ? 'none'
      : (effort ?? (budgetTokens === undefined ? undefined : effortOfBudget(budgetTokens)))
  if (features.reasoning === 'None') {
    if (thinking === 'adaptive') lose(writing, 'thinking')
    if (wanted === undefined || wanted === 'none') return undefined
    if (budgetTokens !== undefined) lose(writing, 'budgetTokens')
    if (effort !== undefined) lose(writing, 'effort')
    return undefined
  }
  if (wanted === undefined) return undefined
  if (budgetTokens !== undefined) lose(writing, 'budgetTokens')
  const nearest = nearestEffort(wanted, features.efforts)
  if (nearest !== wanted) lose(writing, thinking === 'off' ? 'thinking' : 'effort')
  return nearest
}
