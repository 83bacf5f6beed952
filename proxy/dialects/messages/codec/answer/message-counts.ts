/** The `usage` objects for clients, which include the tier. */
import { totalInput, type Usage } from '../../../../../contract/usage.ts'
import type { ClientView } from '../../../core/codec.ts'
import type { ModelAnswer } from '../../../core/neutral/types.ts'
import { writeUsage } from '../../usage.ts'
import type * as wire from '../../wire.ts'

type Served = Pick<ModelAnswer, 'usage' | 'tier'>

/** The `usage` object of a whole answer. Estimates the input if the upstream did not report usage: clients require it. */
export function writeCounts({ usage, tier }: Served, client: ClientView): wire.Usage {
  const counts =
    usage === undefined ? { input_tokens: inputEstimate(client), output_tokens: 0 } : writeUsage(usage)
  return { ...counts, ...tierFields(tier, client) }
}

/**
 * The `usage` object of message_start. The input is never 0, because clients show it as the size of the context. The
 * output is at least 1, as in this API's own streams.
 */
export function writeFirstCounts(usage: Usage | undefined, client: ClientView): wire.Usage {
  if (usage === undefined || totalInput(usage) === 0) {
    return { input_tokens: inputEstimate(client), output_tokens: 1 }
  }
  return { ...writeUsage(usage), output_tokens: Math.max(usage.output, 1) }
}

function inputEstimate(client: ClientView): number {
  return Math.max(client.inputTokens, 1)
}

function tierFields(tier: string | undefined, client: ClientView): Partial<wire.Usage> {
  if (tier === 'default') return { service_tier: 'standard' }
  if (tier === 'priority' || tier === 'batch') return { service_tier: tier }
  if (tier === 'fast') return { speed: 'fast' }
  if (tier !== undefined) client.losses.add('service_tier')
  return {}
}
