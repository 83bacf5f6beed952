/** What a tool call of an upstream says: `function` and `custom` may both be there, one of them empty (Snowflake). */
import { inputText } from '../../../core/errors/unreadable.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'

export interface CallBody {
  kind: 'function' | 'custom'
  /** '' when there is none. */
  name: string
  input: string
}

/** `type` decides; a call without a usable one is what its filled object says. Throws as errors/unreadable.ts says. */
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
  const { name } = value
  const input = kind === 'custom' ? value.input : value.arguments
  return { kind, name: typeof name === 'string' ? name : '', input: inputText(input) }
}
