import type { Fields } from '../../../core/json/value.ts'
import type { Carrier } from '../../../core/neutral/types.ts'
import { readCarrier, textsOf } from './decode-item.ts'
import { ItemDecoder } from './decode-item-stream.ts'

const MAX_PARAGRAPHS = 10_000

interface Open {
  id: string
  raw: boolean
  /** The number of characters of each paragraph that were emitted. */
  sent: number[]
}

/** Reads a reasoning item. Its summary and its chain of thought (`raw`) become one part each. */
export class ReasoningDecoder extends ItemDecoder {
  #open: Open | undefined
  #parts = 0
  readonly #seen = { summary: false, raw: false }

  get hasBegun(): boolean {
    return this.#parts > 0
  }

  delta(raw: boolean, paragraph: unknown, text: string): void {
    const open = this.#at(raw)
    if (open !== undefined) this.#send(open, indexOf(paragraph, open), text)
  }

  /** `text`: the whole paragraph. */
  textDone(raw: boolean, paragraph: unknown, text: string): void {
    const open = this.#at(raw)
    if (open !== undefined) this.#sendRest(open, indexOf(paragraph, open), text)
  }

  protected complete(item: Fields): void {
    for (const raw of [false, true]) {
      const texts = textsOf(raw ? item.content : item.summary)
      const open = texts.length > 0 ? this.#at(raw) : undefined
      if (open !== undefined) for (const [i, text] of texts.entries()) this.#sendRest(open, i, text)
    }
    if (this.#parts === 0) this.#start(false)
    this.#close(readCarrier(item) ?? readCarrier(this.skeleton))
  }

  /** The open part of this kind; undefined if it was closed. */
  #at(raw: boolean): Open | undefined {
    if (this.done) return undefined
    if (this.#open?.raw === raw) return this.#open
    if (this.#seen[raw ? 'raw' : 'summary']) return undefined
    this.#close()
    return this.#start(raw)
  }

  #start(raw: boolean): Open {
    const id = `${this.key}.${this.#parts++}`
    this.#seen[raw ? 'raw' : 'summary'] = true
    this.#open = { id, raw, sent: [] }
    this.sink.emit({ type: 'reasoning-start', id, raw })
    return this.#open
  }

  #send(open: Open, paragraph: number, text: string): void {
    // The first delta of a paragraph is emitted even if it is empty, so that the paragraph exists.
    if (text === '' && open.sent[paragraph] !== undefined) return
    open.sent[paragraph] = (open.sent[paragraph] ?? 0) + text.length
    this.sink.emit({ type: 'reasoning-delta', id: open.id, text, paragraph })
  }

  #sendRest(open: Open, paragraph: number, text: string): void {
    this.#send(open, paragraph, text.slice(open.sent[paragraph] ?? 0))
  }

  #close(carrier?: Carrier): void {
    const open = this.#open
    if (open === undefined) return
    this.#open = undefined
    this.sink.emit({ type: 'reasoning-end', id: open.id, ...(carrier !== undefined && { carrier }) })
  }
}

/** Without an index, or with one that is too large, the last paragraph. */
function indexOf(paragraph: unknown, open: Open): number {
  const isIndex =
    typeof paragraph === 'number' &&
    Number.isInteger(paragraph) &&
    paragraph >= 0 &&
    paragraph < MAX_PARAGRAPHS
  return isIndex ? paragraph : Math.max(0, open.sent.length - 1)
}
