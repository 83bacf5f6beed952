/** The lanes that a request may take, with everything that its conversion needs from the caller and the route. */
import type { RouteRecord } from '../../../contract/table/records.ts'
import { ownerOf } from '../../auth/authenticate.ts'
import type { ClientApi } from '../../dialects/core/dialect.ts'
import { createEnvelopes } from '../../dialects/core/hub/envelope.ts'
import { apartLane } from '../../dialects/core/lanes/apart.ts'
import { type LaneRequest, type Lanes, lanesOf } from '../../dialects/core/lanes/index.ts'
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
  const { unsupported } = route.conversion
  const defaultMaxOutputTokens = route.maxOutputTokens ?? DEFAULT_MAX_OUTPUT_TOKENS
  const rules = { rewriteModel: route.rewriteModel, unsupported, defaultMaxOutputTokens }
  const about = new RequestFacts(client, request, rules, () =>
    createEnvelopes(sealing, ownerOf(caller), DIALECTS),
  )
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
      const { id, created, inputTokens, envelopes } = about
      const { open } = envelopes
      const converted = await threads.convert(caller.hash, body, { to, open }, cancel)
      const view = { parsed: request, id, created, inputTokens, envelopes }
      return apartLane({ client, upstream: DIALECTS[api] }, view, to, converted)
    },
  }
}

/** A class, because an object with getters of its own takes 0.8 µs to make. */
class RequestFacts implements LaneRequest {
  readonly client: ClientApi
  readonly parsed: ParsedRequest
  readonly rewriteModel: boolean
  readonly unsupported: LaneRequest['unsupported']
  readonly defaultMaxOutputTokens: number
  readonly created = Math.floor(Date.now() / 1_000)
  readonly inputTokens: number
  readonly #seal: () => Envelopes
  #id: string | undefined
  #envelopes: Envelopes | undefined

  constructor(
    client: ClientApi,
    parsed: ParsedRequest,
    rules: Pick<LaneRequest, 'rewriteModel' | 'unsupported' | 'defaultMaxOutputTokens'>,
    seal: () => Envelopes,
  ) {
    this.client = client
    this.parsed = parsed
    this.rewriteModel = rules.rewriteModel
    this.unsupported = rules.unsupported
    this.defaultMaxOutputTokens = rules.defaultMaxOutputTokens
    this.inputTokens = Math.max(1, inputEstimate(parsed.head.input))
    this.#seal = seal
  }

  /** Made when first needed, as the envelopes are: most requests are not converted. */
  get id(): string {
    this.#id ??= newAnswerId()
    return this.#id
  }

  get envelopes(): Envelopes {
    this.#envelopes ??= this.#seal()
    return this.#envelopes
  }
}
