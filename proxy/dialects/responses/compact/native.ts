/** Compactions by upstreams. An upstream without compaction may ignore the request for one and just answer. */
import type { UpstreamFailure } from '../../../errors.ts'
import { isRecord, tryParse } from '../../core/json/value.ts'
import { PassingObserver } from '../../core/lanes/passing.ts'
import { readEvents } from '../../core/sse/reader.ts'

/** The answer has no compaction or several; clients expect exactly one. */
export const NO_COMPACTION: UpstreamFailure = {
  class: 'unknown',
  status: 200,
  channelNotAtFault: true,
  detail: 'no_compaction',
}

const DONE = 'response.output_item.done'
/** Bytes of a stream that are held. */
const MAX_BYTES = 16 * 1024 * 1024

/** True if exactly one output item is a compaction. */
export function isCompacted(output: unknown): boolean {
  return Array.isArray(output) && output.filter(isCompaction).length === 1
}

function isCompaction(item: unknown): boolean {
  return isRecord(item) && item.type === 'compaction'
}

/** Holds a stream until it contains a compaction, so that a retry is possible until then. */
export class CompactionObserver extends PassingObserver {
  #held: Buffer[] = []
  #bytes = 0
  #items: unknown[] = []
  #failure: UpstreamFailure | undefined

  override get failure() {
    return this.#failure ?? super.failure
  }

  override get finished() {
    return super.finished && this.failure === undefined
  }

  protected override passed(bytes: Buffer): Buffer | undefined {
    this.#hold(bytes)
    if (!this.finished) return undefined
    if (isCompacted(this.#items)) return Buffer.concat(this.#held.splice(0))
    this.#failure = NO_COMPACTION
    return undefined
  }

  #hold(bytes: Buffer): void {
    this.#held.push(bytes)
    this.#bytes += bytes.length
    if (this.#bytes > MAX_BYTES) this.#failure = NO_COMPACTION
    if (!bytes.includes(DONE)) return
    readEvents(bytes.toString('utf8'), (event, data) => {
      const value = event === DONE || data.includes(DONE) ? tryParse(data) : undefined
      if (isRecord(value) && (value.type ?? event) === DONE) this.#items.push(value.item)
    })
  }
}
