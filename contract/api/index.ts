/** The five kinds of the group sluice.dev. Types, CRDs, reference docs and folder mode are based on this list. */
import { account } from './account.ts'
import { apiKey } from './apikey.ts'
import { channel } from './channel.ts'
import { credit } from './credit.ts'
import { modelRoute } from './modelroute.ts'

export { type AccountSpec, type AccountStatus, account } from './account.ts'
export { type ApiKeySpec, type ApiKeyStatus, apiKey } from './apikey.ts'
export { CHANNEL_TYPES, type ChannelSpec, type ChannelStatus, type ChannelType, channel } from './channel.ts'
export { type CreditSpec, type CreditStatus, credit } from './credit.ts'
export {
  API_VERSION,
  type Column,
  GROUP,
  type Kind,
  type Metadata,
  type Resource,
  type Rule,
  VERSION,
} from './kind.ts'
export {
  COSTLIER_TIERS,
  type ModelRouteSpec,
  type ModelRouteStatus,
  modelRoute,
  TIERS,
  type Tier,
} from './modelroute.ts'
export { CONDITION_TYPES, type Condition, type ConditionType, REASONS, type Reason } from './status.ts'

export const KINDS = {
  ApiKey: apiKey,
  Account: account,
  Credit: credit,
  Channel: channel,
  ModelRoute: modelRoute,
} as const
export type KindName = keyof typeof KINDS
