/** Rewrites a request of a chain for an upstream. All other bytes stay as the client wrote them. */

import { removal } from '../../core/json/pieces.ts'
import { scanObject } from '../../core/json/scanner.ts'
import { cut, memberCut, spanOf } from '../../core/json/splice.ts'
import { tryParse } from '../../core/json/value.ts'
import type { JsonLimits, ParsedRequest } from '../../core/request.ts'
import type { ResponsesOwn } from '../request.ts'
import { inputItems } from './input.ts'
import { referenceOf } from './position.ts'
import { refuseStrayResults } from './stray.ts'

export type Parse = (body: Buffer, limits: JsonLimits) => ParsedRequest<ResponsesOwn>

const PREVIOUS = 'previous_response_id'

/**
 * The request with its whole conversation: `history` and its own items. Throws as `parse` does, and GatewayError for
 * results without a call.
 */
export function expand(
  request: ParsedRequest<ResponsesOwn>,
  history: readonly string[],
  limits: JsonLimits,
  parse: Parse,
): ParsedRequest<ResponsesOwn> {
  const { body } = request
  const members = scanObject(body)
  const added = inputItems(request)
  refuseStrayResults(history, added)
  const items = `[${[...history, ...added].join(',')}]`
  const written = memberCut(members, 'input', items)
  const reference = removal(body, members, PREVIOUS)
  const expanded = parse(cut(body, reference === undefined ? [written] : [reference, written]), limits)
  return inPlaceOf(request, expanded)
}

/** Replaces references to `items` (by id) with the items. Throws as `parse` does. */
export function resolve(
  request: ParsedRequest<ResponsesOwn>,
  items: ReadonlyMap<string, string>,
  limits: JsonLimits,
  parse: Parse,
): ParsedRequest<ResponsesOwn> {
  const { body } = request
  const input = spanOf(scanObject(body), 'input')
  if (input === undefined) return request
  const resolvedItems = inputItems(request).map((text) => {
    const id = text.includes('"id"') ? referenceOf(tryParse(text)) : undefined
    return (id !== undefined && items.get(id)) || text
  })
  return inPlaceOf(request, parse(cut(body, [{ ...input, text: `[${resolvedItems.join(',')}]` }]), limits))
}

/** `rewritten`, whose answers repeat the client's `request`. */
function inPlaceOf(
  { value, own: { continues } }: ParsedRequest<ResponsesOwn>,
  rewritten: ParsedRequest<ResponsesOwn>,
): ParsedRequest<ResponsesOwn> {
  // No attempt sends the client's request, so none would drop it.
  value?.drop()
  return continues === undefined ? rewritten : { ...rewritten, own: { ...rewritten.own, continues } }
}
