/** The long-lived parts that every request passes through. */
import type { AddressSet } from '../../contract/address.ts'
import type { StateStore } from '../../store/contract.ts'
import type { KeyRing } from '../../store/sealing.ts'
import type { Affinity } from '../affinity/affinity.ts'
import type { FormLimits, JsonLimits } from '../dialects/core/dialect.ts'
import type { EstimateFactors } from '../ledger/estimate.ts'
import type { Holds } from '../ledger/holds.ts'
import type { Dispatchers } from '../outbound/dispatchers.ts'
import type { TableFollower } from '../table/follower.ts'
import type { ProxyMetrics } from '../telemetry/metrics.ts'
import type { RequestLog } from '../telemetry/request-log.ts'
import type { ChannelHealth } from '../upstream/health.ts'
import type { RetryBudget } from '../upstream/retry-budget.ts'
import type { Revocation } from './admission/revocation.ts'
import type { BodyMemory } from './body/memory.ts'
import type { BodyTurns } from './body/turns.ts'
import type { ConversationLimits } from './conversation/previous.ts'
import type { Shutdown } from './request/shutdown.ts'

export interface Gateway {
  follower: TableFollower
  holds: Holds
  factors: EstimateFactors
  dispatchers: Dispatchers
  health: ChannelHealth
  retryBudget: RetryBudget
  metrics: ProxyMetrics
  log: RequestLog
  /** Proxies whose X-Forwarded-For is believed. */
  trustedProxies: AddressSet
  limits: Limits
  /** What the bodies of requests take. */
  bodyMemory: BodyMemory
  /** When large ones are parsed. */
  bodyTurns: BodyTurns
  /** Conversations that were kept. */
  state: StateStore
  conversations: ConversationLimits
  /** What should be served where it was served before. */
  affinity: Affinity
  /** An answer could not be kept. */
  stateFailed(error: unknown): void
  /** Seals vendor state that clients carry. */
  sealing: KeyRing
  shutdown: Shutdown
  revocation: Revocation
}

/** Bounds on what clients and upstreams may send and how long they may take; see docs/environment.md. */
export interface Limits {
  maxBodyBytes: number
  /** Of a form that is passed on while it comes. */
  maxUploadBytes: number
  maxInflatedBytes: number
  /** Lower bounds for bodies, by endpoint. */
  endpointBytes: ReadonlyMap<string, number>
  maxAnswerBytes: number
  maxEventBytes: number
  maxJsonDepth: number
  maxJsonKeys: number
  maxJsonValues: number
  form: FormLimits
  streamKeepAliveMs: number
  clientStallMs: number
}

/** Those on a request body, for its dialect. */
export function jsonLimitsOf({ maxJsonDepth, maxJsonKeys, maxJsonValues, form }: Limits): JsonLimits {
  return { maxDepth: maxJsonDepth, maxKeys: maxJsonKeys, maxValues: maxJsonValues, form }
}
