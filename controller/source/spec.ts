/** A spec as a person wrote it to a spec in order, or to the sentences that say what is wrong: one judgement for all sources. */
import type { z } from 'zod'
import type { Kind } from '../../contract/api/index.ts'
import { explain, type Fault } from './explain.ts'

export type SpecReading<Spec> = { spec: Spec; faults: [] } | { spec: undefined; faults: Fault[] }

/** `old` is the spec in force before, which rules on changes compare with. */
export function readSpec<Schema extends z.ZodType>(
  kind: Kind<Schema>,
  value: unknown,
  old: z.output<Schema> | undefined,
): SpecReading<z.output<Schema>> {
  const parsed = kind.spec.safeParse(value)
  if (!parsed.success) return { spec: undefined, faults: explain(kind.spec, value, ['spec'], parsed.error) }
  const broken = kind.rules.filter((rule) => !rule.test(parsed.data, old))
  return broken.length === 0
    ? { spec: parsed.data, faults: [] }
    : { spec: undefined, faults: broken.map((rule) => ({ path: ['spec'], message: rule.message })) }
}
