/** Follows the stream of a chat completion, whose events pass as bytes. */
import type { Usage } from '../../../../contract/usage.ts'
import type { StreamObserver } from '../../core/byte-lane.ts'
import { readFailure } from '../../core/errors/read.ts'
import { isWord } from '../../core/errors/words.ts'
import { type Fields, isRecord } from '../../core/json/value.ts'
import type { ParsedRequest } from '../../core/request.ts'
import { EventFollower, type Verdict } from '../../core/sse/follower.ts'
import { brokenChoice } from '../codec/answer/finish.ts'
import { errorEvent } from '../error.ts'
import { readUsage } from '../usage.ts'
import { countDelta, hasContent } from './delta.ts'

interface ChatStreamOptions {
  /** The gateway added the request for the usage event. */
  addedUsage: boolean
  /** False: the upstream never sends a finish_reason, and `[DONE]` after content ends its answers. */
  finishReason: boolean
}

export class ChatStreamObserver extends EventFollower implements StreamObserver {
  tier: string | undefined
  readonly errorEvent = errorEvent
  readonly #options: ChatStreamOptions
  readonly #finishedChoices = new Set<unknown>()
  #hasContent = false
  /** The last usage, and the number of deltas before it. */
  #usage: Usage | undefined
  #deltasAtUsage = -1
  /** Number of deltas when usage arrived alone: it ends an answer unless more deltas follow. */
  #deltasAtEnd = -1

  constructor(request: ParsedRequest, maxEventBytes: number, options: ChatStreamOptions) {
    super(request, maxEventBytes)
    this.#options = options
  }

  /** Absent while deltas have come since: some servers send a usage of the prompt alone with the first chunk. */
  get usage(): Usage | undefined {
    return this.#deltasAtUsage === this.delivered.deltas ? this.#usage : undefined
  }

  /**
   * True when every requested choice has a finish_reason, or usage arrived alone after content. `[DONE]` proves nothing,
   * because some servers write it after broken answers; a finished answer does not need it.
   */
  get finished(): boolean {
    if (this.failure !== undefined) return false
    if (this.done || this.#finishedChoices.size >= this.request.head.choices) return true
    return this.#hasContent && this.#deltasAtEnd === this.delivered.deltas
  }

  override flush(): Buffer | undefined {
    const last = super.flush()
    if (!this.finished || this.done) return last
    this.done = true
    return Buffer.concat([last ?? Buffer.alloc(0), Buffer.from('data: [DONE]\n\n')])
  }

  protected override readDone(): Verdict {
    if (!this.finished && (this.#options.finishReason || !this.#hasContent))
      return this.fail({ class: 'transient', detail: 'no_finish_reason' })
    this.done = true
    return 'last'
  }

  protected inspect(chunk: Fields): Verdict | undefined {
    if (!Array.isArray(chunk.choices) && !isRecord(chunk.usage)) return undefined
    const choices: unknown = chunk.choices ?? []
    if (!Array.isArray(choices) || !choices.every(isRecord)) return undefined
    const broken = brokenChoice(choices)
    if (broken !== undefined) return this.fail(readFailure(broken, this.request, 'error_event'))
    if (typeof chunk.service_tier === 'string') this.tier = chunk.service_tier
    for (const [i, { index, delta, finish_reason: reason }] of choices.entries()) {
      // Some upstreams write an error message in place of the reason.
      if (reason && !isWord(reason)) return undefined
      if (reason) this.#finishedChoices.add(index ?? i)
      countDelta(delta, this.delivered)
      this.#hasContent ||= hasContent(delta)
    }
    if (isRecord(chunk.usage)) {
      const { deltas } = this.delivered
      const usage = readUsage(chunk.usage)
      if (usage !== undefined) {
        this.#usage = usage
        this.#deltasAtUsage = deltas
      }
      if (choices.length === 0) {
        this.#deltasAtEnd = deltas
        if (this.#options.addedUsage && !this.request.head.wantsStreamUsage) return 'withhold'
      }
    }
    return choices.length === 0 ? 'quiet' : 'pass'
  }
}
