import { effortOfBudget, nearestEffort } from '../../../core/neutral/effort.ts'
import type { Effort, Reasoning } from '../../../core/neutral/types.ts'
import type { Writer } from '../../../core/writer.ts'

/** The effort level to request, among those that the model has; undefined: the model decides. Records losses. */
export function effortFor(reasoning: Reasoning, writer: Writer): Effort | undefined {
  const { features } = writer
  const { effort, budgetTokens, thinking } = reasoning
  const wanted =
    thinking === 'off'
      ? 'none'
      : (effort ?? (budgetTokens === undefined ? undefined : effortOfBudget(budgetTokens)))
  if (features.reasoning === 'None') {
    if (thinking === 'adaptive') writer.lose('thinking')
    if (wanted === undefined || wanted === 'none') return undefined
    if (budgetTokens !== undefined) writer.lose('budgetTokens')
    if (effort !== undefined) writer.lose('effort')
    return undefined
  }
  if (wanted === undefined) return undefined
  if (budgetTokens !== undefined) writer.lose('budgetTokens')
  const nearest = nearestEffort(wanted, features.efforts)
  if (nearest !== wanted) writer.lose(thinking === 'off' ? 'thinking' : 'effort')
  return nearest
}
