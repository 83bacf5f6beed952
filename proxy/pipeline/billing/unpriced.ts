/** What costs money at the upstream and has no price: a caller whose spending is bounded may not request it. */
import { COSTLIER_TIERS } from '../../../contract/api/index.ts'
import type { HostedTool } from '../../../contract/usage.ts'
import type { Caller } from '../../auth/authenticate.ts'
import { GatewayError } from '../../errors.ts'
import { isMetered } from '../../ledger/budgets.ts'
import type { Order } from './charge.ts'

const NAMES: Record<HostedTool, string> = {
  webSearch: 'web search',
  fileSearch: 'file search',
  codeInterpreter: 'the code interpreter',
}

/** Throws GatewayError unsupported_parameter. */
export function refuseUnpriced(caller: Caller, { route: { price }, request: { head } }: Order): void {
  if (price === undefined || !isMetered(caller, head.model)) return
  const tier = COSTLIER_TIERS.find((costlier) => costlier === head.tier)
  if (tier !== undefined && price.multipliers[tier] === undefined)
    throw refusal('This service tier is not offered for this model.', 'service_tier')
  const hosted = head.hostedTools?.find(({ tool }) => price.perCall?.[tool] === undefined)
  if (hosted !== undefined)
    throw refusal(`The tool ${NAMES[hosted.tool]} is not offered for this model.`, hosted.field)
}

const refusal = (message: string, param: string) =>
  new GatewayError('unsupported_parameter', message, { param })
