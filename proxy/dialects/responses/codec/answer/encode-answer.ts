/** Writes a whole answer as a response. */
import type { ClientView } from '../../../core/codec.ts'
import type { Fields } from '../../../core/json/value.ts'
import type { AssistantPart, ModelAnswer } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'
import { isCut, writeFinish } from './answer-finish.ts'
import { ResponseWriter } from './answer-object.ts'
import {
  callItem,
  explanationOf,
  inputOf,
  isContent,
  linkText,
  messageItem,
  reasoningItem,
  wholeItem,
  writeContent,
} from './encode-item.ts'

export function encodeAnswer(answer: ModelAnswer, client: ClientView): wire.Response {
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

class ItemWriter {
  readonly output: (wire.OutputItem | Fields)[] = []
  readonly #client: ClientView
  /** The last item, unless it is one that arrives whole. */
  #last: wire.DraftItem | undefined

  constructor(client: ClientView) {
    this.#client = client
  }

  add(part: AssistantPart): void {
    const index = this.output.length
    if (isContent(part)) {
      const message =
        this.#last?.type === 'message' ? this.#last : this.#push(messageItem(index, this.#client))
      message.content.push(writeContent(part, this.#client))
    } else if (part.type === 'reasoning') this.#push(reasoningItem(part, index, this.#client))
    else if (part.type === 'tool-call') {
      if (part.carrier !== undefined) this.#client.losses.lose('reasoning.state')
      const input = part.cut ? part.input : inputOf(part.kind, part.input)
      const item = this.#push(callItem(part, input, index, this.#client))
      if (part.cut) item.status = 'incomplete'
    } else {
      const item = wholeItem(part, index, this.#client)
      if (item === undefined) return
      this.#last = undefined
      this.output.push(item)
    }
  }

  /** Marks the last item as cut. */
  cut(): void {
    if (this.#last !== undefined && 'status' in this.#last) this.#last.status = 'incomplete'
  }

  #push<Item extends wire.DraftItem>(item: Item): Item {
    this.#last = item
    this.output.push(item)
    return item
  }
}
