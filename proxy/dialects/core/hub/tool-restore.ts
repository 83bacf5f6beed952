/** Restores the client's names and kinds in the tool calls of an answer. */

import { isRecord, tryParse } from '../json/value.ts'
import type { Emit } from '../neutral/types.ts'
import type { ToolNames } from './tool-names.ts'

/** Emits the input of a wrapped custom tool as one delta at its end: it can be read only from complete arguments. */
export function restoreCalls(names: ToolNames, emit: Emit): Emit {
  /** Arguments so far of the open calls of wrapped tools. */
  const wrapped = new Map<string, string>()
  return (part) => {
    switch (part.type) {
      case 'tool-call-start': {
        const tool = names.tool(part.name)
        if (tool === undefined) break
        if (tool.kind === 'custom' && part.kind === 'function') wrapped.set(part.id, '')
        const { namespace: _namespace, ...call } = part
        emit({ ...call, ...tool })
        return
      }
      case 'tool-call-delta': {
        const text = wrapped.get(part.id)
        if (text === undefined) break
        wrapped.set(part.id, text + part.text)
        return
      }
      case 'tool-call-end': {
        const text = wrapped.get(part.id)
        if (text === undefined) break
        wrapped.delete(part.id)
        // The text cannot be read from half an object.
        if (part.cut) break
        const input = unwrapInput(text)
        if (input !== '') emit({ type: 'tool-call-delta', id: part.id, text: input })
      }
    }
    emit(part)
  }
}

/** The arguments of a wrapped custom tool. */
export function wrapInput(input: string): string {
  return JSON.stringify({ input })
}

/** The input in the arguments; the arguments themselves when they have another form. */
function unwrapInput(text: string): string {
  const value = tryParse(text)
  return isRecord(value) && typeof value.input === 'string' ? value.input : text
}
