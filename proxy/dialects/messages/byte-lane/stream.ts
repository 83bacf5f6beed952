/** Follows the stream of a message, whose events pass as bytes. */
import type { Usage } from '../../../../contract/usage.ts'
import type { StreamObserver } from '../../core/byte-lane.ts'
import { isWord } from '../../core/errors/words.ts'
import { type Fields, isRecord } from '../../core/json/value.ts'
import { addText } from '../../core/neutral/delivered.ts'
import { EventFollower, type Verdict } from '../../core/sse/follower.ts'
import { errorEvent } from '../error.ts'
import { mergeUsage, readTier, readUsage } from '../usage.ts'

export class MessagesStreamObserver extends EventFollower implements StreamObserver {
  usage: Usage | undefined
  tier: string | undefined
  readonly errorEvent = errorEvent
  /** The upstream's usage object so far. */
  #rawUsage: unknown

  get finished(): boolean {
    return this.done && this.failure === undefined
  }

  protected inspect(event: Fields): Verdict | undefined {
    const { type, delta } = event
    switch (type) {
      case 'message_start':
        if (isRecord(event.message)) this.#note(event.message.usage)
        return 'pass'
      case 'content_block_delta':
        if (isRecord(delta))
          for (const text of [delta.text, delta.thinking, delta.partial_json]) addText(this.delivered, text)
        return 'pass'
      case 'content_block_start':
      case 'content_block_stop':
        return 'pass'
      case 'message_delta':
        if (isRecord(delta) && delta.stop_reason && !isWord(delta.stop_reason)) return undefined
        this.#note(event.usage)
        this.usage = readUsage(this.#rawUsage) ?? this.usage
        return 'pass'
      case 'message_stop':
        this.done = true
        this.usage ??= readUsage(this.#rawUsage)
        return 'last'
      default:
        return typeof type === 'string' ? 'quiet' : undefined
    }
  }

  /** Does not set `usage`: before its end a stream reports its input only. */
  #note(usage: unknown): void {
    this.#rawUsage = mergeUsage(this.#rawUsage, usage)
    this.tier = readTier(this.#rawUsage) ?? this.tier
  }
}
