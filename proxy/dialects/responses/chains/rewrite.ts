/** A request of a chain, rewritten for an upstream: all other bytes stay as the client wrote them. */
import type { JsonLimits, ParsedRequest } from '../../core/dialect.ts'
import { removal } from '../../core/json/pieces.ts'
import { scanObject } from '../../core/json/scanner.ts'
import { cut, spanOf } from '../../core/json/splice.ts'
import { tryParse } from '../../core/json/value.ts'
import { echoAs } from '../codec/answer/answer-echo.ts'
import { inputItems } from './input.ts'
import { referenceOf } from './position.ts'
import { refuseStrayResults } from './stray.ts'

export type Parse = (body: Buffer, limits: JsonLimits) => ParsedRequest

const PREVIOUS = 'previous_response_id'

/**
 * The request with its whole conversation: `history`, and what it adds. Throws what `parse` throws of a request that a
 * client sent so, and GatewayError for results of calls that nobody made.
 */
export function expand(
  request: ParsedRequest,
  history: readonly string[],
  limits: JsonLimits,
  parse: Parse,
): ParsedRequest {
  const { body } = request
  const members = scanObject(body)
  const added = inputItems(request)
  refuseStrayResults(history, added)
  const items = `[${[...history, ...added].join(',')}]`
  const input = spanOf(members, 'input')
  const end = members.at(-1)?.end ?? 0
  const reference = removal(body, members, PREVIOUS)
  const written =
    input === undefined ? { start: end, end, text: `,"input":${items}` } : { ...input, text: items }
  const expanded = parse(cut(body, reference === undefined ? [written] : [reference, written]), limits)
  echoAs(expanded, request)
  return expanded
}

/** The request with `items`, by their ids, in place of the references to them. Throws what `parse` throws. */
export function resolve(
  request: ParsedRequest,
  items: ReadonlyMap<string, string>,
  limits: JsonLimits,
  parse: Parse,
): ParsedRequest {
  const { body } = request
  const input = spanOf(scanObject(body), 'input')
  if (input === undefined) return request
  const said = inputItems(request).map((text) => {
    const id = text.includes('"id"') ? referenceOf(tryParse(text)) : undefined
    return (id !== undefined && items.get(id)) || text
  })
  const resolved = parse(cut(body, [{ ...input, text: `[${said.join(',')}]` }]), limits)
  echoAs(resolved, request)
  return resolved
}
