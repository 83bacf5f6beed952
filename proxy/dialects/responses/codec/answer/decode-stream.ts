/**
 * Reads the events of a response. items.ts assigns events to items. Content that is missing from the deltas comes from
 * the `.done` events and the last event.
 */

import { present } from '../../../../../kit/present.ts'
import type { UpstreamFailure } from '../../../../errors.ts'
import type { StreamDecoder } from '../../../core/codec.ts'
import { readFailure } from '../../../core/errors/read.ts'
import { contentText, inputText, unreadable } from '../../../core/errors/unreadable.ts'
import { type Fields, isRecord, listOf, textOf, tryParse } from '../../../core/json/value.ts'
import type { Emit } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { usageOf } from '../../usage.ts'
import { readFinish } from './answer-finish.ts'
import { isFailed } from './decode-answer.ts'
import { isMessagePart } from './decode-item.ts'
import { CallDecoder, HostedDecoder, type ItemDecoder } from './decode-item-stream.ts'
import { MessageDecoder } from './decode-message-stream.ts'
import { ReasoningDecoder } from './decode-reasoning-stream.ts'
import { ItemQueue } from './item-queue.ts'
import { Items } from './items.ts'

export class ResponsesDecoder implements StreamDecoder {
  failure: UpstreamFailure | undefined
  finished = false
  readonly #emit: Emit
  readonly #request: ParsedRequest
  readonly #queue: ItemQueue
  readonly #items = new Items()
  #started = false

  constructor(emit: Emit, request: ParsedRequest) {
    this.#emit = emit
    this.#request = request
    this.#queue = new ItemQueue(emit)
  }

  get done(): boolean {
    return this.finished || this.failure !== undefined
  }

  /** The finish was emitted with the terminal event; a stream without one was cut. */
  end(): void {}

  event(name: string, data: string): void {
    if (this.done) return
    const event = tryParse(data)
    if (!isRecord(event)) {
      // Half an object means that a piece of the answer is lost; anything else that is not JSON is noise.
      if (data.startsWith('{')) this.failure = { class: 'transient', detail: 'garbled_event' }
      return
    }
    try {
      this.#read(typeof event.type === 'string' ? event.type : name, event)
    } catch (error) {
      this.failure = unreadable(error)
    }
  }

  #read(type: string, event: Fields): void {
    switch (type) {
      case 'response.output_text.delta':
        this.#message(event).delta(event.content_index, 'text', contentText(event.delta), event.logprobs)
        break
      case 'response.function_call_arguments.delta':
        this.#call(event, 'function_call')?.input(contentText(event.delta))
        break
      case 'response.custom_tool_call_input.delta':
        this.#call(event, 'custom_tool_call')?.input(contentText(event.delta))
        break
      case 'response.reasoning_summary_text.delta':
        this.#reasoning(event).delta(false, event.summary_index, contentText(event.delta))
        break
      case 'response.reasoning_text.delta':
      case 'response.reasoning.delta':
        this.#reasoning(event).delta(true, event.content_index, contentText(event.delta))
        break
      case 'response.refusal.delta':
        this.#message(event).delta(event.content_index, 'refusal', contentText(event.delta), undefined)
        break
      case 'response.output_text.annotation.added':
        this.#message(event).annotation(event.content_index, event.annotation)
        break
      case 'response.output_item.added':
        if (isRecord(event.item) && this.#items.findRepeated(event.item, event.output_index) === undefined)
          this.#open(event.item, event.output_index)
        break
      case 'response.output_item.done':
        if (isRecord(event.item)) this.#itemDone(event.item, event.output_index)
        break
      default:
        this.#readRare(type, event)
    }
  }

  #readRare(type: string, event: Fields): void {
    switch (type) {
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        this.#start()
        break
      case 'response.content_part.added':
        if (isMessagePart(event.part)) this.#message(event).partAdded(event.content_index, event.part)
        break
      case 'response.content_part.done':
        this.#partDone(event)
        break
      case 'response.output_text.done':
        this.#message(event).textDone(event.content_index, 'text', event.text, event.logprobs)
        break
      case 'response.refusal.done':
        this.#message(event).textDone(event.content_index, 'refusal', event.refusal)
        break
      case 'response.function_call_arguments.done':
        this.#call(event, 'function_call')?.inputDone(inputText(event.arguments))
        break
      case 'response.custom_tool_call_input.done':
        this.#call(event, 'custom_tool_call')?.inputDone(inputText(event.input))
        break
      case 'response.reasoning_summary_text.done':
        this.#reasoning(event).textDone(false, event.summary_index, contentText(event.text))
        break
      case 'response.reasoning_text.done':
      case 'response.reasoning.done':
        this.#reasoning(event).textDone(true, event.content_index, contentText(event.text))
        break
      case 'response.image_generation_call.partial_image':
        this.#partialImage(event)
        break
      case 'response.completed':
      case 'response.incomplete':
        this.#terminal(type, isRecord(event.response) ? event.response : {})
        break
      case 'response.failed':
      case 'response.cancelled':
        this.#fail(isRecord(event.response) ? event.response : event)
        break
      case 'error':
        this.#fail(event)
        break
      default:
        // All other events report progress; output_item.done has the whole item.
        if (event.type === undefined && event.error) this.#fail(event)
    }
  }

  #start(): void {
    if (!this.#started) this.#emit({ type: 'start' })
    this.#started = true
  }

  #open(item: Fields, index: unknown): ItemDecoder {
    this.#start()
    const decoder = decoderOf(item, String(this.#items.all.length), this.#queue)
    this.#items.add(decoder, index)
    return decoder
  }

  #itemDone(item: Fields, index: unknown): void {
    const known = this.#items.find(item.id, index, textOf(item.type))
    if (known?.done !== true) this.#finish(known ?? this.#open(item, index), item)
    else if (this.#items.findRepeated(item, index) === undefined) this.#finish(this.#open(item, index), item)
  }

  #finish(decoder: ItemDecoder, item: Fields): void {
    decoder.finish(item)
    if (decoder instanceof CallDecoder && decoder.nameless) {
      this.failure = { class: 'unknown', detail: 'nameless_tool_call' }
    }
  }

  #partDone(event: Fields): void {
    const { part } = event
    if (isMessagePart(part)) this.#message(event).partDone(event.content_index, part)
    else if (isRecord(part) && part.type === 'reasoning_text') {
      this.#reasoning(event).textDone(true, event.content_index, contentText(part.text))
    }
  }

  #item(event: Fields, type: string): ItemDecoder {
    const { item_id: id, output_index: index } = event
    return this.#items.find(id, index, type) ?? this.#open({ id, type }, index)
  }

  #message(event: Fields): MessageDecoder {
    const item = this.#item(event, 'message')
    if (item.isWaiting) this.#endReasoningBefore(item)
    if (item instanceof MessageDecoder) return item
    throw new TypeError('the item is not a message')
  }

  /** Some upstreams send the end of reasoning with the last event. Without this, the text after it would wait until then. */
  #endReasoningBefore(message: ItemDecoder): void {
    for (const item of this.#items.before(message)) {
      if (item instanceof ReasoningDecoder && item.hasBegun) item.finish(item.skeleton)
    }
  }

  #reasoning(event: Fields): ReasoningDecoder {
    const item = this.#item(event, 'reasoning')
    if (item instanceof ReasoningDecoder) return item
    throw new TypeError('the item is not reasoning')
  }

  /** Undefined for a call without output_item.added: its output_item.done has all of it. */
  #call(event: Fields, type: string): CallDecoder | undefined {
    const item = this.#items.find(event.item_id, event.output_index, type)
    return item instanceof CallDecoder ? item : undefined
  }

  #partialImage(event: Fields): void {
    const item = this.#items.find(event.item_id, event.output_index, 'image_generation_call')
    if (item instanceof HostedDecoder) item.partial(event)
  }

  #terminal(type: string, response: Fields): void {
    if (response.error || isFailed(response)) {
      this.#fail(response)
      return
    }
    this.#start()
    this.#finishItems(listOf(response.output).filter(isRecord))
    if (this.failure !== undefined) return
    const ended = type === 'response.incomplete' ? { ...response, status: 'incomplete' } : response
    this.finished = true
    this.#emit({
      type: 'finish',
      finish: readFinish(
        ended,
        this.#items.all.some((item) => item instanceof CallDecoder),
      ),
      ...present({ usage: usageOf(response) }),
      ...(typeof response.service_tier === 'string' && { tier: response.service_tier }),
    })
  }

  /** Finishes open items and adds the items that no event contained. */
  #finishItems(output: Fields[]): void {
    const matched = this.#items.match(output)
    output.forEach((item, i) => {
      const decoder = matched[i] ?? (typeof item.type === 'string' ? this.#open(item, undefined) : undefined)
      if (decoder !== undefined) this.#finish(decoder, item)
    })
    for (const item of this.#items.all) this.#finish(item, item.skeleton)
  }

  #fail(body: Fields): void {
    this.failure = readFailure(body, this.#request, 'error_event')
  }
}

function decoderOf(item: Fields, key: string, queue: ItemQueue): ItemDecoder {
  const type = textOf(item.type)
  const sink = queue.open()
  switch (type) {
    case 'message':
      return new MessageDecoder(item, type, key, sink)
    case 'reasoning':
      return new ReasoningDecoder(item, type, key, sink)
    case 'function_call':
    case 'custom_tool_call':
      return new CallDecoder(item, type, key, sink)
    default:
      return new HostedDecoder(item, type, key, sink)
  }
}
