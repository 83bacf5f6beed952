/** Converts the open content blocks of a stream to parts. */
import { contentText } from '../../../core/errors/unreadable.ts'
import { type Fields, isRecord, isText, tryParse } from '../../../core/json/value.ts'
import type { AssistantPart, Carrier, Emit } from '../../../core/neutral/types.ts'
import { readCitation } from './block-citations.ts'
import { readBlock } from './block-read.ts'

type Prose = 'text' | 'reasoning'

interface OpenBlock {
  kind: AssistantPart['type']
  /** Of the part. */
  id: string
  index: unknown
  /** Only its start has been emitted. */
  empty: boolean
  /** Of reasoning; the last signature counts. */
  carrier: Carrier | undefined
  /** The input in a call's start, or the input so far of a vendor's tool. */
  input: string
  /** The block of a vendor's tool, which is emitted whole at its end. */
  item: Fields
}

export class OpenBlocks {
  /** The model called one of the client's tools. */
  hasCalls = false
  readonly #emit: Emit
  readonly #open = new Map<unknown, OpenBlock>()
  /** The newest block, to which most deltas belong. */
  #last: OpenBlock | undefined
  #count = 0

  constructor(emit: Emit) {
    this.#emit = emit
  }

  /** Throws for unreadable content, see errors/unreadable.ts; so does `delta`. */
  start(index: unknown, block: Fields): void {
    this.stop(index)
    const part = readBlock(block, this.#count)
    if (part !== undefined) this.#start(index, block, part)
  }

  delta(index: unknown, delta: Record<string, unknown>): void {
    switch (delta.type) {
      case 'text_delta':
        this.#text(index, contentText(delta.text))
        break
      case 'input_json_delta':
        this.#input(index, contentText(delta.partial_json))
        break
      case 'thinking_delta':
        this.#thought(index, contentText(delta.thinking))
        break
      case 'signature_delta':
        if (isText(delta.signature)) {
          const value = delta.signature
          this.#prose(index, 'reasoning').carrier = { dialect: 'messages', kind: 'signature', value }
        }
        break
      case 'citations_delta':
        this.#citation(index, delta.citation)
        break
      case 'compaction_delta': {
        const open = this.#find(index)
        if (open !== undefined) open.item = { ...open.item, ...delta, type: open.item.type }
        break
      }
    }
  }

  /** Ends the block at an index, if one is open there. */
  stop(index: unknown): void {
    const open = this.#find(index)
    if (open === undefined) return
    this.#open.delete(index)
    if (this.#last === open) this.#last = undefined
    this.#end(open)
  }

  stopAll(): void {
    for (const index of [...this.#open.keys()]) this.stop(index)
  }

  #find(index: unknown): OpenBlock | undefined {
    return this.#last !== undefined && this.#last.index === index ? this.#last : this.#open.get(index)
  }

  #start(index: unknown, block: Fields, part: AssistantPart): OpenBlock {
    const id = String(this.#count++)
    const open: OpenBlock = {
      kind: part.type,
      id,
      index,
      empty: true,
      carrier: undefined,
      input: '',
      item: block,
    }
    if (part.type === 'text' || part.type === 'reasoning') this.#stopProse()
    this.#open.set(index, open)
    this.#last = open
    if (part.type === 'text') {
      this.#emit({ type: 'text-start', id })
      this.#text(index, part.text)
      for (const annotation of part.annotations ?? []) this.#annotate(open, annotation)
    } else if (part.type === 'reasoning') {
      open.carrier = part.carrier
      this.#emit({ type: 'reasoning-start', id })
      for (const text of part.texts) this.#thought(index, text)
    } else if (part.type === 'tool-call') {
      open.input = part.input
      this.hasCalls = true
      const { callId, name } = part
      this.#emit({ type: 'tool-call-start', id, callId, name, kind: 'function' })
    }
    return open
  }

  /** The open block of a kind. Starts one for deltas without a start, which some upstreams send. */
  #prose(index: unknown, kind: Prose): OpenBlock {
    const open = this.#find(index)
    if (open?.kind === kind) return open
    this.stop(index)
    return this.#start(index, {}, kind === 'text' ? { type: kind, text: '' } : { type: kind, texts: [] })
  }

  /** Only one of text and reasoning may be open at a time. */
  #stopProse(): void {
    for (const open of [...this.#open.values()]) {
      if (open.kind === 'text' || open.kind === 'reasoning') this.stop(open.index)
    }
  }

  #text(index: unknown, text: string): void {
    if (text === '') return
    const open = this.#prose(index, 'text')
    open.empty = false
    this.#emit({ type: 'text-delta', id: open.id, text })
  }

  #thought(index: unknown, text: string): void {
    if (text === '') return
    const open = this.#prose(index, 'reasoning')
    open.empty = false
    this.#emit({ type: 'reasoning-delta', id: open.id, text, paragraph: 0 })
  }

  #citation(index: unknown, citation: unknown): void {
    const annotation = readCitation(citation)
    if (annotation !== undefined) this.#annotate(this.#prose(index, 'text'), annotation)
  }

  #annotate(open: OpenBlock, annotation: NonNullable<ReturnType<typeof readCitation>>): void {
    open.empty = false
    this.#emit({ type: 'annotation', id: open.id, annotation })
  }

  #input(index: unknown, text: string): void {
    const open = this.#find(index)
    if (open === undefined || text === '') return
    if (open.kind === 'tool-call') {
      open.empty = false
      this.#emit({ type: 'tool-call-delta', id: open.id, text })
    } else {
      open.input += text
    }
  }

  #end(open: OpenBlock): void {
    const { id, carrier } = open
    if (open.kind === 'text') {
      this.#emit({ type: 'text-end', id })
    } else if (open.kind === 'reasoning') {
      this.#emit({ type: 'reasoning-end', id, ...(carrier !== undefined && { carrier }) })
    } else if (open.kind === 'tool-call') {
      if (open.empty && open.input !== '') this.#emit({ type: 'tool-call-delta', id, text: open.input })
      this.#emit({ type: 'tool-call-end', id })
    } else {
      this.#endItem(open)
    }
  }

  #endItem(open: OpenBlock): void {
    const input = tryParse(open.input)
    const item = isRecord(input) ? { ...open.item, input } : open.item
    const part = readBlock(item, 0)
    if (part?.type === 'hosted') this.#emit({ type: 'whole', id: open.id, part })
  }
}
