/** Follows an answer on its way to the client, and stores the state that the next request of the conversation needs. */
import type { Usage } from '../../../contract/usage.ts'
import type { AnswerRecord, AnswerTap, Chains } from '../../dialects/core/chains.ts'
import type { ParsedRequest } from '../../dialects/core/request.ts'
import type { Conversations } from './conversations.ts'
import { type AnsweredBy, type KeptRequest, keepAnswer } from './keep.ts'

interface Routing {
  owner: string
  session: string | undefined
  affinityTtlMs: number
  /** More than one channel could serve the next request. */
  several: boolean
}

interface Chain extends Pick<KeptRequest, 'memory' | 'position' | 'previous'> {
  chains: Chains
  request: ParsedRequest
}

/** Texts of an answer that are looked up when a later request carries them; the newest ones suffice. */
const BOUND_KEPT = 2
/** Items of one answer that a client may refer to by id at the upstream that keeps them. */
const ITEMS_KEPT = 64

export class AnswerWatch {
  readonly #conversations: Conversations
  readonly #routing: Routing
  readonly #chain: Chain | undefined
  readonly #tap: AnswerTap | undefined
  #by: AnsweredBy = { channel: '', native: false }
  #kept = false

  constructor(conversations: Conversations, routing: Routing, chain: Chain | undefined) {
    this.#conversations = conversations
    this.#routing = routing
    this.#chain = chain
    const followed =
      chain !== undefined && (chain.position.store || chain.memory !== undefined || routing.several)
    if (followed) this.#tap = chain.chains.tap(chain.request)
  }

  /** An upstream has begun to answer. */
  answeredBy(by: AnsweredBy): void {
    this.#by = by
    const { owner, session, affinityTtlMs, several } = this.#routing
    if (session !== undefined && several)
      void this.#conversations.affinity.note(
        { kind: 'session', owner, name: session },
        by.channel,
        affinityTtlMs,
      )
  }

  /** Whole events of a stream, before the client gets them. */
  push(bytes: Buffer): void {
    this.#tap?.push(bytes)
  }

  whole(body: Buffer): void {
    this.#tap?.whole(body)
  }

  /** True when the answer is complete and not kept yet; keep it before the client gets its end. */
  get due(): boolean {
    return !this.#kept && this.#tap?.record() !== undefined
  }

  /** Never rejects, and takes a second at most. */
  async keep(usage: Usage | undefined): Promise<void> {
    const answer = this.#tap?.record()
    if (this.#kept || answer === undefined || this.#chain === undefined) return
    this.#kept = true
    try {
      await this.#keep(this.#chain, answer, usage)
    } catch (error) {
      this.#conversations.failed(error)
    }
  }

  async #keep(chain: Chain, answer: AnswerRecord, usage: Usage | undefined): Promise<void> {
    const { chains, position, request } = chain
    const { channel, native } = this.#by
    const { owner, several } = this.#routing
    const conversations = this.#conversations
    const { affinity, limits } = conversations
    const bound = several ? answer.bound.slice(-BOUND_KEPT) : []
    const named = position.store && native ? answer.itemIds.slice(-ITEMS_KEPT) : []
    const noted = [
      ...bound.map((text) => affinity.note({ kind: 'state', owner, name: text }, channel, limits.ttlMs)),
      ...named.map((id) => affinity.note({ kind: 'state', owner, name: id }, channel, limits.bindingTtlMs)),
    ]
    const keeper = { ...chain, conversations, owner, input: chains.input(request) }
    // With `store: false` the upstream does not keep the answer either.
    const by = { channel, native: native && position.store, usage }
    await Promise.all([...noted, keepAnswer(keeper, answer, by)])
  }
}
