/**
 * Writes the parts of a stream as content blocks, one part at a time. A block starts with its first content, so that
 * empty parts are left out.
 */
import type { ClientView } from '../../../core/codec.ts'
import { isRecord } from '../../../core/json/value.ts'
import type { Carrier, HostedPart, StreamPart } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'
import { BlockEvents, type DeltaKind } from './block-events.ts'
import { callFields, citationOf, redactedBlock, signatureOf, textBlock, writeWhole } from './block-write.ts'

export type BlockPart = Exclude<StreamPart, { type: 'start' | 'finish' | 'partial-image' }>

/** Tools that this API's vendor runs, whose input arrives in deltas like that of a call. */
const WITH_INPUT = new Set(['server_tool_use', 'mcp_tool_use'])

export class BlockWriter {
  readonly events = new BlockEvents()
  /** A refusal was written as text, so the stop reason must report it. */
  refused = false
  readonly #client: ClientView
  /** The start of the current part's block, written once the part has content. */
  #start: wire.Block = {}
  #kind: DeltaKind = 'text'
  /** Index of the last written paragraph of the current reasoning. */
  #paragraph: number | undefined
  /** Input of the current call of a custom tool so far. */
  #input = ''
  /** The current call belongs to a custom tool, whose input is free text. */
  #isFree = false
  #calls = 0

  constructor(client: ClientView) {
    this.#client = client
  }

  /** Writes a fragment of the current part. True when it was the end of the part. */
  write(part: BlockPart): boolean {
    switch (part.type) {
      case 'text-delta':
        if (part.logprobs !== undefined && part.logprobs.length > 0) this.#client.losses.lose('logprobs')
        this.#text(part.text)
        return false
      case 'reasoning-delta':
        this.#thought(part.text, part.paragraph)
        return false
      case 'tool-call-delta':
        if (this.#isFree) this.#input += part.text
        else this.#text(part.text)
        return false
      case 'text-start':
        this.#prepare(textBlock(''), 'text')
        return false
      case 'refusal-start':
        this.refused = true
        this.#prepare(textBlock(''), 'text')
        return false
      case 'refusal-delta':
        this.#text(part.text)
        return false
      case 'annotation': {
        const citation = citationOf(part.annotation, this.#client)
        if (citation === undefined) return false
        this.#open()
        this.events.delta({ type: 'citations_delta', citation })
        return false
      }
      case 'reasoning-start':
        this.#paragraph = undefined
        this.#prepare({ type: 'thinking', thinking: '', signature: '' }, 'thinking')
        return false
      case 'tool-call-start':
        this.#isFree = part.kind === 'custom'
        this.#prepare({ ...callFields(part, this.#calls++, this.#client), input: {} }, 'tool_use')
        this.#open()
        return false
      case 'reasoning-end':
        this.#endReasoning(part.carrier)
        return true
      case 'tool-call-end':
        if (part.carrier !== undefined) this.#client.losses.lose('reasoning.state')
        if (part.cut) this.#abandon()
        else this.end()
        return true
      case 'text-end':
      case 'refusal-end':
        this.end()
        return true
      case 'whole':
        for (const block of writeWhole(part.part, this.#client)) this.#whole(block)
        return true
    }
  }

  /** Ends the current part. */
  end(): void {
    if (this.#isFree) this.events.text(JSON.stringify({ input: this.#input }))
    this.#isFree = false
    this.#input = ''
    this.events.close()
  }

  /** For an answer that ended in the middle of a call: if its block stopped, clients would run the call. */
  #abandon(): void {
    this.#client.losses.lose('tools')
    this.#isFree = false
    this.#input = ''
    this.events.abandon()
  }

  #prepare(start: wire.OwnBlock, kind: DeltaKind): void {
    this.#start = start
    this.#kind = kind
  }

  #open(): void {
    if (!this.events.isOpen) this.events.open(this.#start, this.#kind)
  }

  #text(text: string): void {
    if (text === '') return
    this.#open()
    this.events.text(text)
  }

  /** Joins paragraphs by an empty line. */
  #thought(text: string, paragraph: number): void {
    if (text === '') return
    const follows = this.#paragraph !== undefined && this.#paragraph !== paragraph
    this.#paragraph = paragraph
    this.#text(follows ? `\n\n${text}` : text)
  }

  /** Writes the signature once and whole, because clients do not append to it. */
  #endReasoning(carrier: Carrier | undefined): void {
    const signature = signatureOf(carrier, this.#client)
    if (signature !== '') {
      this.#open()
      this.events.delta({ type: 'signature_delta', signature })
    }
    this.end()
    const redacted = redactedBlock(carrier)
    if (redacted !== undefined) this.#complete(redacted)
  }

  /** Writes a block that its start contains whole. */
  #complete(block: wire.Block): void {
    this.events.open(block, 'text')
    this.events.close()
  }

  #whole(item: HostedPart['item']): void {
    if (typeof item.type === 'string' && WITH_INPUT.has(item.type) && isRecord(item.input)) {
      this.events.open({ ...item, input: {} } satisfies Pick<wire.ToolUseBlock, 'input'>, 'tool_use')
      this.events.text(JSON.stringify(item.input))
      this.events.close()
    } else if (item.type === 'text' && typeof item.text === 'string') {
      this.events.open({ ...item, ...textBlock('') }, 'text')
      this.events.text(item.text)
      this.events.close()
    } else if (item.type === 'compaction') {
      this.events.open({ type: 'compaction', content: null } satisfies wire.CompactionStart, 'text')
      this.events.delta({ ...item, type: 'compaction_delta' })
      this.events.close()
    } else {
      this.#complete(item)
    }
  }
}
