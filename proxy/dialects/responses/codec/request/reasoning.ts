/** Reasoning effort and summaries, both ways. */
import type { Effort } from '../../../../../contract/profiles.ts'
import { isRecord } from '../../../core/json/value.ts'
import { effortOfBudget, nearestEffort } from '../../../core/neutral/effort.ts'
import { keep } from '../../../core/neutral/keep.ts'
import type { ModelRequest, Reasoning } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'
import * as schema from './schema.ts'
import type { Target } from './target.ts'

export function readReasoning(value: unknown): Reasoning | undefined {
  if (!isRecord(value)) {
    if (value !== undefined && value !== null) schema.check(schema.reasoning, value, 'reasoning')
    return undefined
  }
  const { effort, summary, generate_summary: oldSummary } = schema.check(schema.reasoning, value, 'reasoning')
  const shown = summary ?? oldSummary
  const isOld = !summary && Boolean(oldSummary)
  const reasoning: Reasoning = {
    ...(effort && { effort }),
    ...(shown && { summary: shown }),
    ...(isOld && { names: { summary: 'reasoning.generate_summary' } }),
  }
  const typed = ['effort', 'summary', 'generate_summary']
  return { ...reasoning, ...keep({ dialect: 'responses', at: 'reasoning' }, value, typed) }
}

/** The field `reasoning` of a request; undefined if it would be empty. */
export function writeReasoning(
  { reasoning }: ModelRequest,
  target: Target,
): wire.ReasoningSettings | undefined {
  if (reasoning === undefined) return undefined
  if (target.features.reasoning === 'None') {
    loseAll(reasoning, target)
    return undefined
  }
  const effort = effortFor(reasoning, target)
  const summary = effort === 'none' ? undefined : summaryFor(reasoning)
  if (effort === undefined && summary === undefined) return undefined
  return { effort, summary }
}

function loseAll({ effort, budgetTokens, thinking, summary }: Reasoning, target: Target): void {
  if (effort !== undefined && effort !== 'none') target.lose('effort')
  if (budgetTokens !== undefined) target.lose('budgetTokens')
  if (thinking === 'adaptive') target.lose('thinking')
  if (summary !== undefined && summary !== 'none') target.lose('summary')
}

function effortFor(reasoning: Reasoning, target: Target): Effort | undefined {
  const { effort, budgetTokens, thinking } = reasoning
  if (thinking === 'off') return nearest('none', target, 'thinking')
  if (effort !== undefined) return nearest(effort, target, 'effort')
  if (budgetTokens === undefined) return undefined
  target.lose('budgetTokens')
  return nearest(effortOfBudget(budgetTokens), target, 'budgetTokens')
}

/** The upstream's level that is nearest to `wanted`. A different level is a loss. */
function nearest(
  wanted: Effort,
  target: Target,
  field: 'effort' | 'thinking' | 'budgetTokens',
): Effort | undefined {
  const level = nearestEffort(wanted, target.features.efforts)
  if (level !== wanted) target.lose(field)
  return level
}

/** The summary that the client wants; each dialect requests it in another way. */
function summaryFor(reasoning: Reasoning): wire.ReasoningSettings['summary'] {
  const { summary, effort, thinking, budgetTokens, alwaysShown } = reasoning
  if (summary !== undefined) return summary === 'none' ? undefined : summary
  if (alwaysShown && effort !== undefined) return 'auto'
  return thinking === 'adaptive' || budgetTokens !== undefined ? 'auto' : undefined
}
