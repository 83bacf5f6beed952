/** Tool calls. Snowflake sends both `function` and `custom`, one of them empty. */
import { inputText } from '../../../core/errors/unreadable.ts'
import { type Fields, isRecord, textOf, tryParse } from '../../../core/json/value.ts'
import type { Carrier, ToolCallPart } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'

interface CallBody {
  kind: 'function' | 'custom'
  /** '' when there is none. */
  name: string
  input: string
}

/** Reads the object that `type` names, else the filled one. Throws for unreadable input, see errors/unreadable.ts. */
export function readCallBody(call: Fields): CallBody {
  const asFunction = bodyOf('function', call.function)
  const asCustom = bodyOf('custom', call.custom)
  if (asFunction === undefined || asCustom === undefined) {
    return asFunction ?? asCustom ?? { kind: 'function', name: '', input: '' }
  }
  if (call.type === 'function') return asFunction
  if (call.type === 'custom') return asCustom
  return asCustom.name !== '' || asCustom.input !== '' ? asCustom : asFunction
}

function bodyOf(kind: CallBody['kind'], value: unknown): CallBody | undefined {
  if (!isRecord(value)) return undefined
  const input = kind === 'custom' ? value.input : value.arguments
  return { kind, name: textOf(value.name), input: inputText(input) }
}

/** `empty`: written as the arguments of a function without any. */
export function writeCall(part: ToolCallPart, empty = ''): wire.ToolCall {
  const { callId: id, kind, name, input } = part
  const extra_content = extraOf(part.carrier)
  return kind === 'function'
    ? { id, type: kind, function: { name, arguments: input || empty }, extra_content }
    : { id, type: kind, custom: { name, input }, extra_content }
}

/** The state of a call, as its chat upstream sent it. */
export function extraOf(carrier: Carrier | undefined): unknown {
  return carrier?.kind === 'extra_content' ? tryParse(carrier.value) : undefined
}
