/** Writes a whole answer as a response. */
import type { ClientView } from '../../../core/dialect.ts'
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
  shapeOf,
  wholeItem,
  writeContent,
} from './item-write.ts'

export function encodeAnswer(answer: ModelAnswer, client: ClientView): object {
  const { parts, finish, ext } = answer
  const explanation = explanationOf(
    finish,
    parts.some((part) => part.type === 'refusal'),
  )
  const told: AssistantPart[] =
    explanation === undefined ? parts : [...parts, { type: 'refusal', text: explanation }]
  const items = new ItemWriter(client)
  for (const part of told) {
    const link = linkText(part, client)
    items.add(link === undefined ? part : { type: 'text', text: link })
  }
  if (isCut(finish)) items.cut()
  return new ResponseWriter(client, answer, ext).finished(writeFinish(finish), items.output, answer, ext)
}

/** Of an item that is not whole. */
const CUT = { status: 'incomplete' }

class ItemWriter {
  readonly output: Fields[] = []
  readonly #client: ClientView
  /** Content of the last item, if that is a message. */
  #content: unknown[] | undefined
  /** The last item was made here, not by the upstream. */
  #isFresh = false

  constructor(client: ClientView) {
    this.#client = client
  }

  add(part: AssistantPart): void {
    const { item: own, joins, empty } = shapeOf(part.ext)
    const index = this.output.length
    if (isContent(part)) {
      if (this.#content === undefined || own !== undefined) {
        this.#content = []
        this.#push({ ...messageItem(index, own, this.#client), content: this.#content }, own)
      }
      if (empty !== true) this.#content.push(writeContent(part, this.#client))
      return
    }
    if (part.type === 'reasoning') {
      const texts = reasoningTexts(part.texts, part.raw === true)
      const carrier = carrierFields(part.carrier, this.#client)
      const last = this.output.at(-1)
      if (joins === true && last?.type === 'reasoning') {
        Object.assign(last, texts, carrier)
        return
      }
      const fields = itemFields('reasoning', index, own, this.#client)
      this.#push({ ...(own === undefined && { summary: [] }), ...fields, ...texts, ...carrier }, own)
    } else if (part.type === 'tool-call') {
      if (part.carrier !== undefined) lose(this.#client, 'reasoning.state')
      const fields = itemFields(callType(part), index, own, this.#client)
      const input = part.cut ? part.input : inputOf(part.kind, part.input, own)
      this.#push({ ...fields, ...callFields(part, input), ...(part.cut && CUT) }, own)
    } else {
      const item = wholeItem(part, index, this.#client)
      if (item !== undefined) this.#push(item, item)
    }
  }

  /** The answer ends in the middle of its last item. */
  cut(): void {
    const last = this.output.at(-1)
    if (this.#isFresh && last !== undefined && 'status' in last) last.status = 'incomplete'
  }

  /** `own`: fields that came from the upstream, if any. */
  #push(item: Fields, own: Fields | undefined): void {
    if (item.type !== 'message') this.#content = undefined
    this.#isFresh = own === undefined
    this.output.push(item)
  }
}
