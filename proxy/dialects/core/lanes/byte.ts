/** The lane between equal dialects. */
import { GatewayError } from '../../../errors.ts'
import type { Answer, ClientApi, ClientView, Codec, ParsedRequest } from '../dialect.ts'
import { decodeWhole, deliveredOf, encodeWhole, looksLikeStream } from '../hub/whole.ts'
import { Losses } from '../neutral/losses.ts'
import type { Lane } from './lane.ts'

export interface ByteTarget {
  /** Below the channel's base URL. */
  path: string
  model: string
  askStreamUsage: boolean
  /** The feature of the channel; absent: true. */
  finishReason?: boolean
  /** Reads a stream that nobody asked for; absent: such an answer is a failure. */
  codec?: Codec
}

/** `view` makes what an answer in the neutral form needs; asked for only when the upstream streams unasked. */
export function byteLane(
  { byteLane: bytes }: Pick<ClientApi, 'byteLane'>,
  request: ParsedRequest,
  { path, model, askStreamUsage, finishReason, codec }: ByteTarget,
  view: () => ClientView,
): Lane {
  return {
    kind: 'byte',
    path,
    body: bytes.splice(request, { model, askStreamUsage }),
    ...(request.contentType !== undefined && { contentType: request.contentType }),
    headers: bytes.upstreamHeaders(request),
    losses: new Losses({}),
    readAnswer(body, asStream) {
      if (codec === undefined || asStream || !looksLikeStream(body))
        return bytes.readAnswer(body, request, asStream)
      const features = { finishReason: finishReason ?? true }
      const answer = decodeWhole(codec, body, request, { features })
      if (!('parts' in answer)) return answer
      const client = readable(view)
      if (client === undefined) return { class: 'unknown', status: 200, detail: 'unasked_stream' }
      const whole = encodeWhole(codec, client, answer, false)
      if (whole === undefined) return { class: 'unknown', status: 200, detail: 'answer_too_deep' }
      const { usage, tier } = answer
      const read: Answer = { body: whole, delivered: deliveredOf(answer) }
      return { ...read, ...(usage && { usage }), ...(tier && { tier }) }
    },
    observe: (maxEventBytes) => bytes.observe(request, maxEventBytes, askStreamUsage, finishReason),
  }
}

/** Undefined for a request that passes as bytes, and that the neutral form cannot say: that is no fault of the client. */
function readable(view: () => ClientView): ClientView | undefined {
  try {
    return view()
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}
