/** Converts whole answers. */
import type { Delivered } from '../../../../contract/sizes.ts'
import type { UpstreamFailure } from '../../../errors.ts'
import type { ClientCodec, ClientView, StreamFeatures, UpstreamCodec } from '../codec.ts'
import { tryParse, unlessTooDeep } from '../json/value.ts'
import { addImage, addText, withImages } from '../neutral/delivered.ts'
import { fold } from '../neutral/fold.ts'
import type { ModelAnswer, PartFilter, StreamPart } from '../neutral/types.ts'
import { unfold } from '../neutral/unfold.ts'
import type { ParsedRequest } from '../request.ts'
import { guardCalls, type TakesText } from './call-guard.ts'
import { chain, HubStream } from './stream.ts'

/** A stream begins with a field name, a comment or a byte order mark; JSON with a bracket. */
export function looksLikeStream(body: Buffer): boolean {
  return /^[\s\uFEFF]*(?:event|data|id|retry)?:/.test(body.toString('utf8', 0, 256))
}

/** Options for decoding the answers of one upstream, as in HubStreamOptions. */
export interface Reading {
  features?: StreamFeatures | undefined
  takesText?: TakesText
}

/** The answer in a body with status 200, which may be JSON or an unrequested stream. */
export function decodeWhole(
  upstream: UpstreamCodec,
  body: Buffer,
  request: ParsedRequest,
  reading: Reading = {},
): ModelAnswer | UpstreamFailure {
  const decoded = decode(upstream, body, request, reading)
  const answer = 'parts' in decoded ? guardCalls(decoded, reading.takesText ?? (() => false)) : decoded
  if (!('parts' in answer) || answer.usage === undefined) return answer
  return {
    ...answer,
    usage: withImages(answer.usage, answer.parts.filter(({ type }) => type === 'image').length),
  }
}

function decode(
  upstream: UpstreamCodec,
  body: Buffer,
  request: ParsedRequest,
  reading: Reading,
): ModelAnswer | UpstreamFailure {
  if (!looksLikeStream(body)) {
    const { parseAnswer = tryParse } = upstream
    return upstream.decodeAnswer(parseAnswer(body.toString('utf8')), request)
  }
  const parts: StreamPart[] = []
  const encoder = { part: (part: StreamPart) => void parts.push(part), take: () => '', error: () => '' }
  const maxEventBytes = body.length
  const about = { upstream, encoder, filters: [], request, maxEventBytes, tier: undefined }
  const stream = new HubStream({ ...about, ...reading })
  stream.push(body)
  stream.flush()
  return stream.failure ?? fold(parts) ?? { class: 'transient', status: 200, detail: 'cut_stream' }
}

/** The answer as if its stream had passed the filters. */
export function filtered(answer: ModelAnswer, filters: readonly PartFilter[]): ModelAnswer {
  if (filters.length === 0) return answer
  const parts: StreamPart[] = []
  unfold(
    answer,
    chain(filters, (part) => void parts.push(part)),
  )
  return fold(parts) ?? answer
}

/** The answer as bytes for a client; undefined when it nests too deep for JSON.stringify. */
export function encodeWhole(
  client: ClientCodec,
  view: ClientView,
  answer: ModelAnswer,
  asStream: boolean,
): Buffer | undefined {
  return unlessTooDeep(() => {
    if (!asStream) return Buffer.from(JSON.stringify(client.encodeAnswer(answer, view)))
    const encoder = client.encodeStream(view)
    unfold(answer, (part) => encoder.part(part))
    return Buffer.from(encoder.take())
  })
}

/** The size of the model's output in it. */
export function deliveredOf(answer: ModelAnswer): Delivered {
  const delivered: Delivered = { deltas: 0, bytes: 0 }
  const add = (text: string) => addText(delivered, text)
  for (const part of answer.parts) {
    if (part.type === 'text' || part.type === 'refusal') add(part.text)
    else if (part.type === 'reasoning') for (const text of part.texts) add(text)
    else if (part.type === 'tool-call') add(part.input)
    else if (part.type === 'image') addImage(delivered, part)
  }
  return delivered
}
