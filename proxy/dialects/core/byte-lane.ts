/** The lane between a client and an upstream of the same dialect: bytes pass, and few of them change. */

import type { Features } from '../../../contract/features.ts'
import type { Delivered } from '../../../contract/sizes.ts'
import type { Usage } from '../../../contract/usage.ts'
import type { GatewayError, UpstreamFailure } from '../../errors.ts'
import type { Change } from './json/edit.ts'
import type { Cut, SentBody } from './json/splice.ts'
import type { Losses } from './neutral/losses.ts'
import type { Envelopes } from './neutral/types.ts'
import type { ParsedRequest } from './request.ts'

/** Changes spliced into the request's bytes. The rest reaches the upstream as the client wrote it. */
export interface RequestEdits {
  /** Upstream model name. */
  model: string
  /** Request usage in the stream, if the dialect reports it only on request. */
  addStreamUsage: boolean
  limit?: OutputLimitEdit | undefined
  /** Further cuts in the body, which do not overlap these edits. */
  cuts?: readonly Cut[]
}

/** A limit on output tokens, for a request that has none. */
export interface OutputLimitEdit {
  /** Member of the body. */
  field: string
  tokens: number
}

/** Options for opening the vendor state in a request that passes as bytes. */
export interface StateAccess {
  envelopes: Envelopes
  /** Remove all vendor state, because an upstream refused that of this conversation. */
  withoutCarriers: boolean
  /** Records the removed fields. */
  losses: Losses
}

/** A complete answer, ready for the client. */
export interface Answer {
  body: Buffer
  usage?: Usage | undefined
  /** Tier that served the request, if the upstream reports it. */
  tier?: string | undefined
  /** Model output, for an estimate when usage is missing. */
  delivered: Delivered
}

/** Converts the bytes of one upstream stream for the client. */
export interface StreamObserver {
  /** True once an event of the answer arrived; pings and comments do not count. */
  readonly begun: boolean
  /** Takes a chunk and returns whole events for the client. Throws EventTooLarge past a limit. */
  push(chunk: Buffer): Buffer | undefined
  /** Set by an error event; push returns neither that event nor any after it. */
  readonly failure: UpstreamFailure | undefined
  /** True when the stream had the event that ends a finished answer in its dialect. */
  readonly finished: boolean
  /** True after the last event of a stream: the caller need not read on, and may close the connection. */
  readonly done: boolean
  readonly usage: Usage | undefined
  readonly tier: string | undefined
  readonly delivered: Delivered
  /** Called at the end of the upstream's stream. Returns a last event that lacked its empty line, if there is one. */
  flush(): Buffer | undefined
  /** The event that ends this stream with an error, in the state that it is in. */
  errorEvent(error: GatewayError, requestId: string): Buffer
}

/** Passes requests and answers between a client and an upstream of the same dialect. */
export interface ByteLane<Own = unknown> {
  /** The request's bytes with the edits spliced in. */
  splice(request: ParsedRequest<Own>, edits: RequestEdits): SentBody
  /**
   * Opens the vendor state that the gateway sealed: restores state of this dialect's upstreams, and removes any other
   * together with the item that carries it. Absent: requests carry none. Throws GatewayError invalid_request for an
   * unusable envelope whose removal would change the meaning of the request.
   */
  openState?(request: ParsedRequest<Own>, access: StateAccess): Change[]
  /** Member that limits output tokens. Absent: requests need none, or always have one. */
  limitField?(features: Features): string
  /** How an envelope looks in its bodies. Absent: it begins a JSON string. */
  readonly sealed?: string
  /**
   * The body that makes an upstream of this dialect do a task that it does not offer (see Emulation). `changes` are those
   * of openState.
   */
  emulate?(request: ParsedRequest<Own>, model: string, changes: readonly Change[]): Buffer
  /** Keys that lead to the model's name in a whole answer and in the data of an event. Absent: answers do not name it. */
  readonly modelAt?: { answer: readonly string[]; event: readonly string[] }
  /** Headers for the upstream besides the channel's, names in lower case. */
  upstreamHeaders(request: ParsedRequest<Own>): Record<string, string>
  /**
   * Reads a whole answer with status 200. An error body, or one that is not an answer, is a failure. With `asStream` the
   * answer becomes a stream, because some upstreams ignore `stream: true`.
   */
  readAnswer(body: Buffer, request: ParsedRequest<Own>, asStream: boolean): Answer | UpstreamFailure
  /**
   * The whole answer in the events of a finished stream, because some upstreams send unrequested streams. Absent: such a
   * stream is a failure.
   */
  fromStream?(events: Buffer): object
  /**
   * Observer for a stream, whose events pass as bytes. `addedUsage`: the gateway requested the usage event, so it is
   * withheld from a client that did not. `finishReason` (default true): the channel's feature.
   */
  observe(
    request: ParsedRequest<Own>,
    maxEventBytes: number,
    addedUsage: boolean,
    finishReason?: boolean,
  ): StreamObserver
}
