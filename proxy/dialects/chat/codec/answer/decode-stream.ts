/** Reads the chunks of an upstream's stream. */
import type { Usage } from '../../../../../contract/usage.ts'
import type { UpstreamFailure } from '../../../../errors.ts'
import type { StreamDecoder, StreamFeatures } from '../../../core/codec.ts'
import { readFailure } from '../../../core/errors/read.ts'
import { contentList, unreadable } from '../../../core/errors/unreadable.ts'
import { type Fields, isRecord, isText, textOf, tryParse } from '../../../core/json/value.ts'
import type { Emit } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { readUsage } from '../../usage.ts'
import { detailText } from '../reasoning.ts'
import { readAnnotations } from './annotations.ts'
import { detailsCarrier, readImages, readPieces } from './answer-parts.ts'
import { isFailure, readFinish } from './finish.ts'
import { StreamCalls } from './stream-calls.ts'
import { addDetails } from './stream-details.ts'

type Kind = 'text' | 'refusal' | 'reasoning'

/** Longer data cannot be `[DONE]`. */
const MAX_DONE = 32

export class ChatStreamDecoder implements StreamDecoder {
  failure: UpstreamFailure | undefined
  done = false
  readonly #emit: Emit
  readonly #request: ParsedRequest
  readonly #calls: StreamCalls
  /** `[DONE]` is not enough: some servers write it after broken answers. */
  readonly #needsReason: boolean
  #started = false
  #id = ''
  #ended = false
  #reason: unknown
  /** Usage arrived without choices after content, so the upstream counted a whole answer. */
  #counted = false
  #usage: Usage | undefined
  /** Parts of output so far. */
  #made = 0
  #tier: string | undefined
  /** Only one of text, refusal and reasoning is open at a time. */
  #open: Kind | undefined
  #part = ''
  #count = 0
  #details: Fields[] = []
  /** Reasoning arrived as plain text, so details only repeat it. */
  #hasPlainReasoning = false

  constructor(emit: Emit, request: ParsedRequest, features?: StreamFeatures) {
    const counting: Emit = (part) => {
      if (part.type !== 'start') this.#made++
      emit(part)
    }
    this.#emit = counting
    this.#request = request
    this.#calls = new StreamCalls(counting)
    this.#needsReason = features?.finishReason !== false
  }

  /** False while entries of `reasoning_details` collect text. */
  get forgetsText(): boolean {
    return this.#details.length === 0
  }

  get finished(): boolean {
    return this.failure === undefined && (this.#ended || this.#isProven)
  }

  get #isProven(): boolean {
    return this.#reason !== undefined || this.#counted
  }

  get #hasContent(): boolean {
    return this.#count > 0 || this.#calls.any
  }

  event(event: string, data: string): void {
    if (this.done || this.failure !== undefined) return
    try {
      this.#read(event, data)
    } catch (error) {
      this.failure = unreadable(error)
    }
  }

  end(): void {
    if (this.#ended || !this.finished) return
    try {
      this.#finish()
    } catch (error) {
      this.failure = unreadable(error)
    }
  }

  #read(event: string, data: string): void {
    if (data.length <= MAX_DONE) {
      const word = data.trim()
      if (word === '') return
      if (word === '[DONE]') {
        this.done = true
        // A stream without any choice is not an answer.
        if (this.#started) this.#endAtDone()
        return
      }
    }
    const chunk = tryParse(data)
    // Chunks have no name: a named event that is not an object is the upstream's own noise.
    if (!isRecord(chunk) && event !== '' && event !== 'message' && event !== 'error') return
    if (event === 'error' || !isRecord(chunk) || chunk.error) {
      const detail = event === 'error' || isRecord(chunk) ? 'error_event' : 'bad_event'
      this.failure = readFailure(chunk, this.#request, detail)
      return
    }
    this.#chunk(chunk)
  }

  #chunk(chunk: Fields): void {
    const usage = chunk.usage ? readUsage(chunk.usage) : undefined
    const made = this.#made
    this.#choices(chunk)
    // Some servers send a usage of the prompt alone with the first chunk: it does not cover output that comes later.
    if (usage !== undefined) this.#usage = usage
    else if (this.#made > made) this.#usage = undefined
  }

  #choices(chunk: Fields): void {
    if (typeof chunk.service_tier === 'string') this.#tier = chunk.service_tier
    if (!Array.isArray(chunk.choices) || chunk.choices.length === 0) {
      if (isRecord(chunk.usage) && this.#hasContent) this.#counted = true
      return
    }
    for (const choice of chunk.choices) {
      if (!isRecord(choice) || (choice.index !== 0 && choice.index !== undefined && choice.index !== null))
        continue
      if (choice.error || isFailure(choice.finish_reason)) {
        this.failure = readFailure(choice, this.#request, 'error_event')
        return
      }
      if (!this.#started) this.#start(chunk)
      this.#counted = false
      if (isRecord(choice.delta)) this.#delta(choice.delta, choice.logprobs)
      const reason = choice.finish_reason
      if (isText(reason)) this.#reason = reason
    }
  }

  #start(chunk: Fields): void {
    this.#started = true
    this.#id = textOf(chunk.id)
    this.#emit({ type: 'start' })
  }

  #delta(delta: Fields, logprobs: unknown): void {
    const { content, tool_calls: calls } = delta
    const thought = delta.reasoning_content || delta.reasoning
    if (isText(thought)) {
      this.#hasPlainReasoning = true
      this.#write('reasoning', thought)
    }
    if (Array.isArray(delta.reasoning_details)) this.#detail(delta.reasoning_details)
    if (typeof content === 'string') {
      if (content !== '') this.#write('text', content, logprobs)
    } else if (content) {
      for (const { type, text } of readPieces(content)) this.#write(type, text)
    }
    if (isText(delta.refusal)) this.#write('refusal', delta.refusal)
    if (Array.isArray(delta.annotations) && delta.annotations.length > 0) this.#annotate(delta.annotations)
    if (delta.images) this.#images(delta.images)
    if (calls) for (const call of contentList(calls)) if (isRecord(call)) this.#call(call)
    if (isRecord(delta.function_call)) this.#call({ index: 0, function: delta.function_call })
  }

  #write(kind: Kind, text: string, logprobs?: unknown): void {
    if (this.#open !== kind) this.#openPart(kind)
    const id = this.#part
    if (kind === 'reasoning') {
      this.#emit({ type: 'reasoning-delta', id, text, paragraph: 0 })
    } else if (kind === 'refusal') {
      this.#emit({ type: 'refusal-delta', id, text })
    } else if (isRecord(logprobs) && Array.isArray(logprobs.content)) {
      this.#emit({ type: 'text-delta', id, text, logprobs: logprobs.content })
    } else {
      this.#emit({ type: 'text-delta', id, text })
    }
  }

  #detail(list: unknown[]): void {
    const entries = list.filter(isRecord)
    if (!this.#hasPlainReasoning) {
      for (const entry of entries) for (const text of detailText(entry)) this.#write('reasoning', text)
    }
    if (entries.length === 0) return
    if (this.#open !== 'reasoning') {
      // Such entries only repeat a text that has ended.
      if (detailsCarrier(entries) === undefined) return
      this.#openPart('reasoning')
    }
    addDetails(this.#details, entries)
  }

  #annotate(list: unknown[]): void {
    if (this.#open !== 'text') this.#openPart('text')
    for (const annotation of readAnnotations(list))
      this.#emit({ type: 'annotation', id: this.#part, annotation })
  }

  #images(list: unknown): void {
    for (const part of readImages(list)) {
      this.#closePart()
      this.#emit({ type: 'whole', id: `part-${this.#count++}`, part })
    }
  }

  #call(call: Fields): void {
    this.#closePart()
    this.#calls.delta(call)
  }

  #openPart(kind: Kind): void {
    this.#closePart()
    this.#open = kind
    this.#part = `part-${this.#count++}`
    this.#emit({ type: `${kind}-start`, id: this.#part })
  }

  #closePart(): void {
    const kind = this.#open
    if (kind === undefined) return
    this.#open = undefined
    const carrier = kind === 'reasoning' ? detailsCarrier(this.#details) : undefined
    this.#details = []
    if (carrier === undefined) this.#emit({ type: `${kind}-end`, id: this.#part })
    else this.#emit({ type: 'reasoning-end', id: this.#part, carrier })
  }

  #endAtDone(): void {
    if (this.#isProven || (!this.#needsReason && this.#hasContent)) this.#finish()
    else this.failure = { class: 'transient', detail: 'no_finish_reason' }
  }

  #finish(): void {
    this.#closePart()
    if (!this.#calls.end(this.#id)) {
      this.failure = { class: 'unknown', detail: 'nameless_tool_call' }
      return
    }
    this.#ended = true
    this.#emit({
      type: 'finish',
      finish: readFinish(this.#reason, this.#calls.any),
      ...(this.#usage && { usage: this.#usage }),
      ...(this.#tier !== undefined && { tier: this.#tier }),
    })
  }
}
