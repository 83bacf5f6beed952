/** The lane between two dialects, or, where a route asks for it, through the neutral form and back into the same one. */
import type { Features } from '../../../contract/profiles.ts'
import { GatewayError } from '../../errors.ts'
import type { ClientView, Dialect } from '../dialect.ts'
import { type PrepareTarget, prepare } from '../hub/prepare.ts'
import { HubStream } from '../hub/stream.ts'
import { tidy, tidyAnswer } from '../hub/tidy.ts'
import { decodeWhole, deliveredOf, encodeWhole, filtered } from '../hub/whole.ts'
import { Losses, lossName } from '../ir/losses.ts'
import type { Lane } from './lane.ts'

export interface HubTarget extends Omit<PrepareTarget, 'dialect'> {
  upstream: Dialect
  model: string
  features: Features
  /** Output limit for an upstream that requires one. */
  defaultMaxOutputTokens: number
  /** `Reject`: a request that would lose something is refused. */
  unsupported: 'Drop' | 'Reject'
}

/**
 * `client` is the client's dialect, `about` its request and whom the answer is for.
 * Throws GatewayError (invalid_request, unsupported_parameter) when the request cannot be said in the other dialect.
 */
export function hubLane(client: Dialect, about: Omit<ClientView, 'losses'>, target: HubTarget): Lane {
  const losses = new Losses()
  if (client.name !== target.upstream.name) client.codec.refuseStateful?.(about.request)
  const { upstream, model, features, defaultMaxOutputTokens } = target
  const { request, filters } = prepare(about.request, { ...target, dialect: upstream.name }, losses)
  const encoded = upstream.codec.encodeRequest(request, { model, features, defaultMaxOutputTokens, losses })
  if (target.unsupported === 'Reject') refuse(losses)
  const view: ClientView = { ...about, losses }
  // A tier that the upstream never heard of is not billed.
  const tier = losses.has(lossName(request.source, 'tier')) ? 'default' : undefined
  return {
    kind: 'hub',
    path: upstream.upstreamPath,
    body: Buffer.from(JSON.stringify(encoded.body)),
    headers: encoded.headers ?? {},
    losses,
    readAnswer(body, asStream) {
      const decoded = decodeWhole(upstream.codec, body, view.parsed)
      if (!('parts' in decoded)) return decoded
      const answer = tidyAnswer(filtered(decoded, filters))
      const bytes = encodeWhole(client.codec, view, answer, asStream)
      if (bytes === undefined) return { class: 'unknown', status: 200, detail: 'answer_too_deep' }
      const { usage, tier: served = tier } = answer
      return {
        body: bytes,
        delivered: deliveredOf(answer),
        ...(usage && { usage }),
        ...(served && { tier: served }),
      }
    },
    observe(maxEventBytes) {
      const encoder = client.codec.encodeStream(view)
      const { parsed } = view
      return new HubStream({
        upstream: upstream.codec,
        encoder,
        filters: [...filters, tidy],
        request: parsed,
        maxEventBytes,
        tier,
      })
    },
  }
}

function refuse(losses: Losses): void {
  const [first] = losses.names
  if (first === undefined) return
  throw new GatewayError('unsupported_parameter', `${first} cannot be said in the API of the upstream.`, {
    param: first,
  })
}
