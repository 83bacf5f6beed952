/** Results without a call, in a conversation that continues with `previous_response_id`. */
import { GatewayError } from '../../../errors.ts'
import { isRecord, tryParse } from '../../core/json/value.ts'
import { referenceOf } from './position.ts'

const RESULTS = ['function_call_output', 'custom_tool_call_output']
const CALLS = ['function_call', 'custom_tool_call']
const MAX_ID_IN_MESSAGE = 128

/**
 * Throws GatewayError if `added` has a result whose call is in none of the items, which are JSON texts. The gateway
 * repairs only histories that clients send, because clients may shorten them; stored ones are complete. A reference may
 * stand for the call, so the upstream decides then.
 */
export function refuseStrayResults(history: readonly string[], added: readonly string[]): void {
  const results = idsOf(added, RESULTS)
  if (results.length === 0) return
  const calls = new Set(idsOf([...history, ...added], CALLS))
  const stray = results.find((id) => !calls.has(id))
  if (stray === undefined || [...history, ...added].some((text) => referenceOf(tryParse(text)) !== undefined))
    return
  const message = `No tool call found for function call output with call_id ${stray.slice(0, MAX_ID_IN_MESSAGE)}.`
  throw new GatewayError('invalid_request', message, { param: 'input' })
}

function idsOf(items: readonly string[], types: readonly string[]): string[] {
  return items.flatMap((text) => {
    const item = text.includes('_call') ? tryParse(text) : undefined
    if (!isRecord(item) || !types.includes(String(item.type))) return []
    return typeof item.call_id === 'string' ? [item.call_id] : []
  })
}
