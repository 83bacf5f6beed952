/** Follows the stream of a response; bytes pass as they are. */
import type { Usage } from '../../../../contract/usage.ts'
import type { GatewayError } from '../../../errors.ts'
import type { StreamObserver } from '../../core/byte-lane.ts'
import { readFailure } from '../../core/errors/read.ts'
import { isWord } from '../../core/errors/words.ts'
import { type Fields, isRecord, tryParse } from '../../core/json/value.ts'
import { addText } from '../../core/neutral/delivered.ts'
import { sseEvents } from '../../core/sse/events.ts'
import { EventFollower, type Verdict } from '../../core/sse/follower.ts'
import { errorEvent, failedEvent } from '../error.ts'
import { imagesIn, usageOf } from '../usage.ts'

/** Events that carry the response object. */
const LIFECYCLE = new Set<unknown>([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.completed',
  'response.incomplete',
])
const FAILED = new Set<unknown>(['response.failed', 'response.cancelled', 'response.error'])

export class ResponsesStreamObserver extends EventFollower implements StreamObserver {
  usage: Usage | undefined
  tier: string | undefined
  /** The response in the last lifecycle event that passed. */
  #response: Record<string, unknown> | undefined
  /** The bytes that passed last; parsed only if the stream ends with an error. */
  #lastPassed: Buffer | undefined

  get finished(): boolean {
    return this.done
  }

  /** A flat error before `response.created`, a failed response after it. */
  errorEvent(error: GatewayError): Buffer {
    const sequence = this.#lastSequence() + 1
    if (this.#response === undefined) return errorEvent(error, sequence)
    return failedEvent(this.#response, error, sequence)
  }

  protected override passed(bytes: Buffer): void {
    if (bytes.includes('data')) this.#lastPassed = bytes
  }

  protected inspect(event: Fields): Verdict | undefined {
    const { type, delta } = event
    if (isKeepAlive(event)) return 'quiet'
    if (typeof type !== 'string' || !type.startsWith('response.')) return undefined
    const response = isRecord(event.response) ? event.response : undefined
    if (response !== undefined) this.#count(response)
    if (FAILED.has(type) || response?.status === 'failed' || response?.error) {
      const detail = response === undefined ? 'error_event' : 'response_failed'
      return this.fail(readFailure(response ?? event, this.request, detail))
    }
    if (type.endsWith('.delta')) addText(this.delivered, delta)
    if (!LIFECYCLE.has(type)) return 'pass'
    if (!isReason(response?.incomplete_details)) return undefined
    this.#response = response ?? this.#response
    if (type !== 'response.completed' && type !== 'response.incomplete') return 'pass'
    if (typeof response?.service_tier === 'string') this.tier = response.service_tier
    this.done = true
    return 'last'
  }

  #count(response: Fields): void {
    const images = imagesIn(response.output)
    Object.assign(this.delivered, images)
    const read = usageOf(response)
    if (read !== undefined) this.usage = { ...read, images: images.images ?? 0 }
  }

  /** The last sequence number that passed; -1 if there is none. */
  #lastSequence(): number {
    let sequence = -1
    for (const { data } of this.#lastPassed === undefined ? [] : sseEvents(this.#lastPassed)) {
      const value = tryParse(data)
      if (isRecord(value) && Number.isSafeInteger(value.sequence_number))
        sequence = Number(value.sequence_number)
    }
    return sequence
  }
}

/** OpenAI sends these in long silences. An event with more fields could contain text of the upstream. */
function isKeepAlive({ type, sequence_number: sequence, ...rest }: Fields): boolean {
  const isBare = (sequence === undefined || typeof sequence === 'number') && Object.keys(rest).length === 0
  return isBare && (type === 'keepalive' || type === 'ping')
}

/** False for other text: some upstreams put the message of an error in place of the reason. */
function isReason(details: unknown): boolean {
  if (!isRecord(details)) return true
  return Object.values(details).every((value) => value === null || typeof value === 'number' || isWord(value))
}
