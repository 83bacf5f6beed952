/** Restores the client's names and kinds in the tool calls of an answer. */

import { isRecord, tryParse } from '../json/value.ts'
import type { StreamPart } from '../neutral/types.ts'
import type { ToolNames } from './tool-names.ts'

type Emit = (part: StreamPart) => void

/** The input of a custom tool is known only when its call is complete, so it is one delta at the end. */
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
        // Half an object is not half of the text in it.
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

/** The input in the arguments; arguments of any other form are the input itself. */
function unwrapInput(text: string): string {
  const value = tryParse(text)
  return isRecord(value) && typeof value.input === 'string' ? value.input : text
}
