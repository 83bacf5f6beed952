/** Refusals of the way in which a request was sent. The channel is fine; the same channel may accept a changed request. */

import type { LaneTarget } from '../../dialects/core/lanes/index.ts'
import type { Lane } from '../../dialects/core/lanes/lane.ts'
import type { ParsedRequest } from '../../dialects/core/request.ts'
import type { UpstreamFailure } from '../../errors.ts'

/** How a later lane differs; see LaneTarget. */
export interface Changes extends Pick<LaneTarget, 'withoutCarriers' | 'withoutState' | 'emulate'> {
  /** Without the gateway's limit on output tokens. */
  withoutLimit?: boolean
}

/** Statuses with which an upstream of the responses API reports that it has no compaction. */
const NO_COMPACTION = [400, 404, 405, 422, 501]
/** Statuses with which an upstream reports that it does not have a conversation; most name the id. */
const NO_STATE = [400, 404]

/** The change to retry with; undefined if no change helps. */
export function adaptAfterRefusal(
  request: ParsedRequest,
  lane: Pick<Lane, 'kind' | 'byReference' | 'hasState' | 'outputLimit'>,
  failure: UpstreamFailure,
): Partial<Changes> | undefined {
  const { status, forCaller, carrierRefused, stateRefused, detail } = failure
  if (lane.outputLimit !== undefined && refusesLimit(failure)) return { withoutLimit: true }
  if (lane.byReference === true) {
    const isUnknown = stateRefused === true && (status === undefined || NO_STATE.includes(status))
    return isUnknown || status === 404 ? { withoutState: true } : undefined
  }
  if (request.compacts === true && lane.kind === 'byte') {
    const mayBe = detail === 'no_compaction' || (status !== undefined && NO_COMPACTION.includes(status))
    return mayBe && forCaller?.code !== 'context_length_exceeded' ? { emulate: true } : undefined
  }
  const mayDrop = lane.kind === 'hub' || lane.hasState === true
  return carrierRefused === true && mayDrop ? { withoutCarriers: true } : undefined
}

/** The upstream may not know the field, or its models may have a lower limit. */
function refusesLimit({ class: kind, forCaller, words }: UpstreamFailure): boolean {
  if (kind !== 'caller_fault' || forCaller?.code === 'context_length_exceeded') return false
  return words === undefined || /max[a-z_ ]*tokens|token limit/i.test(words.read())
}
