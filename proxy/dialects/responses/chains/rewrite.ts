/** A request of a chain, rewritten for an upstream: all other bytes stay as the client wrote them. */
import type { JsonLimits, ParsedRequest } from '../../dialect.ts'
import { removal } from '../../json/pieces.ts'
import { scanObject } from '../../json/scan.ts'
import { cut, spanOf } from '../../json/splice.ts'
import { echoAs } from '../codec/answer/answer-echo.ts'
import { inputItems, NO_LIMITS } from './input.ts'

export type Parse = (body: Buffer, limits: JsonLimits) => ParsedRequest

const PREVIOUS = 'previous_response_id'

/**
 * The request with its whole conversation: `history`, and what it adds. Throws what `parse` throws of a request that a
 * client sent so.
 */
export function expand(
  request: ParsedRequest,
  history: readonly string[],
  limits: JsonLimits,
  parse: Parse,
): ParsedRequest {
  const { body } = request
  const members = scanObject(body, NO_LIMITS)
  const items = `[${[...history, ...inputItems(request)].join(',')}]`
  const input = spanOf(members, 'input')
  const end = members.at(-1)?.end ?? 0
  const reference = removal(body, members, PREVIOUS)
  const written =
    input === undefined ? { start: end, end, text: `,"input":${items}` } : { ...input, text: items }
  const expanded = parse(cut(body, reference === undefined ? [written] : [reference, written]), limits)
  echoAs(expanded, request)
  return expanded
}

/** The request as one that goes on from `upstreamId`. */
export function rename(request: ParsedRequest, upstreamId: string): ParsedRequest {
  const { body } = request
  const id = spanOf(scanObject(body, NO_LIMITS), PREVIOUS)
  if (id === undefined) throw new TypeError('the request goes on from nothing')
  const renamed = { ...request, body: cut(body, [{ ...id, text: JSON.stringify(upstreamId) }]) }
  echoAs(renamed, request)
  return renamed
}
