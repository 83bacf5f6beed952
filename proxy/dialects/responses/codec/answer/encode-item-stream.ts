/** Writes the events of one part of an answer and adds the part to its item. */
import type { ClientView } from '../../../core/codec.ts'
import type { Annotation, Carrier } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'
import { deltaHead, type EventWriter } from './answer-events.ts'
import { type Call, callItem, inputOf, reasoningItem, refusalContent, textContent } from './encode-item.ts'
import { writeAnnotation } from './item-annotations.ts'
import type { Draft } from './item-draft.ts'

export abstract class PartWriter<Item extends wire.DraftItem = wire.DraftItem> {
  readonly draft: Draft<Item>
  protected readonly writer: EventWriter
  protected readonly client: ClientView
  /** The first half of a surrogate pair, until the next delta brings the other half. */
  #half = ''

  constructor(draft: Draft<Item>, writer: EventWriter, client: ClientView) {
    this.draft = draft
    this.writer = writer
    this.client = client
    draft.open++
  }

  delta(given: string, paragraph: number, logprobs: unknown[] | undefined): void {
    const text = this.#half + given
    const isHalved = isHighSurrogate(text.charCodeAt(text.length - 1))
    this.#half = isHalved ? text.slice(-1) : ''
    const whole = isHalved ? text.slice(0, -1) : text
    if (whole !== '' || !isHalved || logprobs !== undefined)
      this.write(whole.toWellFormed(), paragraph, logprobs)
  }

  annotation(_annotation: Annotation): void {}

  /** The answer ended in this part. Called before end(). */
  cut(): void {
    this.draft.cut = true
  }

  end(carrier: Carrier | undefined): void {
    if (this.#half !== '') this.write(this.#half.toWellFormed(), 0, undefined)
    this.close(carrier)
    this.draft.open--
  }

  protected abstract write(text: string, paragraph: number, logprobs: unknown[] | undefined): void

  protected abstract close(carrier: Carrier | undefined): void
}

/** Writes a content part of a message: text or a refusal. */
export class ContentWriter extends PartWriter<wire.OutputMessage> {
  readonly #isText: boolean
  readonly #place: { item_id: string; output_index: number; content_index: number }
  readonly #head: string
  #text = ''
  readonly #logprobs: unknown[] = []
  readonly #annotations: wire.OutputText['annotations'] = []

  constructor(draft: Draft<wire.OutputMessage>, writer: EventWriter, client: ClientView, isText: boolean) {
    super(draft, writer, client)
    this.#isText = isText
    const part = this.#part()
    this.#place = { ...draft.place, content_index: draft.item.content.push(part) - 1 }
    this.#head = isText
      ? deltaHead('response.output_text.delta', { ...this.#place, logprobs: [] })
      : deltaHead('response.refusal.delta', this.#place)
    writer.event('response.content_part.added', { ...this.#place, part })
  }

  protected write(text: string, _paragraph: number, logprobs: unknown[] | undefined): void {
    this.#text += text
    if (logprobs === undefined || !this.#isText) {
      this.writer.delta(this.#head, text)
      return
    }
    for (const token of logprobs) this.#logprobs.push(token)
    this.writer.event('response.output_text.delta', { ...this.#place, delta: text, logprobs })
  }

  override annotation(given: Annotation): void {
    const annotation = writeAnnotation(given)
    if (annotation === undefined) {
      this.client.losses.lose('annotations')
      return
    }
    this.writer.event('response.output_text.annotation.added', {
      ...this.#place,
      annotation_index: this.#annotations.length,
      annotation,
    })
    this.#annotations.push(annotation)
  }

  protected close(): void {
    const text = this.#text
    const part = this.#part()
    if (this.#isText) {
      this.writer.event('response.output_text.done', { ...this.#place, text, logprobs: this.#logprobs })
    } else {
      this.writer.event('response.refusal.done', { ...this.#place, refusal: text })
    }
    this.writer.event('response.content_part.done', { ...this.#place, part })
    this.draft.item.content[this.#place.content_index] = part
  }

  #part(): wire.OutputPart {
    return this.#isText
      ? textContent(this.#text, this.#annotations, this.#logprobs)
      : refusalContent(this.#text)
  }
}

/** Writes reasoning paragraph by paragraph. `raw`: the chain of thought, not a summary. */
export class ReasoningWriter extends PartWriter<wire.OutputReasoning> {
  readonly #raw: boolean
  readonly #texts: string[] = []
  #head = ''
  #text = ''

  constructor(draft: Draft<wire.OutputReasoning>, writer: EventWriter, client: ClientView, raw: boolean) {
    super(draft, writer, client)
    this.#raw = raw
  }

  protected write(text: string, paragraph: number): void {
    while (this.#head === '' || this.#texts.length < paragraph) this.#next()
    this.#text += text
    this.writer.delta(this.#head, text)
  }

  #next(): void {
    if (this.#head !== '') this.#endParagraph()
    const { writer, draft } = this
    const index = this.#texts.length
    if (this.#raw) {
      const place = { ...draft.place, content_index: index }
      this.#head = deltaHead('response.reasoning_text.delta', place)
      writer.event('response.content_part.added', { ...place, part: { type: 'reasoning_text', text: '' } })
    } else {
      const place = { ...draft.place, summary_index: index }
      const part = { type: 'summary_text', text: '' } as const
      this.#head = deltaHead('response.reasoning_summary_text.delta', place)
      writer.event('response.reasoning_summary_part.added', { ...place, part })
    }
  }

  #endParagraph(): void {
    const { writer, draft } = this
    const text = this.#text
    this.#text = ''
    const index = this.#texts.push(text) - 1
    if (this.#raw) {
      const place = { ...draft.place, content_index: index }
      writer.event('response.reasoning_text.done', { ...place, text })
      writer.event('response.content_part.done', { ...place, part: { type: 'reasoning_text', text } })
    } else {
      const place = { ...draft.place, summary_index: index }
      writer.event('response.reasoning_summary_text.done', { ...place, text })
      writer.event('response.reasoning_summary_part.done', { ...place, part: { type: 'summary_text', text } })
    }
  }

  protected close(carrier: Carrier | undefined): void {
    if (this.#head !== '') this.#endParagraph()
    const part = { texts: this.#texts, raw: this.#raw, ...(carrier && { carrier }) }
    this.draft.item = reasoningItem(part, this.draft.index, this.client)
  }
}

/** Writes a call. A search for tools has no events for its arguments; only the finished item contains them. */
export class CallWriter extends PartWriter<wire.OutputCall> {
  readonly #call: Call
  readonly #head: string
  #input = ''

  constructor(draft: Draft<wire.OutputCall>, writer: EventWriter, client: ClientView, call: Call) {
    super(draft, writer, client)
    this.#call = call
    this.#head =
      call.kind === 'custom'
        ? deltaHead('response.custom_tool_call_input.delta', draft.place)
        : deltaHead('response.function_call_arguments.delta', draft.place)
  }

  protected write(text: string): void {
    this.#input += text
    if (!this.#call.search) this.writer.delta(this.#head, text)
  }

  protected close(carrier: Carrier | undefined): void {
    if (carrier !== undefined) this.client.losses.lose('reasoning.state')
    const { draft, client, writer } = this
    const { kind, name, search } = this.#call
    const input = draft.cut ? this.#input : inputOf(kind, this.#input)
    draft.item = callItem(this.#call, input, draft.index, client)
    if (draft.cut || search) return
    if (input !== this.#input) writer.delta(this.#head, input)
    if (kind === 'custom') writer.event('response.custom_tool_call_input.done', { ...draft.place, input })
    else writer.event('response.function_call_arguments.done', { ...draft.place, name, arguments: input })
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
