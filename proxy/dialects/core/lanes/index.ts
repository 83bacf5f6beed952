/** Chooses the lane of an attempt: bytes between equal dialects, the hub between different ones. */

import type { ApiName } from '../../../../contract/apis.ts'
import type { LaneKind } from '../../../../contract/endpoints.ts'
import type { Features } from '../../../../contract/features.ts'
import { GatewayError } from '../../../errors.ts'
import type { ClientView } from '../codec.ts'
import type { ClientApi, Dialect } from '../dialect.ts'
import { mayHoldEnvelope } from '../hub/envelope.ts'
import { Losses } from '../neutral/losses.ts'
import type { Envelopes } from '../neutral/types.ts'
import type { ParsedRequest } from '../request.ts'
import { type ByteTarget, byteLane } from './byte.ts'
import { answerReader, convert, hubLane } from './hub.ts'
import { type Lane, refuseLosses } from './lane.ts'

const TOO_LARGE = 'The request is too large to be converted for this model. Send a smaller one.'

/** The facts about a request that all its attempts share. */
export interface LaneRequest {
  client: ClientApi
  parsed: ParsedRequest
  /** See ClientView. */
  id: string
  created: number
  inputTokens: number
  envelopes: Envelopes
  /** Show the client the model name that it sent, also in answers that pass as bytes. */
  rewriteModel: boolean
  unsupported: 'Drop' | 'Reject'
  defaultMaxOutputTokens: number
}

/** How an attempt reaches its upstream. */
export interface LaneTarget {
  lane: LaneKind
  /** The upstream's API; absent for endpoints without conversion. */
  api?: ApiName | undefined
  /** Upstream model name. */
  model: string
  features: Features
  /** namespace/name of the channel. */
  channel: string
  /** Remove vendor state, because an upstream refused it. */
  withoutCarriers: boolean
  /** Send the whole conversation, because the upstream does not know the response that the request continues. */
  withoutState?: boolean | undefined
  /** Limit on output tokens for a client that set none. */
  outputLimit?: number | undefined
  /** The upstream does not offer the task, so its model does it for the gateway (see Emulation). */
  emulate?: boolean | undefined
}

export interface Lanes {
  /** Throws GatewayError when the request cannot take this lane. */
  open(target: LaneTarget): Lane | Promise<Lane>
}

/** Lanes of a request that needs no lookup first. */
export interface ReadyLanes extends Lanes {
  open(target: LaneTarget): Lane
}

/** True if a body may contain vendor state that the gateway sealed. */
export function isSealed({ byteLane }: Pick<ClientApi, 'byteLane'>, body: Buffer): boolean {
  return byteLane.sealed === undefined ? mayHoldEnvelope(body) : body.includes(byteLane.sealed)
}

export function lanesOf(about: LaneRequest, dialects: Record<ApiName, Dialect>): ReadyLanes {
  const { client, parsed, unsupported, defaultMaxOutputTokens } = about
  const { codec, byteLane: bytes } = client
  const sealed = parsed.sealed ?? isSealed(client, parsed.body)
  let shared: Pick<ClientView, 'request' | 'echo'> | undefined
  const view = (): Omit<ClientView, 'losses'> => {
    if (codec === undefined) throw new TypeError('this request is never converted')
    if (parsed.isUpload) throw new GatewayError('request_too_large', TOO_LARGE)
    if (shared === undefined) {
      const echo = codec.echo?.(parsed)
      shared = { request: codec.decodeRequest(parsed, about.envelopes), ...(echo && { echo }) }
    }
    const { id, created, inputTokens, envelopes } = about
    return { ...shared, parsed, id, created, inputTokens, envelopes }
  }
  const openState = ({ withoutCarriers }: LaneTarget): ByteTarget['state'] => {
    if (!sealed || bytes.openState === undefined) return undefined
    const losses = new Losses(client.lossNames)
    const changes = bytes.openState(parsed, { envelopes: about.envelopes, withoutCarriers, losses })
    if (unsupported === 'Reject') refuseLosses(losses)
    return { changes, losses }
  }
  const openBytes = (target: LaneTarget): Lane => {
    const { api, model, features, outputLimit } = target
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
    const limitField = parsed.compacts === true ? undefined : bytes.limitField?.(features)
    return byteLane(client, parsed, {
      path: client.upstreamPath(model, parsed.head.stream),
      model,
      rewriteModel: about.rewriteModel,
      addStreamUsage: parsed.head.stream && features.streamUsage,
      finishReason: features.finishReason,
      limit:
        limitField === undefined || outputLimit === undefined
          ? undefined
          : { field: limitField, tokens: outputLimit },
      state,
    })
  }
  const openAny = (target: LaneTarget): Lane => {
    // An upstream cannot count the tokens of state that it does not recognise.
    if (client.estimate !== undefined && sealed) {
      throw new GatewayError('upstream_error', 'The upstream cannot read this request.', { final: true })
    }
    const { lane, api, model, features, withoutCarriers } = target
    if (lane === 'byte' || api === undefined) return openBytes(target)
    if (codec === undefined) throw new TypeError(`${client.name} is never converted`)
    const { outputLimit } = target
    const own = { model, features, withoutCarriers, unsupported, defaultMaxOutputTokens, outputLimit }
    const to = { ...own, upstream: dialects[api] }
    const about = view()
    const from = { codec, lossNames: client.lossNames }
    return hubLane(from, about, to, convert(from, about.request, to))
  }
  return {
    open(target): Lane {
      const lane = openAny(target)
      parsed.value?.drop()
      return lane
    },
  }
}
