/** Splices the gateway's edits into the bytes of a chat request. */

import type { RequestEdits } from '../../core/byte-lane.ts'
import { editCuts, type ModelSpan, modelSpan } from '../../core/json/model-splice.ts'
import type { Member } from '../../core/json/scanned-body.ts'
import { scanObject } from '../../core/json/scanner.ts'
import { cutToSend, type SentBody, type Span, spanOf } from '../../core/json/splice.ts'
import { isRecord, tryParse } from '../../core/json/value.ts'
import type { ParsedRequest } from '../../core/request.ts'

/** The positions that a splice needs. */
export interface SplicePoints extends ModelSpan {
  /** Of the value of `stream_options`. */
  options: Span | undefined
}

const LIMIT_FIELDS = ['max_tokens', 'max_completion_tokens']

export function splicePoints(members: readonly Member[]): SplicePoints {
  return { ...modelSpan(members, LIMIT_FIELDS), options: spanOf(members, 'stream_options') }
}

/**
 * The request's bytes with the edits of all dialects and, if requested, the option that makes a stream report usage; the
 * body itself when nothing changes.
 */
export function splice(request: ParsedRequest<SplicePoints>, edits: RequestEdits): SentBody {
  const { body, head, own } = request
  const { options } = own
  const cuts = editCuts(request, edits)
  if (edits.addStreamUsage && head.stream && !asksUsagePlainly(request)) {
    if (options === undefined) {
      const inside = body.indexOf('{') + 1
      cuts.push({ start: inside, end: inside, text: '"stream_options":{"include_usage":true},' })
    } else {
      const own = tryParse(body.toString('utf8', options.start, options.end))
      cuts.push({ ...options, text: JSON.stringify({ ...(isRecord(own) && own), include_usage: true }) })
    }
  }
  return cutToSend(body, cuts)
}

/** True when the client requests usage, in options that no upstream can read differently. */
function asksUsagePlainly({ body, head, own: { options } }: ParsedRequest<SplicePoints>): boolean {
  if (!head.wantsStreamUsage || options === undefined) return false
  const members = scanObject(body.subarray(options.start, options.end))
  return members.filter((m) => JSON.parse(`"${m.rawKey}"`) === 'include_usage').length === 1
}
