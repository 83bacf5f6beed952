/**
 * Chooses the lane of an attempt: bytes between equal APIs, the hub between others. A request that carries vendor state
 * which the gateway sealed goes through the hub as well: only there it is opened, or dropped where it is foreign.
 */
import type { ApiName } from '../../../../contract/endpoints.ts'
import type { Features } from '../../../../contract/profiles.ts'
import { GatewayError } from '../../../errors.ts'
import type { ClientApi, ClientView, Dialect, ParsedRequest } from '../dialect.ts'
import { MARK } from '../hub/envelope.ts'
import { Losses } from '../neutral/losses.ts'
import type { Envelopes, ModelRequest } from '../neutral/types.ts'
import { byteLane } from './byte.ts'
import { hubLane } from './hub.ts'
import type { Lane } from './lane.ts'

/** How an envelope begins in a body. */
const SEALED = `"${MARK}`

const TOO_LARGE = 'A request of this size cannot be converted for this model; make it smaller.'

/** One request, as all its attempts see it. */
export interface LaneRequest {
  client: ClientApi
  /** Where bytes pass to; below the base URL of a channel. */
  upstreamPath: string
  parsed: ParsedRequest
  /** See ClientView. */
  id: string
  created: number
  inputTokens: number
  envelopes: Envelopes
  /** True: the client shall see the model name that it sent, so that not even equal dialects pass bytes. */
  rewriteModel: boolean
  unsupported: 'Drop' | 'Reject'
  defaultMaxOutputTokens: number
}

/** How an upstream is reached. */
export interface LaneWay {
  way: 'native' | 'hub'
  /** What it speaks; absent where nothing is ever converted. */
  api?: ApiName
}

export interface LaneTarget extends LaneWay {
  /** Upstream model name. */
  model: string
  features: Features
  /** namespace/name of the channel. */
  channel: string
  /** Leave out vendor state: an upstream refused it. */
  withoutCarriers: boolean
  /** Go without what the upstream should keep of the conversation: it does not know it (any more). */
  withoutState?: boolean
  /** Convert even between equal APIs: the upstream does not do by itself what is asked. */
  emulate?: boolean
}

export interface Lanes {
  kindFor(target: LaneWay): Lane['kind']
  /** Throws GatewayError when the request cannot take this way. */
  open(target: LaneTarget): Lane | Promise<Lane>
}

/** Lanes of a request that is all there. */
export interface ReadyLanes extends Lanes {
  open(target: LaneTarget): Lane
}

export function lanesOf(about: LaneRequest, dialects: Record<ApiName, Dialect>): ReadyLanes {
  const { client, parsed } = about
  const { codec } = client
  let decoded: ModelRequest | undefined
  const view = (): Omit<ClientView, 'losses'> => {
    if (codec === undefined) throw new TypeError('this request is never converted')
    if (parsed.goesOn) throw new GatewayError('request_too_large', TOO_LARGE)
    decoded ??= codec.decodeRequest(parsed, about.envelopes)
    const { id, created, inputTokens, envelopes } = about
    return { request: decoded, parsed, id, created, inputTokens, envelopes }
  }
  // Pictures name no model, and of what is never converted nothing can be rewritten.
  const readsAll =
    codec !== undefined && client.name !== 'images' && (about.rewriteModel || parsed.body.includes(SEALED))
  // What an upstream would not recognise it cannot count.
  const isForeign = client.estimate !== undefined && parsed.body.includes(SEALED)
  const kindFor = ({ way }: LaneWay) => (way === 'native' && !readsAll ? 'byte' : 'hub')
  return {
    kindFor,
    open(target): Lane {
      if (isForeign) {
        throw new GatewayError('upstream_error', 'The upstream cannot read this request.', { final: true })
      }
      const { api, model, features, withoutCarriers } = target
      const upstream = api && dialects[api]
      const emulated = target.emulate === true || (parsed.compacts === true && !features.compaction)
      if (upstream === undefined || (kindFor(target) === 'byte' && !emulated)) {
        const askStreamUsage = parsed.head.stream && features.streamUsage
        const own = upstream === client ? { codec: upstream.codec } : {}
        const { finishReason } = features
        const to = { path: about.upstreamPath, model, askStreamUsage, finishReason, ...own }
        return byteLane(client, parsed, to, () => ({ ...view(), losses: new Losses(client.lossNames) }))
      }
      if (codec === undefined) throw new TypeError(`${client.name} is never converted`)
      const { unsupported, defaultMaxOutputTokens } = about
      const to = { upstream, model, features, withoutCarriers, unsupported, defaultMaxOutputTokens }
      return hubLane({ codec, lossNames: client.lossNames }, view(), to)
    },
  }
}
