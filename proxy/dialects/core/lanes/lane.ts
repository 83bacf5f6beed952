/** One attempt's conversion: the request for the upstream, and the reader of its answer for the client. */
import { GatewayError, type UpstreamFailure } from '../../../errors.ts'
import type { Answer, StreamObserver } from '../dialect.ts'
import type { Losses } from '../neutral/losses.ts'

export interface Lane {
  /** `byte`: bytes pass. `hub`: the answer is converted through the neutral form. */
  readonly kind: 'byte' | 'hub'
  /** Path that is appended to a channel's base URL. */
  readonly path: string
  /** The upstream is told of the conversation by the id of its last response. */
  readonly byReference?: true
  /** The body has vendor state that the gateway opened, or removed: an upstream may refuse it once more. */
  readonly hasState?: true
  readonly body: Buffer
  /** Of the body; absent: application/json. */
  readonly contentType?: string
  /** Headers beside those of the channel, names in lower case. */
  readonly headers: Record<string, string>
  /** What was dropped so far, by the client's names; the answer may add to it. */
  readonly losses: { readonly names: string[]; header(): string | undefined }
  /**
   * Reads a whole answer with status 200: JSON, or a stream that was not asked for. With `asStream` the client gets
   * a stream, also of an upstream that ignored `stream: true`.
   */
  readAnswer(body: Buffer, asStream: boolean): Answer | UpstreamFailure
  observe(maxEventBytes: number): StreamObserver
}

/** Throws GatewayError unsupported_parameter where something is lost, for a route that rejects such requests. */
export function refuseLosses(losses: Losses): void {
  const [first] = losses.names
  if (first === undefined) return
  throw new GatewayError('unsupported_parameter', `${first} cannot be said in the API of the upstream.`, {
    param: first,
  })
}
