/** Converts a stream from the upstream's dialect to the client's. */
import type { Delivered } from '../../../../contract/sizes.ts'
import type { Usage } from '../../../../contract/usage.ts'
import type { GatewayError, UpstreamFailure } from '../../../errors.ts'
import type { StreamObserver } from '../byte-lane.ts'
import type { StreamDecoder, StreamEncoder, StreamFeatures, UpstreamCodec } from '../codec.ts'
import { addImage, addText, withImages } from '../neutral/delivered.ts'
import type { Emit, PartFilter, PartOf, StreamPart } from '../neutral/types.ts'
import type { ParsedRequest } from '../request.ts'
import { QuietEvents, TOO_QUIET } from '../sse/quiet.ts'
import { readEvents } from '../sse/reader.ts'
import { EventSplitter } from '../sse/splitter.ts'
import { CallGuard, type TakesText } from './call-guard.ts'
import { Repeats } from './repeats.ts'

export interface HubStreamOptions {
  upstream: UpstreamCodec
  encoder: StreamEncoder
  filters: readonly PartFilter[]
  /** Absent: false for every name. */
  takesText?: TakesText
  request: ParsedRequest
  features?: StreamFeatures | undefined
  maxEventBytes: number
  /** Tier to bill when the upstream names none. */
  tier: string | undefined
}

export class HubStream implements StreamObserver {
  begun = false
  usage: Usage | undefined
  tier: string | undefined
  readonly delivered: Delivered = { deltas: 0, bytes: 0 }
  readonly #splitter: EventSplitter
  readonly #decoder: StreamDecoder
  readonly #guard: CallGuard
  readonly #encoder: StreamEncoder
  readonly #event: (event: string, data: string) => void
  #failure: UpstreamFailure | undefined

  constructor(options: HubStreamOptions) {
    const { upstream, encoder, filters, request, features, maxEventBytes } = options
    this.tier = options.tier
    this.#splitter = new EventSplitter(maxEventBytes)
    this.#encoder = encoder
    const emit = chain(filters, (part) => {
      this.#count(part)
      encoder.part(part)
    })
    const guard = new CallGuard(options.takesText ?? (() => false), emit)
    this.#guard = guard
    let given: StreamPart[] = []
    const hand = (part: StreamPart) => {
      this.begun = true
      given.push(part)
      guard.part(part)
      // The upstream bills its answer even if the client does not get it.
      if (part.type === 'finish' && guard.failure !== undefined) this.#settle(part)
    }
    const decoder = upstream.decodeStream(hand, request, features)
    this.#decoder = decoder
    const repeats = new Repeats()
    const quiet = new QuietEvents()
    const read = (event: string, data: string) => {
      if (this.failure !== undefined || decoder.done) return
      const delta = repeats.match(event, data)
      if (delta !== undefined) return guard.part(delta)
      given = []
      decoder.event(event, data)
      if (given.length === 0 && isNoise(event, data, upstream.eventName) && !quiet.admit()) {
        this.#failure = TOO_QUIET
        return
      }
      if (decoder.forgetsText === true) repeats.learn(event, data, given)
      else repeats.forget()
    }
    this.#event = read
  }

  get failure(): UpstreamFailure | undefined {
    return this.#failure ?? this.#decoder.failure ?? this.#guard.failure ?? this.#encoder.failure
  }

  get finished(): boolean {
    return this.#decoder.finished && this.failure === undefined
  }

  get done(): boolean {
    return this.#decoder.done
  }

  push(chunk: Buffer): Buffer | undefined {
    if (this.done || this.failure !== undefined) return undefined
    const whole = this.#splitter.push(chunk)
    if (whole === undefined) return undefined
    readEvents(whole.toString('utf8'), this.#event)
    return this.#taken()
  }

  /** Reads a last event that lacks its empty line. Half an event is not JSON, and the decoder skips it. */
  flush(): Buffer | undefined {
    if (this.failure !== undefined) return undefined
    const rest = this.done ? '' : this.#splitter.rest().toString('utf8')
    if (rest !== '') readEvents(`${rest}\n\n`, this.#event)
    this.#decoder.end()
    return this.#taken()
  }

  errorEvent(error: GatewayError, requestId: string): Buffer {
    return Buffer.from(this.#encoder.error(error, requestId))
  }

  #taken(): Buffer | undefined {
    const text = this.#encoder.take()
    return text === '' ? undefined : Buffer.from(text)
  }

  #count(part: StreamPart): void {
    if ('text' in part) {
      addText(this.delivered, part.text)
    } else if (part.type === 'whole') {
      if (part.part.type === 'image') addImage(this.delivered, part.part)
    } else if (part.type === 'finish') {
      this.#settle(part)
    }
  }

  #settle({ usage, tier }: PartOf<'finish'>): void {
    this.usage = usage && withImages(usage, this.delivered.images ?? 0)
    this.tier = tier ?? this.tier
  }
}

/** Names that an event of any dialect may have. */
const PLAIN_NAME = /^(?:message|error)?$/

/** True for an event that the dialect does not know. The stream fails when it has too many of them. */
function isNoise(event: string, data: string, own: RegExp | undefined): boolean {
  return !(PLAIN_NAME.test(event) || own?.test(event)) || !/^\s*\{/.test(data)
}

/** The filters in their order, followed by `last`. */
export function chain(filters: readonly PartFilter[], last: Emit): Emit {
  return filters.reduceRight((emit, filter) => filter(emit), last)
}
