/** The lanes that a request may take, with everything that its conversion needs from the caller and the route. */
import type { RouteRecord } from '../../../contract/table/records.ts'
import { ownerOf } from '../../auth/authenticate.ts'
import { createEnvelopes } from '../../dialects/core/hub/envelope.ts'
import { apartLane } from '../../dialects/core/lanes/apart.ts'
import { type Lanes, lanesOf } from '../../dialects/core/lanes/index.ts'
import { newAnswerId } from '../../dialects/core/neutral/ids.ts'
import type { Envelopes } from '../../dialects/core/neutral/types.ts'
import type { ParsedRequest } from '../../dialects/core/request.ts'
import { DIALECTS } from '../../dialects/index.ts'
import { inputEstimate } from '../../ledger/estimate.ts'
import { sharedBody } from '../body/read-request.ts'
import type { Call } from '../call.ts'
import type { AdmittedContext } from '../request/context.ts'
import type { Conversations } from './conversations.ts'

/** Used if an upstream requires a limit, and neither the client nor the route has one. */
const DEFAULT_MAX_OUTPUT_TOKENS = 8_192

export function requestLanes(
  { sealing, threads, requests }: Pick<Conversations, 'sealing' | 'threads' | 'requests'>,
  { caller, cancel }: Pick<AdmittedContext, 'caller' | 'cancel'>,
  { call, route, request }: { call: Call; route: RouteRecord; request: ParsedRequest },
): Lanes {
  const client = call.endpoint.api
  const { rewriteModel } = route
  const { unsupported } = route.conversion
  const defaultMaxOutputTokens = route.maxOutputTokens ?? DEFAULT_MAX_OUTPUT_TOKENS
  let id: string | undefined
  let envelopes: Envelopes | undefined
  const about = {
    client,
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
    rewriteModel,
    unsupported,
    defaultMaxOutputTokens,
  }
  const lanes = lanesOf(about, DIALECTS)
  // A thread has parsed it.
  const shared = request.sealed === undefined ? undefined : request.body.buffer
  if (!(shared instanceof SharedArrayBuffer)) return lanes
  const body = sharedBody(call, requests.json, shared)
  return {
    async open(target) {
      const { lane, api, model, features, withoutCarriers, outputLimit } = target
      if (lane === 'byte' || api === undefined) return lanes.open(target)
      const to = { api, model, features, withoutCarriers, outputLimit, unsupported, defaultMaxOutputTokens }
      const { open } = about.envelopes
      const converted = await threads.convert(caller.hash, body, { to, open }, cancel)
      return apartLane({ client, upstream: DIALECTS[api] }, about, to, converted)
    },
  }
}
