/** The request for a summary, for an upstream of this dialect that cannot compact. */

import { type Change, cutsOf } from '../../core/json/edit.ts'
import { objectOf } from '../../core/json/pieces.ts'
import { scanObject } from '../../core/json/scanner.ts'
import { cut } from '../../core/json/splice.ts'
import { isRecord, listOf, tryParse } from '../../core/json/value.ts'
import type { ParsedRequest } from '../../core/request.ts'
import { keptItems } from '../chains/input.ts'
import type * as wire from '../wire.ts'
import { INSTRUCTION } from './prompts.ts'

/** Fields that are replaced here, or that shape an answer. */
const LEFT_OUT = new Set([
  'context_management',
  'include',
  'input',
  'max_tool_calls',
  'model',
  'parallel_tool_calls',
  'store',
  'text',
  'tool_choice',
  'top_logprobs',
])

/**
 * Like summarise() for other upstreams, with all other fields as the client wrote them. The tools stay, and the model may
 * call none.
 */
export function emulate(request: ParsedRequest, model: string, changes: readonly Change[]): Buffer {
  const body = cut(request.body, cutsOf(request.body, changes))
  const members = scanObject(body)
  const text: wire.InputText = { type: 'input_text', text: INSTRUCTION }
  const instruction: wire.Message = { type: 'message', role: 'user', content: [text] }
  const items = [...keptItems({ body }), JSON.stringify(instruction)]
  const tools = hasTools(body) ? ',"tool_choice":"none"' : ''
  const written = `"model":${JSON.stringify(model)},"input":[${items.join(',')}],"store":false${tools}`
  const kept = members.filter(({ rawKey }) => !LEFT_OUT.has(rawKey))
  const rest = objectOf(body, kept).slice(1)
  return Buffer.from(kept.length > 0 ? `{${written},${rest}` : `{${written}${rest}`)
}

/** Items may contain tools, too. */
function hasTools(body: Buffer): boolean {
  const value = tryParse(body.toString('utf8'))
  if (!isRecord(value)) return false
  return [value, ...listOf(value.input)].some(
    (one) => isRecord(one) && Array.isArray(one.tools) && one.tools.length > 0,
  )
}
