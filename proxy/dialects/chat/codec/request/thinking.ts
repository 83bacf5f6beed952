/**
 * The effort that a client requests: `reasoning_effort`, or the `reasoning` object of OpenRouter's clients
 * (https://openrouter.ai/docs/use-cases/reasoning-tokens).
 */
import { EFFORTS, type Effort } from '../../../../../contract/features.ts'
import { present } from '../../../../../kit/present.ts'
import { oneOf, optional } from '../../../core/json/checks.ts'
import { isPositiveInteger } from '../../../core/json/fields.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import type { Names, Reasoning } from '../../../core/neutral/types.ts'

interface Thinking {
  reasoning?: Reasoning
  names?: Names
  /** Fields below `reasoning` without effect, by their dotted names. */
  lost?: Fields
}

/** The API's own word for an unset effort. */
const UNSET = 'default'
/** OpenRouter's effort for `enabled: true` alone. */
const ENABLED: Effort = 'medium'

export function decodeThinking({ reasoning_effort: given, reasoning }: Fields): Thinking {
  const own = given === UNSET ? undefined : optional(given, 'reasoning_effort', oneOf(EFFORTS))
  if (!isRecord(reasoning)) return own === undefined ? {} : { reasoning: { effort: own, alwaysShown: true } }
  const { effort, max_tokens: budget, exclude, enabled, ...lost } = reasoning
  const names: Names = {}
  const read: Reasoning = {}
  if (own !== undefined) read.effort = own

  const level = EFFORTS.find((known) => known === effort)
  if (level !== undefined && own === undefined) {
    read.effort = level
    names.effort = 'reasoning.effort'
  } else if (level === undefined || level !== own) lost.effort = effort

  if (read.effort === undefined && isPositiveInteger(budget)) {
    read.budgetTokens = budget
    names.budgetTokens = 'reasoning.max_tokens'
  } else lost.max_tokens = budget

  const hasDepth = read.effort !== undefined || read.budgetTokens !== undefined
  if (typeof enabled === 'boolean' && !hasDepth) {
    read.effort = enabled ? ENABLED : 'none'
    names.effort = 'reasoning.enabled'
  } else if (enabled !== true || read.effort === 'none') lost.enabled = enabled

  if (exclude === true) {
    read.summary = 'none'
    names.summary = 'reasoning.exclude'
  } else if (exclude !== false) lost.exclude = exclude
  const isSet = Object.keys(read).length > 0
  return { ...(isSet && { reasoning: { ...read, alwaysShown: true } }), names, lost: dotted(lost) }
}

function dotted(fields: Fields): Fields {
  const set = Object.entries(present(fields)).filter(([, value]) => value !== null)
  return Object.fromEntries(set.map(([key, value]) => [`reasoning.${key}`, value]))
}
