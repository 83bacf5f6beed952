/** Conditions and status fields, in the form that kubectl and GitOps tools expect. */
import { z } from 'zod'

/**
 * Condition types. Accepted: the spec is valid and in force. ResolvedRefs: everything it refers to exists. Priced: the
 * route has a price or is free. Programmed: every live proxy serves this generation. Ready: the summary. Stalled: the
 * resource is not accepted, and waiting will not help. Healthy: the upstream of a channel answers; Ready does not depend
 * on it. AtRisk: the store may lose the balance of an account; Ready does not depend on it. FundsLow: a balance or a budget is
 * nearly or wholly used up; Ready does not depend on it. Stalled, AtRisk and FundsLow are negative and absent unless they
 * hold.
 */
export const CONDITION_TYPES = [
  'Accepted',
  'ResolvedRefs',
  'Priced',
  'Programmed',
  'Ready',
  'Stalled',
  'Healthy',
  'AtRisk',
  'FundsLow',
] as const
export type ConditionType = (typeof CONDITION_TYPES)[number]

/** Reasons of conditions, with their meaning for the reference page. */
export const REASONS = {
  Accepted: 'The spec is valid and in force.',
  Invalid: 'The spec does not match the schema or breaks a rule; the message says what to change.',
  Conflicted: 'An older resource already uses the model, the key or the name of the credit.',
  Disabled: 'The spec is valid and switches the resource off.',
  Expired:
    'The time in spec.expiresAt, or the last one in spec.secretRefs, has passed: the key is refused, and its requests in flight were cut off.',
  Expiring: 'In force, but the key expires within a day; the message says when.',
  ShortKey: 'In force, but the key has fewer than 20 characters.',
  ResolvedRefs: 'Everything that the spec refers to exists.',
  RefNotFound: 'Something that the spec refers to does not exist; the message says what.',
  RefNotInForce: 'Something that the spec refers to exists but is not in force; its own conditions say why.',
  PartiallyReady: 'The route serves, but without the channels that the message lists.',
  Priced: 'The route has a price or is free.',
  Unpriced:
    'The route is not free and has no price for everything that it serves: enforced accounts cannot use it.',
  Programmed: 'Every live proxy serves this generation.',
  AlreadyApplied: 'The ledger had applied the credit before; nothing was added again.',
  Pending: 'Not every live proxy serves this generation yet, or the controller has not processed it yet.',
  NoProxies: 'No proxy is alive.',
  LedgerLost:
    'The ledger has lost the balance of the account, which stays closed until Redis is restored from a backup.',
  StoreEvicts:
    'Redis may evict balances, or what protects them, because its maxmemory-policy is not noeviction. New accounts are not opened under a policy that evicts every key.',
  StoreNotPersistent: 'Redis saves nothing to disk, so that all balances are lost when it ends.',
  FundsLow: 'A balance is below an amount of spec.lowBalance, or a budget has reached a soft limit.',
  Healthy: 'No live proxy reports failures of the channel.',
  Failing: 'The last attempt failed on some proxies; the message says since when, and why.',
  Ejected: 'Some proxies ejected the channel after failures in a row; the message says how many.',
  Ready:
    'All other conditions are true. Where one of them has a note as its reason, such as Disabled, Ready has that reason.',
} as const
export type Reason = keyof typeof REASONS

export const condition = z.strictObject({
  type: z.string().max(64).meta({
    description: 'Accepted, ResolvedRefs, Priced, Programmed, Ready, Stalled, Healthy, AtRisk or FundsLow.',
  }),
  status: z.enum(['True', 'False', 'Unknown']).meta({ description: 'Whether the condition is true.' }),
  observedGeneration: z
    .int()
    .min(0)
    .optional()
    .meta({ description: 'The generation that the condition describes.' }),
  lastTransitionTime: z.iso.datetime({ offset: true }).meta({ description: 'When the status last changed.' }),
  reason: z
    .string()
    .min(1)
    .max(128)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .meta({ description: 'One word, for programs.' }),
  message: z.string().max(4096).meta({ description: 'What is wrong and what to do, for people.' }),
})
export type Condition = z.output<typeof condition>

/** A status schema: conditions plus the fields of one kind. */
export function statusOf<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject({
    observedGeneration: z.int().min(0).optional().meta({
      description: 'The generation that this status describes. If it is not the latest, the status is stale.',
    }),
    conditions: z
      .array(condition)
      .max(8)
      .optional()
      .meta({
        description: 'The current state of the resource, one entry for each condition type.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
      }),
    ...shape,
  })
}

/** The last columns of every kind. */
export const READY_COLUMNS = [
  {
    name: 'Ready',
    jsonPath: '.status.conditions[?(@.type=="Ready")].status',
    type: 'string' as const,
    description: 'True when the resource is in force on every live proxy.',
  },
  {
    name: 'Reason',
    jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
    type: 'string' as const,
    description: 'Why it is or is not ready.',
  },
  {
    name: 'Age',
    jsonPath: '.metadata.creationTimestamp',
    type: 'date' as const,
    description: 'Time since creation.',
  },
]
