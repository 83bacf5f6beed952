/** Writes the events of one part of an answer and adds the part to its item. */
import type { ClientView } from '../../../core/codec.ts'
import type { Fields } from '../../../core/json/value.ts'
import type { Annotation, Carrier } from '../../../core/neutral/types.ts'
import { deltaHead, type EventWriter } from './answer-events.ts'
import {
  callFields,
  carrierFields,
  inputOf,
  lose,
  reasoningTexts,
  refusalContent,
  textContent,
} from './encode-item.ts'
import { writeAnnotation } from './item-annotations.ts'
import type { Draft } from './item-draft.ts'

type Call = Parameters<typeof callFields>[0]

export interface PartWriter {
  readonly draft: Draft
  delta(text: string, paragraph: number, logprobs: unknown[] | undefined): void
  annotation(annotation: Annotation): void
  /** The answer ended in this part. Called before end(). */
  cut(): void
  end(carrier: Carrier | undefined): void
}

abstract class BaseWriter implements PartWriter {
  readonly draft: Draft
  protected readonly writer: EventWriter
  protected readonly client: ClientView
  /** The first half of a surrogate pair, until the next delta brings the other half. */
  #half = ''

  constructor(draft: Draft, writer: EventWriter, client: ClientView) {
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
export class ContentWriter extends BaseWriter {
  readonly #isText: boolean
  readonly #place: Fields
  readonly #head: string
  #text = ''
  readonly #logprobs: unknown[] = []
  readonly #annotations: Fields[] = []

  constructor(draft: Draft, writer: EventWriter, client: ClientView, isText: boolean) {
    super(draft, writer, client)
    this.#isText = isText
    this.#place = { ...draft.place, content_index: draft.contents++ }
    this.#head = isText
      ? deltaHead('response.output_text.delta', { ...this.#place, logprobs: [] })
      : deltaHead('response.refusal.delta', this.#place)
    const part = isText ? textContent('', [], []) : refusalContent('')
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
      lose(this.client, 'annotations')
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
    const part = this.#isText ? textContent(text, this.#annotations, this.#logprobs) : refusalContent(text)
    if (this.#isText) {
      this.writer.event('response.output_text.done', { ...this.#place, text, logprobs: this.#logprobs })
    } else {
      this.writer.event('response.refusal.done', { ...this.#place, refusal: text })
    }
    this.writer.event('response.content_part.done', { ...this.#place, part })
    addContent(this.draft, Number(this.#place.content_index), part)
  }
}

/** Writes reasoning paragraph by paragraph. `raw`: the chain of thought, not a summary. */
export class ReasoningWriter extends BaseWriter {
  readonly #raw: boolean
  readonly #texts: string[] = []
  #place: Fields = {}
  #head = ''
  #text = ''

  constructor(draft: Draft, writer: EventWriter, client: ClientView, raw: boolean) {
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
    const index = this.#texts.length
    const place = this.draft.place
    this.#place = this.#raw ? { ...place, content_index: index } : { ...place, summary_index: index }
    this.#head = deltaHead(this.#event('delta'), this.#place)
    this.writer.event(this.#partEvent('added'), { ...this.#place, part: this.#part('') })
  }

  #endParagraph(): void {
    const text = this.#text
    this.#text = ''
    this.#texts.push(text)
    this.writer.event(this.#event('done'), { ...this.#place, text })
    this.writer.event(this.#partEvent('done'), { ...this.#place, part: this.#part(text) })
  }

  #event(suffix: string): string {
    return this.#raw ? `response.reasoning_text.${suffix}` : `response.reasoning_summary_text.${suffix}`
  }

  #partEvent(suffix: string): string {
    return this.#raw ? `response.content_part.${suffix}` : `response.reasoning_summary_part.${suffix}`
  }

  #part(text: string): Fields {
    return { type: this.#raw ? 'reasoning_text' : 'summary_text', text }
  }

  protected close(carrier: Carrier | undefined): void {
    if (this.#head !== '') this.#endParagraph()
    Object.assign(
      this.draft.body,
      reasoningTexts(this.#texts, this.#raw),
      carrierFields(carrier, this.client),
    )
  }
}

export class CallWriter extends BaseWriter {
  readonly #call: Call
  readonly #events: string
  readonly #head: string
  #input = ''

  constructor(draft: Draft, writer: EventWriter, client: ClientView, call: Call) {
    super(draft, writer, client)
    this.#call = call
    this.#events =
      call.kind === 'custom' ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
    this.#head = deltaHead(`${this.#events}.delta`, draft.place)
  }

  protected write(text: string): void {
    this.#input += text
    this.writer.delta(this.#head, text)
  }

  protected close(carrier: Carrier | undefined): void {
    if (carrier !== undefined) lose(this.client, 'reasoning.state')
    const { kind, name } = this.#call
    if (this.draft.cut) {
      Object.assign(this.draft.body, callFields(this.#call, this.#input))
      return
    }
    const input = inputOf(kind, this.#input)
    if (input !== this.#input) this.writer.delta(this.#head, input)
    const whole = kind === 'custom' ? { input } : { name, arguments: input }
    this.writer.event(`${this.#events}.done`, { ...this.draft.place, ...whole })
    Object.assign(this.draft.body, callFields(this.#call, input))
  }
}

/** Writes a search for tools. It has no events for its arguments; only the finished item contains them. */
export class SearchWriter extends BaseWriter {
  readonly #call: Call
  #input = ''

  constructor(draft: Draft, writer: EventWriter, client: ClientView, call: Call) {
    super(draft, writer, client)
    this.#call = call
  }

  protected write(text: string): void {
    this.#input += text
  }

  protected close(carrier: Carrier | undefined): void {
    if (carrier !== undefined) lose(this.client, 'reasoning.state')
    Object.assign(this.draft.body, callFields(this.#call, this.#input))
  }
}

function addContent(draft: Draft, index: number, part: Fields): void {
  const content: unknown[] = Array.isArray(draft.body.content) ? draft.body.content : []
  content[index] = part
  draft.body.content = content
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
