/** Encodes the requested effort in the form that the model supports. */

import { effortOfBudget, nearestEffort } from '../../../core/neutral/effort.ts'
import type { Effort, ModelRequest, Reasoning } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'
import type { Writer } from './writer.ts'

/** Thinking tokens, for models that take a budget instead of a level. */
const BUDGETS: Record<wire.Level, number> = {
  low: 1024,
  medium: 2048,
  high: 4096,
  xhigh: 8192,
  max: 16384,
}
/** The API's minimum. */
const SMALLEST_BUDGET = 1024

export interface Depth {
  thinking?: wire.Thinking
  effort?: wire.Level | undefined
  maxTokens: number
}

/**
 * `messages`: the encoded messages of the request. Thinking tokens count as output, so the limit must exceed the budget:
 * a client's limit stays and reduces the budget; the gateway's own limit grows.
 */
export function encodeDepth(
  request: ModelRequest,
  messages: wire.MessageParam[],
  fallback: number,
  writer: Writer,
): Depth {
  const { reasoning, maxOutputTokens } = request
  const maxTokens = maxOutputTokens ?? fallback
  if (reasoning === undefined) return { maxTokens }
  const { effort, budgetTokens, summary } = reasoning
  if (summary === 'concise' || summary === 'detailed') writer.lose('summary')
  const { features } = writer
  if (features.reasoning === 'None') {
    if (effort !== undefined && effort !== 'none') writer.lose('effort')
    writer.loseIf('budgetTokens', budgetTokens)
    return { maxTokens }
  }
  if (effort === 'none') return { ...withoutThinking(writer), maxTokens }
  // Only adaptive thinking can be hidden.
  if (summary === 'none' && features.reasoning !== 'Adaptive') writer.lose('summary')
  if (features.reasoning === 'Budget') return budgetDepth(request, messages, maxTokens, writer)
  const level = levelOf(reasoning, writer)
  if (features.reasoning === 'Effort') return { ...level, maxTokens }
  const display = summary === 'none' ? 'omitted' : 'summarized'
  return { ...level, thinking: { type: 'adaptive', display }, maxTokens }
}

/** Models without the effort `none` refuse a request not to think. */
function withoutThinking(writer: Writer): Omit<Depth, 'maxTokens'> {
  if (writer.features.efforts.includes('none')) return { thinking: { type: 'disabled' } }
  // A model with budgets does not think unless the request has one.
  if (writer.features.reasoning !== 'Budget') writer.lose('effort')
  return {}
}

/** The effort level; converts a budget to one. */
function levelOf({ effort, budgetTokens }: Reasoning, writer: Writer): Pick<Depth, 'effort'> {
  if (effort === undefined && budgetTokens === undefined) return {}
  if (effort === undefined) writer.lose('budgetTokens')
  return { effort: nearest(effort ?? effortOfBudget(budgetTokens ?? 0), writer) }
}

/** The nearest level that the model has; undefined when it has none. */
function nearest(effort: Effort, { features, lose }: Writer): wire.Level | undefined {
  const level = nearestEffort(
    effort,
    features.efforts.filter((known): known is wire.Level => known in BUDGETS),
  )
  if (level !== effort) lose('effort')
  return level
}

function budgetDepth(
  request: ModelRequest,
  messages: wire.MessageParam[],
  maxTokens: number,
  writer: Writer,
): Depth {
  const { effort, budgetTokens } = request.reasoning ?? {}
  const level = effort === undefined ? undefined : nearest(effort, writer)
  const wanted = level === undefined ? budgetTokens : BUDGETS[level]
  if (wanted === undefined) return { maxTokens }
  const lose = () => writer.lose(level === undefined ? 'budgetTokens' : 'effort')
  const budget = Math.max(wanted, SMALLEST_BUDGET)
  if (budget !== wanted) lose()
  if (callsWithoutThinking(messages)) {
    lose()
    return { maxTokens }
  }
  if (request.maxOutputTokens === undefined) {
    return { thinking: { type: 'enabled', budget_tokens: budget }, maxTokens: maxTokens + budget }
  }
  if (maxTokens <= SMALLEST_BUDGET) {
    lose()
    return { maxTokens }
  }
  if (budget < maxTokens) return { thinking: { type: 'enabled', budget_tokens: budget }, maxTokens }
  lose()
  const half = Math.max(SMALLEST_BUDGET, Math.floor(maxTokens / 2))
  return { thinking: { type: 'enabled', budget_tokens: half }, maxTokens }
}

/** True for a request that the API would refuse with a budget: its last assistant message has calls but no thinking. */
function callsWithoutThinking(messages: wire.MessageParam[]): boolean {
  const content = messages.findLast(({ role }) => role === 'assistant')?.content
  if (!Array.isArray(content)) return false
  const types = content.map(({ type }) => type)
  return types.includes('tool_use') && types[0] !== 'thinking' && types[0] !== 'redacted_thinking'
}
