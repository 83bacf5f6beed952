/** Reads the stream of a message, and emits content blocks as parts while they arrive. */

import { present } from '../../../../../kit/present.ts'
import type { UpstreamFailure } from '../../../../errors.ts'
import type { StreamDecoder } from '../../../core/codec.ts'
import { readFailure } from '../../../core/errors/read.ts'
import { unreadable } from '../../../core/errors/unreadable.ts'
import { isRecord, listOf, tryParse } from '../../../core/json/value.ts'
import type { Emit } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { mergeUsage, readTier, readUsage } from '../../usage.ts'
import { isNamelessCall } from './block-read.ts'
import { OpenBlocks } from './block-read-stream.ts'
import { readFinish } from './stop-reason.ts'

/** Events that carry the answer; '' is an event without a name. Content is lost if one of them is not JSON. */
const OF_ANSWER = new Set([
  '',
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
])

export class MessagesStreamDecoder implements StreamDecoder {
  readonly forgetsText = true
  failure: UpstreamFailure | undefined
  done = false
  readonly #emit: Emit
  readonly #request: ParsedRequest
  readonly #blocks: OpenBlocks
  #begun = false
  /** The upstream's objects in message_start and each message_delta, merged. */
  #usage: unknown
  #stop: Record<string, unknown> = {}

  constructor(emit: Emit, request: ParsedRequest) {
    this.#emit = emit
    this.#request = request
    this.#blocks = new OpenBlocks(emit)
  }

  /** Only message_stop ends an answer. */
  get finished(): boolean {
    return this.done
  }

  event(event: string, data: string): void {
    if (this.done || this.failure !== undefined) return
    const value = tryParse(data)
    if (!isRecord(value)) {
      this.#garbled(event, data)
      return
    }
    const type = typeof value.type === 'string' ? value.type : event
    if (type === 'error' || value.error) this.failure = readFailure(value, this.#request, 'error_event')
    else {
      try {
        this.#read(type, value)
      } catch (cause) {
        this.failure = unreadable(cause)
      }
    }
  }

  end(): void {}

  #read(type: string, value: Record<string, unknown>): void {
    switch (type) {
      case 'content_block_delta':
        this.#begin()
        if (isRecord(value.delta)) this.#blocks.delta(value.index, value.delta)
        break
      case 'message_start':
        this.#begin(value.message)
        break
      case 'content_block_start':
        this.#begin()
        if (isRecord(value.content_block)) this.#startBlock(value.index, value.content_block)
        break
      case 'content_block_stop':
        this.#blocks.stop(value.index)
        break
      case 'message_delta':
        this.#begin()
        this.#usage = mergeUsage(this.#usage, value.usage)
        if (isRecord(value.delta)) this.#stop = { ...this.#stop, ...value.delta }
        break
      case 'message_stop':
        this.#begin()
        this.#finish()
        break
    }
  }

  #garbled(event: string, data: string): void {
    if (event === 'error') this.failure = readFailure(undefined, this.#request, 'error_event')
    else if (OF_ANSWER.has(event) && data !== '' && data.trim() !== '[DONE]') {
      this.failure = { class: 'transient', detail: 'garbled_event' }
    }
  }

  #begin(given?: unknown): void {
    if (this.#begun) return
    this.#begun = true
    const message = isRecord(given) ? given : {}
    this.#usage = message.usage
    this.#emit({ type: 'start', ...present({ usage: readUsage(message.usage) }) })
    // A call made by one of the vendor's tools arrives whole in message_start.
    for (const block of listOf(message.content).filter(isRecord)) {
      this.#startBlock('first', block)
      this.#blocks.stop('first')
    }
  }

  #startBlock(index: unknown, block: Record<string, unknown>): void {
    if (isNamelessCall(block)) {
      this.failure = { class: 'unknown', detail: 'nameless_tool_call' }
      return
    }
    this.#blocks.start(index, block)
  }

  #finish(): void {
    this.#blocks.stopAll()
    this.#emit({
      type: 'finish',
      finish: readFinish(this.#stop, this.#blocks.hasCalls),
      ...present({ usage: readUsage(this.#usage), tier: readTier(this.#usage) }),
    })
    this.done = true
  }
}
