import { contentList, contentText } from '../../../core/errors/unreadable.ts'
import { type Fields, isRecord, listOf, textOf } from '../../../core/json/value.ts'
import { hosted } from './decode-item.ts'
import { ItemDecoder } from './decode-item-stream.ts'
import { readAnnotation } from './item-annotations.ts'

/** An unfinished content part. */
interface Open {
  id: string
  index: number
  kind: 'text' | 'refusal'
  /** Numbers of characters, log-probabilities and annotations that were emitted. */
  sent: number
  logprobs: number
  annotations: number
}

/** Reads a message; each content part becomes a part of the answer. */
export class MessageDecoder extends ItemDecoder {
  #open: Open | undefined
  /** The content index of the newest part. */
  #last = -1
  #parts = 0

  delta(index: unknown, kind: Open['kind'], text: string, logprobs: unknown): void {
    const open = this.#at(index, kind)
    if (open !== undefined) this.#send(open, text, listOf(logprobs))
  }

  partAdded(index: unknown, part: unknown): void {
    const kind = kindOf(part)
    if (kind !== undefined) this.#at(index, kind)
  }

  textDone(index: unknown, kind: Open['kind'], text: unknown, logprobs?: unknown): void {
    const open = this.#at(index, kind)
    if (open !== undefined) this.#sendRest(open, contentText(text), listOf(logprobs))
  }

  annotation(index: unknown, value: unknown): void {
    const open = this.#at(index, 'text')
    if (open !== undefined) this.#annotate(open, value)
  }

  /** `part`: the whole content part. */
  partDone(index: unknown, part: unknown): void {
    const kind = kindOf(part)
    if (!isRecord(part) || kind === undefined) return
    const open = this.#at(index, kind)
    if (open === undefined) return
    this.#sendRest(open, contentText(kind === 'text' ? part.text : part.refusal), listOf(part.logprobs))
    for (const annotation of listOf(part.annotations).slice(open.annotations))
      this.#annotate(open, annotation)
  }

  protected complete(item: Fields): void {
    contentList(item.content).forEach((content, index) => {
      if (kindOf(content) !== undefined) this.partDone(index, content)
      else if (isRecord(content) && index > this.#last) this.#whole(index, content)
    })
    if (this.#parts === 0) {
      this.sink.emit({ type: 'text-start', id: this.key })
      this.sink.emit({ type: 'text-end', id: this.key })
    }
    this.#close()
  }

  /** The open part at `given`, undefined if it was closed. Without an index, the current one. */
  #at(given: unknown, kind: Open['kind']): Open | undefined {
    if (this.done) return undefined
    const open = this.#open
    const index = typeof given === 'number' ? given : (open?.index ?? this.#last + 1)
    if (open !== undefined && open.index === index && open.kind === kind) return open
    if (index < this.#last || (index === this.#last && open === undefined)) return undefined
    this.#close()
    return this.#start(index, kind)
  }

  #start(index: number, kind: Open['kind']): Open {
    const id = `${this.key}.${this.#parts}`
    this.#parts++
    this.#last = index
    this.#open = { id, index, kind, sent: 0, logprobs: 0, annotations: 0 }
    this.sink.emit({ type: kind === 'text' ? 'text-start' : 'refusal-start', id })
    return this.#open
  }

  #send(open: Open, text: string, logprobs: unknown[]): void {
    open.sent += text.length
    if (open.kind === 'refusal') {
      if (text !== '') this.sink.emit({ type: 'refusal-delta', id: open.id, text })
    } else if (logprobs.length > 0) {
      open.logprobs += logprobs.length
      this.sink.emit({ type: 'text-delta', id: open.id, text, logprobs })
    } else if (text !== '') {
      this.sink.emit({ type: 'text-delta', id: open.id, text })
    }
  }

  /** Emits what the deltas left out of the whole text. */
  #sendRest(open: Open, text: string, logprobs: unknown[]): void {
    this.#send(open, text.slice(open.sent), logprobs.slice(open.logprobs))
  }

  #annotate(open: Open, value: unknown): void {
    const annotation = readAnnotation(value)
    open.annotations++
    if (annotation !== undefined) this.sink.emit({ type: 'annotation', id: open.id, annotation })
  }

  #whole(index: number, content: Fields): void {
    this.#close()
    const part = hosted(content, textOf(content.type))
    this.sink.emit({ type: 'whole', id: `${this.key}.${this.#parts++}`, part })
    this.#last = index
  }

  #close(): void {
    const open = this.#open
    if (open === undefined) return
    this.#open = undefined
    this.sink.emit({ type: open.kind === 'text' ? 'text-end' : 'refusal-end', id: open.id })
  }
}

function kindOf(part: unknown): Open['kind'] | undefined {
  if (!isRecord(part)) return undefined
  if (part.type === 'output_text') return 'text'
  return part.type === 'refusal' ? 'refusal' : undefined
}
