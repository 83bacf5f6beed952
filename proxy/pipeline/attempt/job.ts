/** Ports of the attempts. */
import type { RouteRecord } from '../../../contract/table/records.ts'
import type { Lanes } from '../../dialects/core/lanes/index.ts'
import type { Lane } from '../../dialects/core/lanes/lane.ts'
import type { ParsedRequest } from '../../dialects/core/request.ts'
import type { Dispatchers } from '../../outbound/dispatchers.ts'
import type { ChannelHealth } from '../../upstream/health.ts'
import type { RetryBudget } from '../../upstream/retry-budget.ts'
import type { Bill } from '../billing/charge.ts'
import type { Upload } from '../body/upload.ts'
import type { Limits } from '../limits.ts'
import type { Keepsake } from '../request/keepsake.ts'
import type { PlannedTarget } from '../route.ts'
import type { Drains } from './drain.ts'

export interface Upstreams {
  dispatchers: Dispatchers
  health: ChannelHealth
  retryBudget: RetryBudget
  drains: Drains
  keepsake: Keepsake
  limits: Pick<Limits, 'maxAnswerBytes' | 'maxEventBytes'>
}

/** A request on its way to an upstream. */
export interface AttemptJob {
  request: ParsedRequest
  /** The part of the request that follows the body of a lane. */
  upload?: Upload | undefined
  lanes: Lanes
  route: RouteRecord
  targets: readonly PlannedTarget[]
  /** Absent for an endpoint that costs nothing. */
  bill: Pick<Bill, 'outputLimit' | 'attempting'> | undefined
  /** Channels that should serve, the best first: namespace/name. */
  preferred: readonly string[]
}

/** A target, and the lane on which the request goes there. */
export interface Choice {
  target: PlannedTarget
  lane: Lane
}
