/** The lanes that a request may take, with everything that its conversion needs from the caller and the route. */
import type { RouteRecord } from '../../../contract/table/records.ts'
import type { KeyRing } from '../../../store/sealing.ts'
import { type Caller, ownerOf } from '../../auth/authenticate.ts'
import { createEnvelopes } from '../../dialects/core/hub/envelope.ts'
import { lanesOf, type ReadyLanes } from '../../dialects/core/lanes/index.ts'
import { newAnswerId } from '../../dialects/core/neutral/ids.ts'
import type { Envelopes } from '../../dialects/core/neutral/types.ts'
import type { ParsedRequest } from '../../dialects/core/request.ts'
import { DIALECTS, type Endpoint } from '../../dialects/index.ts'
import { inputEstimate } from '../../ledger/estimate.ts'

/** Used if an upstream requires a limit, and neither the client nor the route has one. */
const DEFAULT_MAX_OUTPUT_TOKENS = 8_192

/** `sealing` seals vendor state that clients carry. */
export function requestLanes(
  sealing: KeyRing,
  caller: Caller,
  { endpoint, route, request }: { endpoint: Endpoint; route: RouteRecord; request: ParsedRequest },
): ReadyLanes {
  let id: string | undefined
  let envelopes: Envelopes | undefined
  return lanesOf(
    {
      client: endpoint.api,
      parsed: request,
      // Made when first needed: most requests are not converted.
      get id() {
        id ??= newAnswerId()
        return id
      },
      get envelopes() {
        envelopes ??= createEnvelopes(sealing, ownerOf(caller), DIALECTS)
        return envelopes
      },
      created: Math.floor(Date.now() / 1_000),
      inputTokens: Math.max(1, inputEstimate(request.head.input)),
      rewriteModel: route.rewriteModel,
      unsupported: route.conversion.unsupported,
      defaultMaxOutputTokens: route.maxOutputTokens ?? DEFAULT_MAX_OUTPUT_TOKENS,
    },
    DIALECTS,
  )
}
