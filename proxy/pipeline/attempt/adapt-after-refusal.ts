/** Refusals that speak of the way a request took, and not of its channel: another way of asking may do. */
import type { ParsedRequest } from '../../dialects/core/dialect.ts'
import type { LaneTarget } from '../../dialects/core/lanes/index.ts'
import type { Lane } from '../../dialects/core/lanes/lane.ts'
import type { UpstreamFailure } from '../../errors.ts'

/** What a later lane does differently; see LaneTarget. */
export type Changes = Pick<LaneTarget, 'withoutCarriers' | 'withoutState' | 'emulate'>

/** Upstreams that call themselves of the responses API, and have no compaction, say so in one of these. */
const NO_COMPACTION = [400, 404, 405, 422, 501]
/** Of a conversation that the upstream does not keep: most name the id, some only its absence. */
const NO_STATE = [400, 404]

/** What should be done differently; undefined for a failure that is what it seems. */
export function refusedWay(
  request: ParsedRequest,
  lane: Pick<Lane, 'kind' | 'byReference' | 'hasState'>,
  { status, forCaller, carrierRefused, stateRefused, detail }: UpstreamFailure,
): Partial<Changes> | undefined {
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
