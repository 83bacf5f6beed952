/**
 * The records that the controller compiles and the proxies read: without Kubernetes types, with a version. A reader that
 * finds an unknown version or a record that does not parse keeps its last good one.
 */
import { z } from 'zod'
import { ERROR_MESSAGES, ON_DISCONNECT } from '../api/channel.ts'
import { PERIODS } from '../api/limits.ts'
import { OUTPUT_LIMITS } from '../api/modelroute.ts'
import { CHANNEL_TYPES } from '../apis.ts'
import { FAILURE_CLASSES } from '../failures.ts'
import { features } from '../features.ts'
import { PROFILES } from '../profiles.ts'

/** Version of key and account records. */
export const RECORD_VERSION = 1
/** Version of the table. Separate from that of records, so that proxies of two versions can read the same keys. */
export const TABLE_VERSION = 4 as const
const nanos = z.int()
const milliseconds = z.int().min(0)

/** An upstream, with all that a call needs. In plain text only in memory: a shared store seals it. */
export const channelRecord = z.object({
  name: z.string(),
  type: z.enum(CHANNEL_TYPES),
  baseURL: z.string(),
  auth: z.object({
    scheme: z.enum(['Bearer', 'XApiKey', 'Header', 'None']),
    header: z.string().optional(),
    /** The upstream credential. */
    secret: z.string().optional(),
  }),
  headers: z.record(z.string(), z.string()),
  query: z.record(z.string(), z.string()),
  profile: z.enum(PROFILES),
  features,
  timeoutsMs: z.object({
    connect: milliseconds,
    firstByte: milliseconds,
    idle: milliseconds,
    total: milliseconds,
    /** Absent in tables of older controllers. */
    drain: milliseconds.optional(),
  }),
  /** What becomes of a call whose client has left; absent: Abort. */
  onDisconnect: z.enum(ON_DISCONNECT).optional(),
  maxConcurrentRequests: z.int().optional(),
  /** Generic: clients never see messages of the upstream. */
  errorMessages: z.enum(ERROR_MESSAGES).optional(),
  tls: z
    .object({
      ca: z.string().optional(),
      serverName: z.string().optional(),
      /** PEM, as is `ca`. The key is as secret as the credential. */
      clientCertificate: z.object({ cert: z.string(), key: z.string() }).optional(),
    })
    .optional(),
  ejection: z.object({ consecutiveFailures: z.int(), intervalMs: milliseconds, maxIntervalMs: milliseconds }),
})
export type ChannelRecord = z.output<typeof channelRecord>

const tokenPrices = {
  input: nanos,
  cachedInput: nanos,
  cacheWrite: nanos,
  cacheWriteLong: nanos,
  output: nanos,
  imageInput: nanos.optional(),
  audioInput: nanos.optional(),
  audioOutput: nanos.optional(),
  reasoning: nanos.optional(),
}
const priceRecord = z.object({
  ...tokenPrices,
  perCall: z
    .object({ webSearch: nanos.optional(), fileSearch: nanos.optional(), codeInterpreter: nanos.optional() })
    .optional(),
  above: z.array(z.object({ tokens: z.int(), ...tokenPrices })).optional(),
  perRequest: nanos,
  perImage: nanos,
  images: z
    .array(z.object({ size: z.string().optional(), quality: z.string().optional(), amount: nanos }))
    .optional(),
  /** Factors by tier, in billionths. */
  multipliers: z.record(z.string(), z.int()),
})

/** One channel of a route. */
const targetRecord = z.object({
  /** Key in `channels` of the namespace. */
  channel: z.string(),
  /** Upstream model; `*` stands for the text that the wildcard matched. Absent: the client's model, or that text. */
  model: z.string().optional(),
  priority: z.int(),
  weight: z.int(),
  profile: z.enum(PROFILES).optional(),
  /** Present if `profile` is; replace those of the channel. */
  features: features.optional(),
  /** What the upstream charges. */
  cost: priceRecord.optional(),
})
export type TargetRecord = z.output<typeof targetRecord>

export const routeRecord = z.object({
  /** Name of the ModelRoute: the only model label that metrics carry. */
  name: z.string(),
  /** As clients send it; a wildcard ends in `*`. */
  model: z.string(),
  /** Seconds since the epoch, for the model list. */
  created: z.int(),
  /** Models of a wildcard that the model list shows. */
  listed: z.array(z.string()).optional(),
  targets: z.array(targetRecord),
  /** All channels of the route, in force or not, have the type images: they answer text with images. */
  picturesOnly: z.boolean().optional(),
  affinity: z.object({ mode: z.enum(['None', 'Session']), ttlMs: milliseconds }),
  retry: z.object({
    attempts: z.int(),
    on: z.array(z.enum(FAILURE_CLASSES)),
    perTryTimeoutMs: milliseconds.optional(),
  }),
  conversion: z.object({ unsupported: z.enum(['Drop', 'Reject']) }),
  rewriteModel: z.boolean(),
  maxOutputTokens: z.int().optional(),
  contextLength: z.int().optional(),
  /** Absent: Funds. */
  outputLimit: z.enum(OUTPUT_LIMITS).optional(),
  /** A route that has no price and is not free is not served to enforced accounts. */
  price: priceRecord.optional(),
  /** Changes whenever the price does; entries of the ledger name it. */
  priceVersion: z.string().optional(),
  free: z.boolean(),
  display: z.object({
    name: z.string().optional(),
    description: z.string().optional(),
    owner: z.string().optional(),
  }),
})
export type RouteRecord = z.output<typeof routeRecord>

/** Routes and channels of all namespaces, in this form each. */
const tableOf = <R extends z.ZodType, C extends z.ZodType>(route: R, channel: C) =>
  z.object({
    version: z.literal(TABLE_VERSION),
    namespaces: z.record(
      z.string(),
      z.object({ routes: z.array(route), channels: z.record(z.string(), channel) }),
    ),
  })

export const tableRecord = tableOf(routeRecord, channelRecord)
export type TableRecord = z.output<typeof tableRecord>

/** A limit of a key or an account. */
const limitRecord = z.object({
  /** Its counter, within the key or account. */
  id: z.string(),
  kind: z.enum(['requests', 'tokens', 'concurrent']),
  most: z.int(),
  /** 0 for `concurrent`. */
  windowMs: milliseconds,
  /** A glob, for the names of models that clients use. Absent: all models. */
  model: z.string().optional(),
  /** Of `concurrent`: so many requests wait for a place in each proxy, at most this long. Absent: none waits. */
  queue: z.object({ most: z.int(), waitMs: milliseconds }).optional(),
})
export type LimitRecord = z.output<typeof limitRecord>

/** A budget of a key or an account. */
const budgetRecord = z.object({
  /** Its sums in the ledger, within the key or account. */
  id: z.string(),
  most: nanos,
  period: z.enum(PERIODS),
  timeZone: z.string(),
  /** A glob, for the names of models that clients use. Absent: all models. */
  model: z.string().optional(),
  /** Percentages at which a warning is given, rising. */
  softLimit: z.array(z.int()),
})
export type BudgetRecord = z.output<typeof budgetRecord>

/** One API key, stored under its SHA-256. */
export const keyRecord = z.object({
  version: z.literal(RECORD_VERSION),
  /** objectId of the ApiKey. */
  id: z.string(),
  namespace: z.string(),
  name: z.string(),
  /** For logs: the end of the key. */
  preview: z.string(),
  disabled: z.boolean(),
  /** Milliseconds since the epoch. */
  expiresAt: z.int().optional(),
  /** Globs; empty: all models. */
  models: z.array(z.string()),
  /** Addresses and ranges; empty: any. */
  allowedIPs: z.array(z.string()),
  /** objectId of the Account that pays; of a key that has limits or budgets and no Account, its ownAccountId; else absent: not metered. */
  account: z.string().optional(),
  limits: z.array(limitRecord).optional(),
  budgets: z.array(budgetRecord).optional(),
})
export type KeyRecord = z.output<typeof keyRecord>

/** One account, stored under its objectId. Requests with a key whose account has no record are answered 503. */
export const accountRecord = z.object({
  version: z.literal(RECORD_VERSION),
  id: z.string(),
  namespace: z.string(),
  name: z.string(),
  disabled: z.boolean(),
  enforced: z.boolean(),
  /** How far the balance may fall below zero. */
  overdraft: nanos,
  /** Of a sub-account: the account whose balance pays. Its own balance is an allowance. */
  parent: z
    .object({
      id: z.string(),
      overdraft: nanos,
      limits: z.array(limitRecord).optional(),
      budgets: z.array(budgetRecord).optional(),
    })
    .optional(),
  limits: z.array(limitRecord).optional(),
  budgets: z.array(budgetRecord).optional(),
  /** Of a sub-account whose allowance is a budget: its balance is counted, and never refuses a request. */
  byBudget: z.boolean().optional(),
  /** Balances below which a warning is given, rising. */
  lowBalance: z.array(nanos).optional(),
  /** Metrics show its balance and budgets. */
  metrics: z.boolean().optional(),
  /** It counts for a key without an Account; the key is served while the store is away. */
  ofKey: z.boolean().optional(),
})
export type AccountRecord = z.output<typeof accountRecord>

/** The table as proxies read it, with the leader's epoch and the generation. */
export const publishedTableOf = <R extends z.ZodType, C extends z.ZodType>(route: R, channel: C) =>
  z.object({ epoch: z.int(), generation: z.int(), table: tableOf(route, channel) })
export type PublishedTable = z.output<
  ReturnType<typeof publishedTableOf<typeof routeRecord, typeof channelRecord>>
>
