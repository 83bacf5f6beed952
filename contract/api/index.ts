/** The five kinds of the group sluice.dev. Types, CRDs, reference docs and folder mode are based on this list. */
import type { z } from 'zod'
import { account } from './account.ts'
import { apiKey } from './apikey.ts'
import { channel } from './channel.ts'
import { credit } from './credit.ts'
import { modelRoute } from './modelroute.ts'

export type { AccountSpec } from './account.ts'
export type { ApiKeySpec } from './apikey.ts'
export type { ChannelSpec } from './channel.ts'
export type { CreditSpec } from './credit.ts'
export { API_VERSION, GROUP, type Kind, type Metadata, type Resource, type Rule, VERSION } from './kind.ts'
export type { ModelRouteSpec } from './modelroute.ts'
export { COSTLIER_TIERS } from './price.ts'
export { CONDITION_TYPES, type Condition, type ConditionType, REASONS, type Reason } from './status.ts'

export const KINDS = {
  ApiKey: apiKey,
  Account: account,
  Credit: credit,
  Channel: channel,
  ModelRoute: modelRoute,
} as const
export type KindName = keyof typeof KINDS
export const KIND_NAMES = Object.keys(KINDS) as KindName[]
/** The spec of each kind. */
export type Specs = { [Name in KindName]: z.output<(typeof KINDS)[Name]['spec']> }
