/** Parses a spec as a person wrote it, or explains its faults; the same for all sources. */
import { z } from 'zod'
import type { Kind, Rule } from '../../contract/api/index.ts'
import { explain, type Fault } from './explain.ts'
import { withoutNulls } from './nulls.ts'

export type SpecReading<Spec> = { spec: Spec; faults: [] } | { spec: undefined; faults: Fault[] }

/** `old`: the previous spec, for rules on updates. */
export function readSpec<Schema extends z.ZodType>(
  kind: Kind<Schema>,
  value: unknown,
  old: z.output<Schema> | undefined,
): SpecReading<z.output<Schema>> {
  const written = value ?? (kind.specOptional === true ? {} : value)
  const given = withoutNulls(kind.spec, written)
  const parsed = kind.spec.safeParse(given)
  const faults = parsed.success ? [] : explain(kind.spec, given, ['spec'], parsed.error)
  // Rules are evaluated in any case, as the API server does, so that all faults are reported at once.
  const spec = parsed.success ? parsed.data : z.custom<z.output<Schema>>().parse(given)
  for (const rule of kind.rules)
    if (isBroken(rule, spec, old)) faults.push({ path: ['spec'], message: rule.message })
  return parsed.success && faults.length === 0
    ? { spec: parsed.data, faults: [] }
    : { spec: undefined, faults }
}

/** A rule that throws on a value of the wrong type does not count: the schema reports that value. */
function isBroken<Spec>(rule: Rule<Spec>, spec: Spec, old: Spec | undefined): boolean {
  try {
    return !rule.test(spec, old)
  } catch {
    return false
  }
}
