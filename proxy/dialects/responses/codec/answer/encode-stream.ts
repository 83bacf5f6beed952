/** Writes an answer as the events of a response, with the same items and response as encodeAnswer(). */
import type { GatewayError } from '../../../../errors.ts'
import type { ClientView, StreamEncoder } from '../../../core/codec.ts'
import type { Fields } from '../../../core/json/value.ts'
import type { Carrier, Finish, PartOf, StreamPart } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'
import { EventWriter } from './answer-events.ts'
import { isCut, writeFinish } from './answer-finish.ts'
import { ResponseWriter } from './answer-object.ts'
import { callItem, explanationOf, linkText, messageItem, reasoningItem, wholeItem } from './encode-item.ts'
import { CallWriter, ContentWriter, type PartWriter, ReasoningWriter } from './encode-item-stream.ts'
import { begun, Draft } from './item-draft.ts'

export class ResponsesEncoder implements StreamEncoder {
  readonly #client: ClientView
  readonly #writer = new EventWriter()
  readonly #parts = new Map<string, PartWriter>()
  readonly #drafts: (Draft | undefined)[] = []
  readonly #output: (wire.OutputItem | Fields)[] = []
  /** The newest item. It stays open until another one follows, because the answer may be cut in it. */
  #last: Draft | undefined
  #response: ResponseWriter | undefined
  #hasRefusal = false
  #over = false

  constructor(client: ClientView) {
    this.#client = client
  }

  take(): string {
    return this.#writer.take()
  }

  part(part: StreamPart): void {
    if (this.#over) return
    switch (part.type) {
      case 'text-delta':
        this.#parts.get(part.id)?.delta(part.text, 0, part.logprobs)
        break
      case 'reasoning-delta':
        this.#parts.get(part.id)?.delta(part.text, part.paragraph, undefined)
        break
      case 'refusal-delta':
      case 'tool-call-delta':
        this.#parts.get(part.id)?.delta(part.text, 0, undefined)
        break
      case 'annotation':
        this.#parts.get(part.id)?.annotation(part.annotation)
        break
      case 'text-end':
      case 'refusal-end':
        this.#end(part.id, undefined)
        break
      case 'tool-call-end':
        if (part.cut) this.#parts.get(part.id)?.cut()
        this.#end(part.id, part.carrier)
        break
      case 'reasoning-end':
        this.#end(part.id, part.carrier)
        break
      case 'start':
        this.#begin()
        break
      case 'finish':
        this.#finish(part)
        break
      case 'partial-image':
        break
      default:
        this.#open(part)
    }
  }

  /** A failed response contains only finished items. */
  error(error: GatewayError): string {
    this.#over = true
    const { code, message, param } = error
    if (this.#response === undefined) {
      this.#writer.event('error', { code, message, param: param ?? null })
    } else {
      const output = this.#output.filter((item) => item !== undefined)
      this.#writer.event('response.failed', { response: this.#response.failed({ code, message }, output) })
    }
    return this.take()
  }

  #begin(): ResponseWriter {
    if (this.#response !== undefined) return this.#response
    this.#response = new ResponseWriter(this.#client)
    const response = this.#response.inProgress()
    this.#writer.event('response.created', { response })
    this.#writer.event('response.in_progress', { response })
    return this.#response
  }

  #open(
    part: PartOf<'text-start' | 'refusal-start' | 'reasoning-start' | 'tool-call-start' | 'whole'>,
  ): void {
    this.#begin()
    switch (part.type) {
      case 'text-start':
      case 'refusal-start':
        this.#openContent(part.id, part.type === 'text-start')
        break
      case 'reasoning-start':
        this.#openReasoning(part)
        break
      case 'tool-call-start':
        this.#openCall(part)
        break
      case 'whole':
        this.#whole(part)
    }
  }

  #openContent(id: string, isText: boolean): void {
    if (!isText) this.#hasRefusal = true
    const last = this.#last
    const draft = isMessage(last) ? last : this.#add(messageItem(this.#drafts.length, this.#client))
    this.#parts.set(id, new ContentWriter(draft, this.#writer, this.#client, isText))
  }

  #openReasoning({ id, raw = false }: PartOf<'reasoning-start'>): void {
    const item = reasoningItem({ texts: [] }, this.#drafts.length, this.#client)
    const draft = this.#add(raw ? { ...item, content: [] } : item)
    this.#parts.set(id, new ReasoningWriter(draft, this.#writer, this.#client, raw))
  }

  #openCall({ type: _type, id, ...call }: PartOf<'tool-call-start'>): void {
    const draft = this.#add(callItem(call, '', this.#drafts.length, this.#client))
    this.#parts.set(id, new CallWriter(draft, this.#writer, this.#client, call))
  }

  #whole({ id, part }: PartOf<'whole'>): void {
    const link = linkText(part, this.#client)
    if (link !== undefined) {
      this.#openContent(id, true)
      this.#parts.get(id)?.delta(link, 0, undefined)
      this.#end(id, undefined)
      return
    }
    const item = wholeItem(part, this.#drafts.length, this.#client)
    if (item === undefined) return
    this.#closeLast(false)
    const index = this.#drafts.push(undefined) - 1
    this.#last = undefined
    this.#writer.event('response.output_item.added', { output_index: index, item: begun(item) })
    this.#writer.event('response.output_item.done', { output_index: index, item })
    this.#output[index] = item
  }

  #add<Item extends wire.DraftItem>(item: Item): Draft<Item> {
    this.#closeLast(false)
    const draft = new Draft(item, this.#drafts.length)
    this.#drafts.push(draft)
    this.#last = draft
    draft.announce(this.#writer)
    return draft
  }

  #end(id: string, carrier: Carrier | undefined): void {
    const part = this.#parts.get(id)
    if (part === undefined) return
    this.#parts.delete(id)
    part.end(carrier)
    if (part.draft !== this.#last) this.#close(part.draft, false)
  }

  #closeLast(cut: boolean): void {
    if (this.#last !== undefined) this.#close(this.#last, cut)
  }

  #close(draft: Draft, cut: boolean): void {
    if (!draft.done && draft.open === 0) this.#output[draft.index] = draft.finish(this.#writer, cut)
  }

  #finish(part: PartOf<'finish'>): void {
    const { finish } = part
    const response = this.#begin()
    for (const id of [...this.#parts.keys()]) this.#end(id, undefined)
    this.#explain(finish)
    this.#closeLast(isCut(finish))
    const ending = writeFinish(finish)
    const type = ending.status === 'incomplete' ? 'response.incomplete' : 'response.completed'
    this.#writer.event(type, { response: response.finished(ending, this.#output, part) })
    this.#over = true
  }

  #explain(finish: Finish): void {
    const explanation = explanationOf(finish, this.#hasRefusal)
    if (explanation === undefined) return
    this.#openContent('', false)
    this.#parts.get('')?.delta(explanation, 0, undefined)
    this.#end('', undefined)
  }
}

function isMessage(draft: Draft | undefined): draft is Draft<wire.OutputMessage> {
  return draft?.item.type === 'message'
}
