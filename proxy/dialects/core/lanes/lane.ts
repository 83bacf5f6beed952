/** The way of one attempt: what goes to the upstream, and what its answer becomes for the client. */
import type { UpstreamFailure } from '../../../errors.ts'
import type { Answer, StreamObserver } from '../dialect.ts'

export interface Lane {
  /** `byte`: bytes pass. `hub`: everything is converted, through the neutral form. */
  readonly kind: 'byte' | 'hub'
  /** Path that is appended to a channel's base URL. */
  readonly path: string
  /** The upstream is told of the conversation by the id of its last response. */
  readonly byReference?: true
  readonly body: Buffer
  /** Of the body; absent: application/json. */
  readonly contentType?: string
  /** Headers beside those of the channel, names in lower case. */
  readonly headers: Record<string, string>
  /** What was dropped so far, by the client's names; the answer may add to it. Empty in the byte lane. */
  readonly losses: { readonly names: string[]; header(): string | undefined }
  /**
   * Reads a whole answer with status 200: JSON, or a stream that nobody asked for. With `asStream` the client gets
   * a stream, also of an upstream that ignored `stream: true`.
   */
  readAnswer(body: Buffer, asStream: boolean): Answer | UpstreamFailure
  observe(maxEventBytes: number): StreamObserver
}
