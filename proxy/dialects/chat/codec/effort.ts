/** How deep a model shall think, in the levels that it has. */
import { EFFORTS, type Effort } from '../../../../contract/profiles.ts'
import type { Reasoning } from '../../ir/types.ts'
import { lose, type Writing } from './encode-content.ts'

/** The level to ask for; undefined leaves it to the model. Says what is lost on the way. */
export function effortFor(reasoning: Reasoning, writing: Writing): Effort | undefined {
  const { features } = writing
  const { effort, budgetTokens, thinking } = reasoning
  const wanted = thinking === 'off' ? 'none' : (effort ?? effortOfBudget(budgetTokens))
  if (features.reasoning === 'None') {
    if (wanted === undefined || wanted === 'none') return undefined
    if (budgetTokens !== undefined) lose(writing, 'budgetTokens')
    if (effort !== undefined) lose(writing, 'effort')
    return undefined
  }
  if (wanted === undefined) return undefined
  // A number of tokens becomes a level.
  if (budgetTokens !== undefined) lose(writing, 'budgetTokens')
  const nearest = nearestEffort(wanted, features.efforts)
  if (nearest !== wanted) lose(writing, thinking === 'off' ? 'thinking' : 'effort')
  return nearest
}

function effortOfBudget(tokens: number | undefined): Effort | undefined {
  if (tokens === undefined) return undefined
  if (tokens >= 4096) return 'high'
  return tokens >= 2048 ? 'medium' : 'low'
}

/** The nearest level that the model has, of two equally near ones the weaker. To think is never to think not at all. */
function nearestEffort(wanted: Effort, levels: readonly Effort[]): Effort | undefined {
  const place = (level: Effort) => EFFORTS.indexOf(level)
  let nearest: Effort | undefined
  for (const level of EFFORTS) {
    if (!levels.includes(level) || (level === 'none' && wanted !== 'none')) continue
    const distance = Math.abs(place(level) - place(wanted))
    if (nearest === undefined || distance < Math.abs(place(nearest) - place(wanted))) nearest = level
  }
  return nearest
}
