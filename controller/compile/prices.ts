import type { ModelRouteSpec } from '../../contract/api/index.ts'
import type { Price } from '../../contract/money.ts'
import { nanos } from './amounts.ts'
import type { Findings } from './conditions.ts'

type PriceSpec = NonNullable<ModelRouteSpec['price']>

/** Whether every answer has a price. `perImage` alone does not price text or vectors. */
export function pricesAnswers(spec: PriceSpec, imagesOnly: boolean): boolean {
  return (
    spec.input !== undefined || spec.perRequest !== undefined || (imagesOnly && spec.perImage !== undefined)
  )
}

/** The price with defaults. If a number is too large: undefined, and a refusal in `findings`. */
export function compilePrice(spec: PriceSpec, findings: Findings): Price | undefined {
  const tooLarge: string[] = []
  const read = (field: string, text: string | undefined): number => {
    const value = nanos(text ?? '0')
    if (value === undefined) tooLarge.push(`spec.price.${field}`)
    return value ?? 0
  }
  const multipliers: Record<string, number> = {}
  for (const [tier, factor] of Object.entries(spec.multipliers ?? {})) {
    // Factors in billionths have the same format as amounts in nano-dollars.
    if (factor !== undefined) multipliers[tier] = read(`multipliers.${tier}`, factor)
  }
  const price = {
    input: read('input', spec.input),
    cachedInput: read('cachedInput', spec.cachedInput ?? spec.input),
    cacheWrite: read('cacheWrite', spec.cacheWrite ?? spec.input),
    cacheWriteLong: read('cacheWriteLong', spec.cacheWriteLong ?? spec.cacheWrite ?? spec.input),
    output: read('output', spec.output),
    perRequest: read('perRequest', spec.perRequest),
    perImage: read('perImage', spec.perImage),
    multipliers,
  }
  if (tooLarge.length === 0) return price
  findings.refusals.push({
    reason: 'Invalid',
    message: `${tooLarge.join(', ')}: exceeds the limit of the ledger`,
  })
  return undefined
}
