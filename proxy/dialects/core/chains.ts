/** The interface to a dialect whose answers can be continued by their id. */
import type { JsonLimits, ParsedRequest } from './request.ts'

/** A request's position in its conversation. */
export interface ChainPosition {
  /** Id of the response that it continues. */
  previous?: string
  /** False: do not keep the answer beyond its connection. */
  store: boolean
  /**
   * Input that only one upstream understands (encrypted reasoning, compactions, ids of items that it keeps), the newest
   * last and at most a few: the request should go to that upstream.
   */
  bound: string[]
  /** Ids of items that it references without including them. */
  references: string[]
}

/** An answer as the client got it, kept so that a request can continue it. */
export interface AnswerRecord {
  id: string
  /** The answer as its object, JSON text. */
  response: string
  /** Items of the output, as a client sends them back: JSON texts, without ids that only this upstream knows. */
  items: string[]
  /** Ids of its items, by which a client may refer to them. */
  itemIds: string[]
  /** Output that only this upstream understands, the newest last; see ChainPosition.bound. */
  bound: string[]
}

/** Collects the answer from the bytes for the client. */
export interface AnswerTap {
  /** Whole events of a stream. */
  push(bytes: Buffer): void
  /** A whole answer. */
  whole(body: Buffer): void
  /** Undefined for an incomplete or failed answer, which no request can continue. */
  record(): AnswerRecord | undefined
}

/** A dialect whose answers can be continued by their id. All texts are JSON of that dialect. */
export interface Chains<Own = unknown> {
  position(request: ParsedRequest<Own>): ChainPosition
  /** Items that the request adds to its conversation: JSON texts, as a client sends them. */
  input(request: ParsedRequest<Own>): string[]
  /** Exchanges, the oldest first, as one list of items. An answered compaction replaces everything before it. */
  history(exchanges: readonly { input: string[]; output: string[] }[]): string[]
  /** The request with the whole conversation as its input, and without the reference to it. */
  expand(request: ParsedRequest<Own>, history: readonly string[], limits: JsonLimits): ParsedRequest<Own>
  /** Id of the response that has the item, if the gateway made both ids. */
  responseOf(reference: string): string | undefined
  /** Items of a response (JSON text) by their ids, as a client sends them back. */
  itemsOf(response: string): ReadonlyMap<string, string>
  /** The request with these items instead of the references to them. */
  resolve(
    request: ParsedRequest<Own>,
    items: ReadonlyMap<string, string>,
    limits: JsonLimits,
  ): ParsedRequest<Own>
  tap(request: ParsedRequest<Own>): AnswerTap
  /** The events of an empty answer to a request that only prepares a conversation. `id` is ClientView's. */
  warmUp(request: ParsedRequest<Own>, id: string, created: number): Buffer
}
