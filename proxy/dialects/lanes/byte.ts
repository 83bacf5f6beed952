/** The lane between equal dialects. */
import type { Answer, ClientView, Dialect, ParsedRequest } from '../dialect.ts'
import { decodeWhole, deliveredOf, encodeWhole, looksLikeStream } from '../hub/whole.ts'
import { Losses } from '../ir/losses.ts'
import type { Lane } from './lane.ts'

/** `view` makes what an answer in the neutral form needs; asked for only when the upstream streams unasked. */
export function byteLane(
  dialect: Dialect,
  request: ParsedRequest,
  model: string,
  askStreamUsage: boolean,
  view: () => ClientView,
): Lane {
  const { byteLane: bytes, codec, upstreamPath } = dialect
  return {
    kind: 'byte',
    path: upstreamPath,
    body: bytes.splice(request, { model, askStreamUsage }),
    headers: bytes.upstreamHeaders(request),
    losses: new Losses(),
    readAnswer(body, asStream) {
      if (asStream || !looksLikeStream(body)) return bytes.readAnswer(body, request, asStream)
      const answer = decodeWhole(codec, body, request)
      if (!('parts' in answer)) return answer
      const whole = encodeWhole(codec, view(), answer, false)
      if (whole === undefined) return { class: 'unknown', status: 200, detail: 'answer_too_deep' }
      const { usage, tier } = answer
      const read: Answer = { body: whole, delivered: deliveredOf(answer) }
      return { ...read, ...(usage && { usage }), ...(tier && { tier }) }
    },
    observe: (maxEventBytes) => bytes.observe(request, maxEventBytes, askStreamUsage),
  }
}
