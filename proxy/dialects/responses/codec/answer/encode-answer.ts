/** Writes a whole answer as a response. */
import type { ClientView } from '../../../core/codec.ts'
import type { Fields } from '../../../core/json/value.ts'
import type { AssistantPart, ModelAnswer } from '../../../core/neutral/types.ts'
import { isCut, writeFinish } from './answer-finish.ts'
import { ResponseWriter } from './answer-object.ts'
import {
  callFields,
  callType,
  carrierFields,
  explanationOf,
  inputOf,
  isContent,
  itemFields,
  linkText,
  lose,
  messageItem,
  reasoningTexts,
  wholeItem,
  writeContent,
} from './encode-item.ts'

export function encodeAnswer(answer: ModelAnswer, client: ClientView): object {
  const { parts, finish } = answer
  const explanation = explanationOf(
    finish,
    parts.some((part) => part.type === 'refusal'),
  )
  const allParts: AssistantPart[] =
    explanation === undefined ? parts : [...parts, { type: 'refusal', text: explanation }]
  const items = new ItemWriter(client)
  for (const part of allParts) {
    const link = linkText(part, client)
    items.add(link === undefined ? part : { type: 'text', text: link })
  }
  if (isCut(finish)) items.cut()
  return new ResponseWriter(client).finished(writeFinish(finish), items.output, answer)
}

const CUT = { status: 'incomplete' }

class ItemWriter {
  readonly output: Fields[] = []
  readonly #client: ClientView
  /** The content of the last item, if that is a message. */
  #content: unknown[] | undefined

  constructor(client: ClientView) {
    this.#client = client
  }

  add(part: AssistantPart): void {
    const index = this.output.length
    if (isContent(part)) {
      if (this.#content === undefined) {
        this.#content = []
        this.output.push({ ...messageItem(index, this.#client), content: this.#content })
      }
      this.#content.push(writeContent(part, this.#client))
      return
    }
    if (part.type === 'reasoning') {
      const texts = reasoningTexts(part.texts, part.raw === true)
      const carrier = carrierFields(part.carrier, this.#client)
      const fields = itemFields('reasoning', index, this.#client)
      this.#push({ summary: [], ...fields, ...texts, ...carrier })
    } else if (part.type === 'tool-call') {
      if (part.carrier !== undefined) lose(this.#client, 'reasoning.state')
      const fields = itemFields(callType(part), index, this.#client)
      const input = part.cut ? part.input : inputOf(part.kind, part.input)
      this.#push({ ...fields, ...callFields(part, input), ...(part.cut && CUT) })
    } else {
      const item = wholeItem(part, index, this.#client)
      if (item !== undefined) this.#push(item)
    }
  }

  /** Marks the last item as cut. */
  cut(): void {
    const last = this.output.at(-1)
    if (last !== undefined && 'status' in last) last.status = 'incomplete'
  }

  /** Adds an item other than a message. */
  #push(item: Fields): void {
    this.#content = undefined
    this.output.push(item)
  }
}
