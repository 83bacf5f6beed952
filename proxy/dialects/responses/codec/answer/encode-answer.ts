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
  lose,
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
  /** The last item, if that is a message. */
  #message: wire.OutputMessage | undefined

  constructor(client: ClientView) {
    this.#client = client
  }

  add(part: AssistantPart): void {
    const index = this.output.length
    if (isContent(part)) {
      if (this.#message === undefined) {
        const message = messageItem(index, this.#client)
        this.#push(message)
        this.#message = message
      }
      this.#message.content.push(writeContent(part, this.#client))
    } else if (part.type === 'reasoning') this.#push(reasoningItem(part, index, this.#client))
    else if (part.type === 'tool-call') {
      if (part.carrier !== undefined) lose(this.#client, 'reasoning.state')
      const input = part.cut ? part.input : inputOf(part.kind, part.input)
      const item = callItem(part, input, index, this.#client)
      this.#push(part.cut ? { ...item, status: 'incomplete' } : item)
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

  #push(item: wire.OutputItem | Fields): void {
    this.#message = undefined
    this.output.push(item)
  }
}
