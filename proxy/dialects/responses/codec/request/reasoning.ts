/** Reasoning effort and summaries, both ways. */
import type { Effort } from '../../../../../contract/features.ts'
import { effortOfBudget, nearestEffort } from '../../../core/neutral/effort.ts'
import { keep } from '../../../core/neutral/keep.ts'
import type { ModelRequest, Reasoning } from '../../../core/neutral/types.ts'
import type { Writer } from '../../../core/writer.ts'
import type * as wire from '../../wire.ts'
import * as schema from './schema.ts'

export function readReasoning(value: unknown): Reasoning | undefined {
  if (value === undefined || value === null) return undefined
  const given = schema.check(schema.reasoning, value, 'reasoning')
  const { effort, summary, generate_summary: oldSummary } = given
  const shown = summary ?? oldSummary
  const isOld = !summary && Boolean(oldSummary)
  const reasoning: Reasoning = {
    ...(effort && { effort }),
    ...(shown && { summary: shown }),
    ...(isOld && { names: { summary: 'reasoning.generate_summary' } }),
  }
  const typed = ['effort', 'summary', 'generate_summary']
  return { ...reasoning, ...keep({ dialect: 'responses', at: 'reasoning' }, given, typed) }
}

/** The field `reasoning` of a request; undefined if it would be empty. */
export function writeReasoning(
  { reasoning }: ModelRequest,
  writer: Writer,
): wire.ReasoningSettings | undefined {
  if (reasoning === undefined) return undefined
  if (writer.features.reasoning === 'None') {
    loseAll(reasoning, writer)
    return undefined
  }
  const effort = effortFor(reasoning, writer)
  const summary = effort === 'none' ? undefined : summaryFor(reasoning)
  if (effort === undefined && summary === undefined) return undefined
  return { effort, summary }
}

function loseAll({ effort, budgetTokens, thinking, summary }: Reasoning, writer: Writer): void {
  if (effort !== undefined && effort !== 'none') writer.lose('effort')
  if (budgetTokens !== undefined) writer.lose('budgetTokens')
  if (thinking === 'adaptive') writer.lose('thinking')
  if (summary !== undefined && summary !== 'none') writer.lose('summary')
}

function effortFor(reasoning: Reasoning, writer: Writer): Effort | undefined {
  const { effort, budgetTokens, thinking } = reasoning
  if (thinking === 'off') return nearest('none', writer, 'thinking')
  if (effort !== undefined) return nearest(effort, writer, 'effort')
  if (budgetTokens === undefined) return undefined
  writer.lose('budgetTokens')
  return nearest(effortOfBudget(budgetTokens), writer, 'budgetTokens')
}

/** The upstream's level that is nearest to `wanted`. A different level is a loss. */
function nearest(
  wanted: Effort,
  writer: Writer,
  field: 'effort' | 'thinking' | 'budgetTokens',
): Effort | undefined {
  const level = nearestEffort(wanted, writer.features.efforts)
  if (level !== wanted) writer.lose(field)
  return level
}

/** The summary that the client wants; each dialect requests it in another way. */
function summaryFor(reasoning: Reasoning): wire.ReasoningSettings['summary'] {
  const { summary, effort, thinking, budgetTokens, alwaysShown } = reasoning
  if (summary !== undefined) return summary === 'none' ? undefined : summary
  if (alwaysShown && effort !== undefined) return 'auto'
  return thinking === 'adaptive' || budgetTokens !== undefined ? 'auto' : undefined
}
