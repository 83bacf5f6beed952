/** The lanes that a request may take, with all that its conversion needs of the caller and the route. */
import { createEnvelopes } from '../../dialects/core/hub/envelope.ts'
import { lanesOf, type ReadyLanes } from '../../dialects/core/lanes/index.ts'
import { newAnswerId } from '../../dialects/core/neutral/ids.ts'
import { DIALECTS, type Endpoint } from '../../dialects/index.ts'
import { inputEstimate } from '../../ledger/estimate.ts'
import type { Priced } from '../billing/charge.ts'
import type { Gateway } from '../gateway.ts'
import { ownerOf } from '../owner.ts'

/** Where an upstream requires a limit and neither the client nor the route names one. */
const DEFAULT_MAX_OUTPUT_TOKENS = 8_192

export function openLanes(
  gateway: Gateway,
  endpoint: Endpoint,
  { caller, route, request }: Priced,
): ReadyLanes {
  return lanesOf(
    {
      client: endpoint.api,
      upstreamPath: endpoint.upstreamPath,
      parsed: request,
      id: newAnswerId(),
      created: Math.floor(Date.now() / 1_000),
      inputTokens: Math.max(1, inputEstimate(request.head.input)),
      envelopes: createEnvelopes(gateway.sealing, ownerOf(caller), DIALECTS),
      rewriteModel: route.rewriteModel,
      unsupported: route.conversion.unsupported,
      defaultMaxOutputTokens: route.maxOutputTokens ?? DEFAULT_MAX_OUTPUT_TOKENS,
    },
    DIALECTS,
  )
}
