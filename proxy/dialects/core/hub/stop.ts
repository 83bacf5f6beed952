/** Stop sequences for upstreams that have none: cuts the answer's text where the first one begins. */

import { isRecord } from '../json/value.ts'
import type { Emit, Finish, PartOf, StreamPart } from '../neutral/types.ts'
import { type Hit, StopSearch } from './stop-search.ts'

/**
 * Filters the parts of one stream. Holds back only text that may be the beginning of a stop sequence. No part starts
 * after a cut, and the finish names the sequence unless a tool call came before it.
 */
export function cutAtStop(stop: readonly string[], emit: Emit): Emit {
  const sequences = stop.filter((sequence) => sequence !== '')
  if (sequences.length === 0) return emit
  const cutter = new Cutter(sequences, emit)
  return (part) => cutter.part(part)
}

class Cutter {
  readonly #stop: readonly string[]
  readonly #emit: Emit
  readonly #open = new Set<string>()
  #text: CutText | undefined
  #hit: Hit | undefined
  #calls = false

  constructor(stop: readonly string[], emit: Emit) {
    this.#stop = stop
    this.#emit = emit
  }

  part(part: StreamPart): void {
    switch (part.type) {
      case 'start':
        this.#emit(part)
        return
      case 'finish':
        this.#emit(this.#hit === undefined ? part : { ...part, finish: this.#stopped(this.#hit) })
        return
      case 'text-delta':
        if (this.#text?.id === part.id) this.#cutIf(this.#text.add(part))
        return
      case 'text-end':
        if (this.#text?.id === part.id) this.#cutIf(this.#text.end())
        break
      case 'whole':
        if (this.#hit === undefined) this.#emit(part)
        return
      case 'text-start':
      case 'refusal-start':
      case 'reasoning-start':
      case 'tool-call-start':
        if (this.#hit === undefined) this.#start(part)
        return
    }
    if (this.#open.has(part.id)) this.#emit(part)
    if (part.type.endsWith('-end')) this.#open.delete(part.id)
  }

  #start(part: Extract<StreamPart, { type: `${string}-start` }>): void {
    this.#open.add(part.id)
    if (part.type === 'text-start') this.#text = new CutText(part.id, this.#stop, this.#emit)
    if (part.type === 'tool-call-start') this.#calls = true
    this.#emit(part)
  }

  /** Closes the text. Other open parts continue to their own end. */
  #cutIf(hit: Hit | undefined): void {
    if (hit === undefined || this.#text === undefined) return
    this.#hit = hit
    this.#emit({ type: 'text-end', id: this.#text.id })
    this.#open.delete(this.#text.id)
    this.#text = undefined
  }

  #stopped({ sequence }: Hit): Finish {
    return this.#calls ? { reason: 'tool-calls' } : { reason: 'stop', stopSequence: sequence }
  }
}

/** One text part: emits the text before the first stop sequence. */
class CutText {
  readonly id: string
  readonly #search: StopSearch
  readonly #emit: Emit
  /** Text that is not emitted yet, and its offset in the whole text. */
  #held = ''
  #at = 0
  /** Tokens that are not emitted yet, and the offset of the first. */
  #tokens: unknown[] = []
  #tokensAt = 0
  #hasTokens = false

  constructor(id: string, stop: readonly string[], emit: Emit) {
    this.id = id
    this.#search = new StopSearch(stop)
    this.#emit = emit
  }

  add({ text, logprobs }: PartOf<'text-delta'>): Hit | undefined {
    this.#held += text
    if (logprobs !== undefined) {
      this.#hasTokens = true
      for (const token of logprobs) this.#tokens.push(token)
    }
    const hit = this.#search.push(text)
    this.#emitTo(hit?.at ?? this.#search.safe)
    return hit
  }

  end(): Hit | undefined {
    const hit = this.#search.end()
    this.#emitTo(hit?.at ?? Number.POSITIVE_INFINITY)
    return hit
  }

  /** Emits the text up to an offset in the whole text, with the tokens that begin in it. */
  #emitTo(offset: number): void {
    const text = this.#held.slice(0, offset - this.#at)
    const tokens = this.#hasTokens ? this.#tokensTo(offset) : []
    this.#held = this.#held.slice(text.length)
    this.#at += text.length
    if (tokens.length > 0) this.#emit({ type: 'text-delta', id: this.id, text, logprobs: tokens })
    else if (text !== '') this.#emit({ type: 'text-delta', id: this.id, text })
  }

  #tokensTo(offset: number): unknown[] {
    let count = 0
    for (; count < this.#tokens.length && this.#tokensAt < offset; count++) {
      const token = this.#tokens[count]
      if (isRecord(token) && typeof token.token === 'string') this.#tokensAt += token.token.length
    }
    return this.#tokens.splice(0, count)
  }
}
