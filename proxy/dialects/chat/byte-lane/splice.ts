/** Splices the gateway's edits into the bytes of a chat request. */

import type { RequestEdits } from '../../core/byte-lane.ts'
import { type Member, scanObject } from '../../core/json/scanner.ts'
import { type Cut, cut, type Span, spanOf } from '../../core/json/splice.ts'
import { isRecord, tryParse } from '../../core/json/value.ts'
import type { JsonLimits, ParsedRequest } from '../../core/request.ts'

/** parseRequest has already checked the limits. */
const NO_LIMITS: JsonLimits = { maxDepth: Infinity, maxKeys: Infinity }

/** The spans of the values of `model` and `stream_options`. */
interface SplicePoints {
  model: Span | undefined
  options: Span | undefined
}

/** Found when the request was parsed, so that retries need not scan it again. */
const SPLICE_POINTS = new WeakMap<ParsedRequest, SplicePoints>()

/** Remembers the spans that splice() may change. */
export function noteSplicePoints(request: ParsedRequest, members: Member[]): void {
  SPLICE_POINTS.set(request, splicePoints(members))
}

/**
 * The request's bytes with another model name and, if requested, the option that makes a stream report usage; the body
 * itself when nothing changes.
 */
export function splice(request: ParsedRequest, edits: RequestEdits): Buffer {
  const { body, head } = request
  const { model, options } = SPLICE_POINTS.get(request) ?? splicePoints(scanObject(body, NO_LIMITS))
  if (model === undefined) throw new TypeError('the request has no model')
  const cuts: Cut[] = [...(edits.cuts ?? [])]
  if (edits.model !== head.model) cuts.push({ ...model, text: JSON.stringify(edits.model) })
  if (edits.askStreamUsage && head.stream && !asksUsagePlainly(request, options)) {
    if (options === undefined) {
      const inside = body.indexOf('{') + 1
      cuts.push({ start: inside, end: inside, text: '"stream_options":{"include_usage":true},' })
    } else {
      const own = tryParse(body.toString('utf8', options.start, options.end))
      cuts.push({ ...options, text: JSON.stringify({ ...(isRecord(own) && own), include_usage: true }) })
    }
  }
  return cut(body, cuts)
}

/** True when the client requests usage, in options that no upstream can read differently. */
function asksUsagePlainly({ body, head }: ParsedRequest, options: Span | undefined): boolean {
  if (!head.wantsStreamUsage || options === undefined) return false
  const members = scanObject(body.subarray(options.start, options.end), NO_LIMITS)
  return members.filter((m) => JSON.parse(`"${m.rawKey}"`) === 'include_usage').length === 1
}

function splicePoints(members: Member[]): SplicePoints {
  return { model: spanOf(members, 'model'), options: spanOf(members, 'stream_options') }
}
