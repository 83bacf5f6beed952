/** Items that a request only names, from the stored answers that they are of. */
import type { ChainPosition, Chains, ParsedRequest } from '../../dialects/dialect.ts'
import type { Asked } from './open.ts'
import { bindingOf, storedExchanges } from './previous.ts'

/** Answers that one request may name items of. */
const MAX_ANSWERS = 64

/**
 * The request with what it names, as far as the gateway has kept it; ids that an upstream gave stay as they are. Throws
 * GatewayError store_unavailable.
 */
export async function sayReferences(
  { gateway, request, time }: Pick<Asked, 'gateway' | 'request' | 'time'>,
  chains: Chains,
  { references }: ChainPosition,
  owner: string,
): Promise<ParsedRequest> {
  const responses = new Set(references.flatMap((reference) => chains.responseOf(reference) ?? []))
  const items = new Map<string, string>()
  for (const id of [...responses].slice(0, MAX_ANSWERS)) {
    const binding = await bindingOf(gateway.state, time, id)
    if (binding === undefined || binding.owner !== owner) continue
    const stored = await storedExchanges(gateway.state, gateway.conversations, binding, id)
    for (const [item, text] of chains.itemsOf(stored?.at(-1)?.response ?? '{}')) items.set(item, text)
  }
  if (items.size === 0) return request
  const { maxJsonDepth: maxDepth, maxJsonKeys: maxKeys } = gateway.limits
  return chains.resolve(request, items, { maxDepth, maxKeys })
}
