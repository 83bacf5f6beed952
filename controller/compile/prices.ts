import type { ModelRouteSpec } from '../../contract/api/index.ts'
import type { Price, TokenPrices } from '../../contract/money.ts'
import { HOSTED_TOOLS } from '../../contract/usage.ts'
import { present } from '../../kit/present.ts'
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
export function compilePrice(spec: PriceSpec, findings: Findings, path = 'spec.price'): Price | undefined {
  const tooLarge: string[] = []
  const read = (field: string, text: string | undefined): number => {
    const value = nanos(text ?? '0')
    if (value === undefined) tooLarge.push(`${path}.${field}`)
    return value ?? 0
  }
  const multipliers: Record<string, number> = {}
  for (const [tier, factor] of Object.entries(spec.multipliers ?? {})) {
    // Factors in billionths have the same format as amounts in nano-dollars.
    if (factor !== undefined) multipliers[tier] = read(`multipliers.${tier}`, factor)
  }
  const { perCall, above } = spec
  const optional = (field: string, text: string | undefined) =>
    text === undefined ? undefined : read(field, text)
  const tokenPrices = (at: string, own: Pick<PriceSpec, keyof TokenPrices>): TokenPrices => {
    const { input, cachedInput, cacheWrite, cacheWriteLong, output } = own
    return {
      input: read(`${at}input`, input),
      cachedInput: read(`${at}cachedInput`, cachedInput ?? input),
      cacheWrite: read(`${at}cacheWrite`, cacheWrite ?? input),
      cacheWriteLong: read(`${at}cacheWriteLong`, cacheWriteLong ?? cacheWrite ?? input),
      output: read(`${at}output`, output),
      ...present({
        imageInput: optional(`${at}imageInput`, own.imageInput),
        audioInput: optional(`${at}audioInput`, own.audioInput),
        audioOutput: optional(`${at}audioOutput`, own.audioOutput),
        reasoning: optional(`${at}reasoning`, own.reasoning),
      }),
    }
  }
  const calls = HOSTED_TOOLS.map((tool) => [tool, optional(`perCall.${tool}`, perCall?.[tool])])
  const rising = above
    ?.map(({ tokens, ...own }, i) => ({ tokens, ...tokenPrices(`above[${i}].`, own) }))
    .sort((a, b) => a.tokens - b.tokens)
  const price: Price = {
    ...tokenPrices('', spec),
    perRequest: read('perRequest', spec.perRequest),
    perImage: read('perImage', spec.perImage),
    ...present({
      images: spec.images?.map(({ amount, ...kind }, i) => ({
        ...present(kind),
        amount: read(`images[${i}].amount`, amount),
      })),
      perCall: perCall && present(Object.fromEntries(calls)),
      above: rising,
    }),
    multipliers,
  }
  if (tooLarge.length === 0) return price
  findings.refusals.push({
    reason: 'Invalid',
    message: `${tooLarge.join(', ')}: exceeds the limit of the ledger`,
  })
  return undefined
}
