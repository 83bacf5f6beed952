/** The lane through the neutral form: between two dialects, and for tasks that the gateway does with an upstream's model. */
import type { Features } from '../../../../contract/features.ts'
import { present } from '../../../../kit/present.ts'
import { GatewayError } from '../../../errors.ts'
import type { ClientCodec, ClientView, Emulation, EncodedRequest } from '../codec.ts'
import type { ClientApi, Dialect } from '../dialect.ts'
import { badAnswer } from '../errors/unreadable.ts'
import type { TakesText } from '../hub/call-guard.ts'
import { type AnswerRules, type PrepareTarget, prepare, readingOf } from '../hub/prepare.ts'
import { HubStream } from '../hub/stream.ts'
import { tidy, tidyAnswer } from '../hub/tidy.ts'
import { decodeWhole, deliveredOf, encodeWhole, filtered } from '../hub/whole.ts'
import { unlessTooDeep } from '../json/value.ts'
import { Losses } from '../neutral/losses.ts'
import type { ModelRequest, PartFilter } from '../neutral/types.ts'
import { type Lane, refuseLosses } from './lane.ts'

export interface HubTarget extends PrepareTarget {
  upstream: Dialect
  model: string
  features: Features
  /** Output limit for an upstream that requires one. */
  defaultMaxOutputTokens: number
  outputLimit?: number | undefined
  /** `Reject`: refuse a request that would lose a field. */
  unsupported: 'Drop' | 'Reject'
}

/** A client's API that can be converted. */
interface ConvertibleApi extends Pick<ClientApi, 'lossNames'> {
  codec: ClientCodec
}

/** A request converted for an upstream, and what reading its answer needs. */
export interface Converted extends Pick<Lane, 'path' | 'contentType' | 'headers'> {
  body: Buffer
  /** Losses by the client's names. */
  lost: string[]
  /** Tier to bill when the upstream names none. */
  tier: string | undefined
  answer: AnswerRules
}

/**
 * Throws GatewayError (invalid_request, unsupported_parameter) when the request has no equivalent in the other dialect.
 */
export function convert(
  { codec: client, lossNames }: ConvertibleApi,
  original: ModelRequest,
  target: HubTarget,
): Converted {
  const losses = new Losses(lossNames)
  const { upstream, model, features, defaultMaxOutputTokens, outputLimit } = target
  client.refuseStateful?.(original)
  const asked = client.emulate?.(original, upstream.name)?.request ?? original
  const { request, answer } = prepare(asked, target, losses)
  const limits = { defaultMaxOutputTokens, outputLimit }
  const encoded = upstream.codec.encodeRequest(request, { model, features, ...limits, losses })
  if (target.unsupported === 'Reject') refuseLosses(losses)
  return {
    path: encoded.path ?? upstream.upstreamPath(model, request.stream),
    ...bodyOf(encoded),
    headers: encoded.headers ?? {},
    lost: losses.names,
    // The upstream never saw a lost tier, so it is not billed.
    tier: losses.hasLost('tier') ? 'default' : undefined,
    answer,
  }
}

/** `about`: the client of the answer, and its request, of which outlineOf is enough. */
export function hubLane(
  { codec: client, lossNames }: ConvertibleApi,
  about: Omit<ClientView, 'losses'>,
  { upstream, features, outputLimit }: HubTarget,
  { lost, tier, answer, ...sent }: Converted,
): Lane {
  const losses = new Losses(lossNames)
  for (const name of lost) losses.add(name)
  const emulation = client.emulate?.(about.request, upstream.name)
  const reading = { upstream, features, emulation, tier, ...readingOf(answer, upstream) }
  return {
    kind: 'hub',
    outputLimit,
    ...sent,
    losses,
    ...answerReader(client, { ...about, losses }, reading),
  }
}

/** The parts of a request that answers are written by. */
export function outlineOf({ model, stream, tools, ...request }: ModelRequest): ModelRequest {
  const { format, wantsStreamUsage, compact } = request
  // Tools differ for answers only by the client's names of their fields.
  const named = new Map(tools.map(({ names }) => [JSON.stringify(names), names]))
  return {
    model,
    stream,
    turns: [],
    tools: [...named.values()].map((names) => ({ type: 'function', name: '', ...present({ names }) })),
    ...present({ format: format && { type: 'json' as const }, wantsStreamUsage, compact }),
  }
}

/** How an upstream's answers are converted. */
interface Reading {
  upstream: Dialect
  features: Features
  emulation: Emulation | undefined
  filters: readonly PartFilter[]
  takesText?: TakesText
  /** Tier to bill when the upstream names none. */
  tier?: string | undefined
}

/** The half of a lane that reads answers. */
export function answerReader(
  client: ClientCodec,
  view: ClientView,
  { upstream, features, emulation, filters, takesText = () => false, tier }: Reading,
): Pick<Lane, 'readAnswer' | 'observe'> {
  return {
    readAnswer(body, asStream) {
      const decoded = decodeWhole(upstream.codec, body, view.parsed, { features, takesText })
      if (!('parts' in decoded)) return decoded
      const answer = tidyAnswer(filtered(decoded, filters))
      const given = emulation === undefined ? answer : emulation.answer(answer, view)
      if (!('parts' in given)) return given
      const missing = client.missingContent?.(given)
      if (missing !== undefined) return missing
      const bytes = encodeWhole(client, view, given, asStream)
      if (bytes === undefined) return badAnswer('answer_too_deep')
      const { usage, tier: served = tier } = answer
      return {
        body: bytes,
        delivered: deliveredOf(answer),
        ...(usage && { usage }),
        ...(served && { tier: served }),
      }
    },
    observe(maxEventBytes) {
      const encoder = client.encodeStream(view)
      return new HubStream({
        upstream: upstream.codec,
        encoder: emulation === undefined ? encoder : emulation.stream(encoder, view),
        filters: [...filters, tidy],
        takesText,
        request: view.parsed,
        features,
        maxEventBytes,
        tier,
      })
    },
  }
}

function bodyOf({ body, form }: EncodedRequest): Pick<Converted, 'body' | 'contentType'> {
  if (form !== undefined) return { body: form.bytes, contentType: form.contentType }
  const bytes = unlessTooDeep(() => Buffer.from(JSON.stringify(body)))
  if (bytes !== undefined) return { body: bytes }
  // Tool arguments are text of any depth, which some encoders parse.
  throw new GatewayError('invalid_request', 'The request is nested too deeply to be converted.')
}
