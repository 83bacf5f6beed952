/** Chooses the lane of an attempt: bytes between equal dialects, the hub between different ones. */
import type { ApiName } from '../../../../contract/endpoints.ts'
import type { Features } from '../../../../contract/profiles.ts'
import { GatewayError } from '../../../errors.ts'
import type { ClientApi, ClientView, Dialect, ParsedRequest } from '../dialect.ts'
import { MARK } from '../hub/envelope.ts'
import { Losses } from '../neutral/losses.ts'
import type { Envelopes, ModelRequest } from '../neutral/types.ts'
import { type ByteTarget, byteLane } from './byte.ts'
import { answerReader, hubLane } from './hub.ts'
import { type Lane, refuseLosses } from './lane.ts'

/** How an envelope begins in a body. */
const SEALED = `"${MARK}`

const TOO_LARGE = 'A request of this size cannot be converted for this model; make it smaller.'

/** One request, as all its attempts see it. */
export interface LaneRequest {
  client: ClientApi
  parsed: ParsedRequest
  /** See ClientView. */
  id: string
  created: number
  inputTokens: number
  envelopes: Envelopes
  /** The client reads the model name that it sent in answers that pass as bytes too. */
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
  /** The upstream does not offer what is asked: its model does it for the gateway (see Emulation). */
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
  const { client, parsed, unsupported, defaultMaxOutputTokens } = about
  const { codec } = client
  const { byteLane: bytes } = client
  const isSealed = parsed.body.includes(SEALED)
  let decoded: ModelRequest | undefined
  const view = (): Omit<ClientView, 'losses'> => {
    if (codec === undefined) throw new TypeError('this request is never converted')
    if (parsed.goesOn) throw new GatewayError('request_too_large', TOO_LARGE)
    decoded ??= codec.decodeRequest(parsed, about.envelopes)
    const { id, created, inputTokens, envelopes } = about
    return { request: decoded, parsed, id, created, inputTokens, envelopes }
  }
  const openState = ({ withoutCarriers }: LaneTarget): ByteTarget['state'] => {
    if (!isSealed || bytes.openState === undefined) return undefined
    const losses = new Losses(client.lossNames)
    const changes = bytes.openState(parsed, { envelopes: about.envelopes, withoutCarriers, losses })
    if (unsupported === 'Reject') refuseLosses(losses)
    return { changes, losses }
  }
  const openNative = (target: LaneTarget): Lane => {
    const { api, model, features } = target
    const state = openState(target)
    const emulates = target.emulate === true || (parsed.compacts === true && !features.compaction)
    if (emulates && bytes.emulate !== undefined && codec !== undefined && api !== undefined) {
      const losses = state?.losses ?? new Losses(client.lossNames)
      const answered = { ...view(), losses }
      const emulation = codec.emulate?.(answered.request, api)
      return {
        kind: 'hub',
        path: dialects[api].upstreamPath(model, parsed.head.stream),
        body: bytes.emulate(parsed, model, state?.changes ?? []),
        headers: bytes.upstreamHeaders(parsed),
        losses,
        ...answerReader(codec, answered, { upstream: dialects[api], features, emulation, filters: [] }),
      }
    }
    return byteLane(client, parsed, {
      path: client.upstreamPath(model, parsed.head.stream),
      model,
      rewriteModel: about.rewriteModel,
      askStreamUsage: parsed.head.stream && features.streamUsage,
      finishReason: features.finishReason,
      ...(state && { state }),
    })
  }
  return {
    kindFor: ({ way }) => (way === 'native' ? 'byte' : 'hub'),
    open(target): Lane {
      // An upstream cannot count state that it would not recognise.
      if (client.estimate !== undefined && isSealed) {
        throw new GatewayError('upstream_error', 'The upstream cannot read this request.', { final: true })
      }
      const { way, api, model, features, withoutCarriers } = target
      if (way === 'native' || api === undefined) return openNative(target)
      if (codec === undefined) throw new TypeError(`${client.name} is never converted`)
      const to = { model, features, withoutCarriers, unsupported, defaultMaxOutputTokens }
      return hubLane({ codec, lossNames: client.lossNames }, view(), { ...to, upstream: dialects[api] })
    },
  }
}
