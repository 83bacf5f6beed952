/** One attempt's conversion: the request for the upstream, and the reader of its answer for the client. */
import { GatewayError, type UpstreamFailure } from '../../../errors.ts'
import type { Answer, StreamObserver } from '../byte-lane.ts'
import type { SentBody } from '../json/splice.ts'
import type { Losses } from '../neutral/losses.ts'

export interface Lane {
  /** `byte`: bytes pass. `hub`: the answer is converted through the neutral form. */
  readonly kind: 'byte' | 'hub'
  /** Path that is appended to a channel's base URL. */
  readonly path: string
  /** The request names the conversation by the id of its last response. */
  readonly byReference?: true
  /** The gateway opened or removed vendor state of the body, and an upstream may refuse the rest. */
  readonly hasState?: boolean
  /** The limit on output tokens that the gateway added. */
  readonly outputLimit?: number | undefined
  readonly body: SentBody
  /** Of the body; absent: application/json. */
  readonly contentType?: string | undefined
  /** Headers beside those of the channel, names in lower case. */
  readonly headers: Record<string, string>
  /** Losses so far, by the client's names; the answer may add more. */
  readonly losses: { readonly names: string[]; header(): string | undefined }
  /**
   * Reads a whole answer with status 200: JSON, or an unrequested stream. With `asStream` the client gets a stream, even
   * if the upstream ignored `stream: true`.
   */
  readAnswer(body: Buffer, asStream: boolean): Answer | UpstreamFailure
  observe(maxEventBytes: number): StreamObserver
}

/** Throws GatewayError unsupported_parameter for the first loss, on routes that reject losses. */
export function refuseLosses(losses: Losses): void {
  const [first] = losses.names
  if (first === undefined) return
  throw new GatewayError('unsupported_parameter', `${first} has no equivalent in the API of the upstream.`, {
    param: first,
  })
}
