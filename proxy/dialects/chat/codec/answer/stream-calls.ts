/** Assembles the tool calls of a stream, also from upstreams that send them out of order. */

import { type Fields, isRecord, textOf, tryParse } from '../../../core/json/value.ts'
import type { Emit } from '../../../core/neutral/types.ts'
import { extraCarrier } from '../request/decode-messages.ts'
import { readCallBody } from './call-body.ts'

interface Call {
  part: string
  kind: 'function' | 'custom'
  id: string
  name: string
  input: string
  extra: Fields | undefined
  state: 'waiting' | 'open' | 'closed'
}

export class StreamCalls {
  readonly #emit: Emit
  readonly #calls: Call[] = []
  readonly #byIndex = new Map<number, Call>()
  #last: Call | undefined

  constructor(emit: Emit) {
    this.#emit = emit
  }

  /** True when the model called something. */
  get any(): boolean {
    return this.#calls.some((call) => call.state !== 'waiting' || call.name !== '')
  }

  /** Takes an entry of `tool_calls`. Holds a call's input back until its id and name are known. */
  delta(entry: Fields): void {
    const { kind, name, input: text } = readCallBody(entry)
    const id = textOf(entry.id)
    const call = this.#find(entry.index, id, name, text)
    if (kind === 'custom' && call.state === 'waiting') call.kind = 'custom'
    if (isRecord(entry.extra_content)) call.extra = entry.extra_content
    if (call.state === 'waiting') {
      if (call.id === '') call.id = id
      if (call.name === '') call.name = name
      call.input += text
      if (call.id !== '' && call.name !== '') this.#open(call)
    } else if (call.state === 'open' && text !== '') {
      call.input += text
      this.#emit({ type: 'tool-call-delta', id: call.part, text })
    }
  }

  /** Closes all calls, with an id made from `seed` if they have none. False when a call has no name and is broken. */
  end(seed: string): boolean {
    const isNameless = (call: Call) => call.state === 'waiting' && call.name === ''
    if (this.#calls.some((call) => isNameless(call) && (call.id !== '' || call.input !== ''))) return false
    for (const call of this.#calls) if (!isNameless(call)) this.#close(call, seed)
    return true
  }

  #find(index: unknown, id: string, name: string, text: string): Call {
    const at = typeof index === 'number' ? index : undefined
    const known =
      at === undefined
        ? (this.#calls.findLast((call) => id !== '' && call.id === id) ?? this.#last)
        : this.#byIndex.get(at)
    if (known !== undefined) {
      if (!startsAnother(known, id, name, text)) return known
      // The index now belongs to another call, so this one is complete.
      if (at !== undefined && known.state === 'open') this.#close(known, '')
    }
    const call: Call = {
      part: `call-${this.#calls.length}`,
      kind: 'function',
      id: '',
      name: '',
      input: '',
      extra: undefined,
      state: 'waiting',
    }
    this.#calls.push(call)
    if (at !== undefined) this.#byIndex.set(at, call)
    this.#last = call
    return call
  }

  #open(call: Call): void {
    const { part, kind, name } = call
    call.state = 'open'
    this.#emit({ type: 'tool-call-start', id: part, callId: call.id, name, kind })
    if (call.input !== '') this.#emit({ type: 'tool-call-delta', id: part, text: call.input })
  }

  #close(call: Call, seed: string): void {
    if (call.state === 'closed') return
    if (call.state === 'waiting') {
      if (call.id === '') call.id = `call_${seed}_${this.#calls.indexOf(call)}`.replace(/[^\w-]/g, '_')
      this.#open(call)
    }
    call.state = 'closed'
    const carrier = call.extra && extraCarrier(call.extra)
    this.#emit({ type: 'tool-call-end', id: call.part, ...(carrier && { carrier }) })
  }
}

/**
 * True when an entry starts another call. For upstreams that give all calls the same index or none, another id with a
 * name starts one, or a name with arguments after complete arguments.
 */
export function startsAnother(
  call: Pick<Call, 'id' | 'name' | 'input'>,
  id: string,
  name: string,
  text: string,
): boolean {
  if (name === '') return false
  if (id !== '' && call.id !== '') return id !== call.id
  return id === '' && call.id === '' && text !== '' && call.name !== '' && isRecord(tryParse(call.input))
}
