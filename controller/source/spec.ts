/** A spec as a person wrote it to a spec in order, or to the sentences that say what is wrong: one judgement for all sources. */
import { z } from 'zod'
import type { Kind, Rule } from '../../contract/api/index.ts'
import { explain, type Fault } from './explain.ts'
import { withoutNulls } from './nulls.ts'

export type SpecReading<Spec> = { spec: Spec; faults: [] } | { spec: undefined; faults: Fault[] }

/** `old` is the spec in force before, which rules on changes compare with. */
export function readSpec<Schema extends z.ZodType>(
  kind: Kind<Schema>,
  value: unknown,
  old: z.output<Schema> | undefined,
): SpecReading<z.output<Schema>> {
  const written = value ?? (kind.specOptional === true ? {} : value)
  const given = withoutNulls(kind.spec, written)
  const parsed = kind.spec.safeParse(given)
  const faults = parsed.success ? [] : explain(kind.spec, given, ['spec'], parsed.error)
  // Rules are asked all the same, as the API server does: whoever mends a spec hears of everything at once.
  const spec = parsed.success ? parsed.data : z.custom<z.output<Schema>>().parse(given)
  for (const rule of kind.rules)
    if (isBroken(rule, spec, old)) faults.push({ path: ['spec'], message: rule.message })
  return parsed.success && faults.length === 0
    ? { spec: parsed.data, faults: [] }
    : { spec: undefined, faults }
}

/** A rule that meets a value of another type than it expects says nothing; the schema says enough of it. */
function isBroken<Spec>(rule: Rule<Spec>, spec: Spec, old: Spec | undefined): boolean {
  try {
    return !rule.test(spec, old)
  } catch {
    return false
  }
}
