/** What the pipeline asks of a dialect whose answers can be continued by their id. */
import type { JsonLimits, ParsedRequest } from './dialect.ts'

/** What a request says of the conversation that it belongs to. */
export interface ChainPosition {
  /** Id of the response that it goes on from. */
  previous?: string
  /** False: the answer shall not be kept beyond its connection. */
  store: boolean
  /**
   * What of its input means something to one upstream alone (encrypted reasoning, compactions, ids of items that it
   * keeps), the newest last and at most a few: it should go where that comes from.
   */
  bound: string[]
  /** Ids of items that it names without saying them. */
  references: string[]
}

/** What a client has got of one answer, for going on from it. */
export interface AnswerRecord {
  id: string
  /** The answer as its object, JSON text. */
  response: string
  /** Items of the output, as a client sends them back: JSON texts, without ids that mean nothing elsewhere. */
  items: string[]
  /** Ids of its items, by which a client may refer to them. */
  itemIds: string[]
  /** What of the output means something to this upstream alone, the newest last; see ChainPosition.bound. */
  bound: string[]
}

/** Collects the answer from the bytes that the client gets. */
export interface AnswerTap {
  /** Whole events of a stream. */
  push(bytes: Buffer): void
  /** A whole answer. */
  whole(body: Buffer): void
  /** Undefined as long as the answer is not complete, and for one that failed: nobody can go on from it. */
  record(): AnswerRecord | undefined
}

/** A dialect whose answers can be continued by their id. All texts are JSON of that dialect. */
export interface Chains {
  position(request: ParsedRequest): ChainPosition
  /** Items that the request adds to its conversation: JSON texts, as a client sends them. */
  input(request: ParsedRequest): string[]
  /** Exchanges, the oldest first, as one list of items: a compaction that was answered stands for all before it. */
  history(exchanges: readonly { input: string[]; output: string[] }[]): string[]
  /** The request with the whole conversation as its input, and without the reference to it. */
  expand(request: ParsedRequest, history: readonly string[], limits: JsonLimits): ParsedRequest
  /** Id of the response that has the item, where the gateway itself has given both. */
  responseOf(reference: string): string | undefined
  /** Items of a response (JSON text) by their ids, as a client sends them back. */
  itemsOf(response: string): ReadonlyMap<string, string>
  /** The request with these items in place of the references to them. */
  resolve(request: ParsedRequest, items: ReadonlyMap<string, string>, limits: JsonLimits): ParsedRequest
  tap(request: ParsedRequest): AnswerTap
  /** The events of an answer that only prepares: begun, completed, empty. `id` is ClientView's. */
  warmUp(request: ParsedRequest, id: string, created: number): Buffer
}
