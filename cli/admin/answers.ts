/** The answers of admin pages, as far as the command line reads them. */
import { z } from 'zod'

/** One program, as its admin port describes it. */
const instance = z.object({
  role: z.enum(['controller', 'proxy']),
  instance: z.string(),
  /** Absent while unknown. */
  epoch: z.number().optional(),
  generation: z.number().optional(),
  ready: z.boolean(),
  reason: z.string().optional(),
  /** Of a proxy: whether the store answers it. */
  store: z.enum(['reachable', 'away']).optional(),
  /** Of a controller: whether it holds the Lease. */
  leading: z.boolean().optional(),
  /** Of a leader: more than half of the keys or routes were removed at once in its term. */
  removal: z.object({ at: z.string(), message: z.string(), namespaces: z.array(z.string()) }).optional(),
  /** Of a leader: how long journal and checkpoint could not be written; absent while they can. */
  lag: z.object({ journalSeconds: z.number(), checkpointSeconds: z.number() }).optional(),
  /** Of a leader: ways in which Redis may lose balances; absent without one. */
  risks: z
    .array(z.object({ kind: z.string(), message: z.string(), servers: z.array(z.string()) }))
    .optional(),
  /** Of a controller: the heartbeats of the live proxies; absent if the store does not answer. */
  proxies: z.array(z.object({ proxy: z.string(), epoch: z.number(), generation: z.number() })).optional(),
})
export type Instance = z.output<typeof instance>

/** `/status` */
export const statusAnswer = z.object({ instances: z.array(instance) })

/** `/ledger`; amounts are in nano-dollars. */
export const ledgerAnswer = z.object({
  leading: z.boolean(),
  accounts: z.array(
    z.object({
      accountId: z.string(),
      name: z.string(),
      credited: z.number(),
      spent: z.number(),
      lastEntry: z.string().optional(),
    }),
  ),
})
export type LedgerAccount = z.output<typeof ledgerAnswer>['accounts'][number]

/** `/usage`; costs are in nano-dollars. */
export const usageAnswer = z.object({
  leading: z.boolean(),
  lines: z.array(
    z.object({ of: z.record(z.string(), z.string()), counts: z.record(z.string(), z.number()) }),
  ),
})
export type UsageLine = z.output<typeof usageAnswer>['lines'][number]

/** `/keys` */
export const keyAnswer = z.object({
  namespace: z.string(),
  name: z.string(),
  hashes: z.array(z.string()),
  preview: z.string().optional(),
})
export type KeyAnswer = z.output<typeof keyAnswer>

/** `/resources` */
export const resourcesAnswer = z.array(
  z.object({
    kind: z.string(),
    namespace: z.string(),
    name: z.string(),
    status: z.looseObject({
      conditions: z.array(
        z.object({ type: z.string(), status: z.string(), reason: z.string(), message: z.string() }),
      ),
      /** Of Accounts, in dollars. */
      credited: z.string().optional(),
      spent: z.string().optional(),
    }),
  }),
)
export type ListedResource = z.output<typeof resourcesAnswer>[number]

/** `/explain` */
export const explanationAnswer = z.object({
  generation: z.number(),
  refusal: z.object({ status: z.number(), code: z.string(), reason: z.string() }).optional(),
  key: z.object({ namespace: z.string(), name: z.string(), preview: z.string() }).optional(),
  account: z.string().optional(),
  route: z.string().optional(),
  candidates: z.array(
    z.object({
      channel: z.string(),
      type: z.string(),
      model: z.string(),
      priority: z.number(),
      weight: z.number(),
      share: z.number(),
      lane: z.string().optional(),
      state: z.enum(['ready', 'resting', 'full', 'not_eligible']),
      restsForMs: z.number().optional(),
      reason: z.string().optional(),
    }),
  ),
  hold: z.object({ amount: z.string(), inputTokens: z.number(), outputTokens: z.number() }).optional(),
  funds: z
    .object({
      available: z.string(),
      balance: z.string(),
      held: z.string(),
      overdraft: z.string(),
      enforced: z.boolean(),
    })
    .optional(),
  notes: z.array(z.string()),
})
export type ExplanationAnswer = z.output<typeof explanationAnswer>

/** `/logs` */
export const logsAnswer = z.object({ lines: z.array(z.string()) })
