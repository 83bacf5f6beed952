/**
 * Chooses the lane of an attempt: bytes between equal dialects, the hub between others. A request that carries vendor
 * state which the gateway sealed goes through the hub as well: only there it is opened, or dropped where it is foreign.
 */
import type { DialectName } from '../../../contract/endpoints.ts'
import type { Features } from '../../../contract/profiles.ts'
import type { ClientView, Dialect, ParsedRequest } from '../dialect.ts'
import { MARK } from '../hub/envelope.ts'
import { Losses } from '../ir/losses.ts'
import type { Envelopes, ModelRequest } from '../ir/types.ts'
import { byteLane } from './byte.ts'
import { hubLane } from './hub.ts'
import type { Lane } from './lane.ts'

/** How an envelope begins in a body. */
const SEALED = `"${MARK}`

/** One request, as all its attempts see it. */
export interface LaneRequest {
  client: Dialect
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

export interface LaneTarget {
  dialect: DialectName
  /** Upstream model name. */
  model: string
  features: Features
  /** Leave out vendor state: an upstream refused it. */
  withoutCarriers: boolean
}

export interface Lanes {
  kindFor(dialect: DialectName): Lane['kind']
  /** Throws GatewayError when the request cannot take this way. */
  open(target: LaneTarget): Lane
}

export function lanesOf(about: LaneRequest, dialects: Record<DialectName, Dialect>): Lanes {
  const { client, parsed } = about
  let decoded: ModelRequest | undefined
  const view = (): Omit<ClientView, 'losses'> => {
    decoded ??= client.codec.decodeRequest(parsed, about.envelopes)
    const { id, created, inputTokens, envelopes } = about
    return { request: decoded, parsed, id, created, inputTokens, envelopes }
  }
  const readsAll = about.rewriteModel || parsed.body.includes(SEALED)
  const kindFor = (dialect: DialectName) => (dialect === client.name && !readsAll ? 'byte' : 'hub')
  return {
    kindFor,
    open({ dialect, model, features, withoutCarriers }) {
      if (kindFor(dialect) === 'byte') {
        const askUsage = parsed.head.stream && features.streamUsage
        return byteLane(client, parsed, model, askUsage, () => ({ ...view(), losses: new Losses() }))
      }
      const { unsupported, defaultMaxOutputTokens } = about
      const upstream = dialects[dialect]
      const target = { upstream, model, features, withoutCarriers, unsupported, defaultMaxOutputTokens }
      return hubLane(client, view(), target)
    },
  }
}
