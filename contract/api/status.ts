/** Conditions and status fields, as kubectl and GitOps tools read them. */
import { z } from 'zod'

/**
 * Condition types. Accepted: the spec is valid and in force. ResolvedRefs: everything it names exists. Priced: a route
 * has a price or is free. Programmed: every live proxy serves this generation. Ready: the summary. Stalled is the one
 * negative type and is absent unless it holds: the resource is not accepted, and waiting does not change that. Healthy, of
 * a channel, says whether its upstream answers; Ready does not depend on it.
 */
export const CONDITION_TYPES = [
  'Accepted',
  'ResolvedRefs',
  'Priced',
  'Programmed',
  'Ready',
  'Stalled',
  'Healthy',
] as const
export type ConditionType = (typeof CONDITION_TYPES)[number]

/** Reasons of conditions: a word for programs, and what it means. The reference page lists them. */
export const REASONS = {
  Accepted: 'The spec is valid and in force.',
  Invalid: 'The spec does not parse or breaks a rule; the message says what to change.',
  NotSupported: 'The spec asks for something that this version does not enforce, so it is not in force.',
  Conflicted: 'An older resource already has the model, the key or the credit’s name.',
  Disabled: 'The spec is valid and switches the resource off.',
  Expired:
    'The time in spec.expiresAt has come, or the last one of spec.secretRefs: the key is refused, and what it had in flight was broken off.',
  Expiring: 'In force, but the key expires within a day; the message says when.',
  ShortKey: 'In force, but the key has fewer than 20 characters.',
  ResolvedRefs: 'Everything that the spec names exists.',
  RefNotFound: 'Something that the spec names does not exist; the message says what.',
  RefNotInForce: 'Something that the spec names exists and is not in force; its own conditions say why.',
  PartiallyReady: 'The route serves, without the channels that the message names.',
  Priced: 'The route has a price or is free.',
  Unpriced:
    'Not free, and without a price for all that it answers: accounts that are enforced cannot use the route.',
  Programmed: 'Every live proxy serves this generation.',
  AlreadyApplied: 'The ledger took the credit before; nothing was added again.',
  Pending: 'Not every live proxy serves this generation yet, or the controller has not looked at it.',
  NoProxies: 'No proxy is alive.',
  LedgerLost:
    'The ledger has lost the balance of the account, which stays closed until Redis is restored from a copy.',
  Healthy: 'No live proxy sees the channel fail.',
  Failing: 'The last attempt failed at some proxies; the message says since when, and why.',
  Ejected: 'Some proxies let the channel rest after failures in a row; the message says how many.',
  Ready:
    'All other conditions are true. Ready has the reason of another condition where that is a note, such as Disabled.',
} as const
export type Reason = keyof typeof REASONS

export const condition = z.strictObject({
  type: z
    .string()
    .max(64)
    .meta({ description: 'Accepted, ResolvedRefs, Priced, Programmed, Ready, Stalled or Healthy.' }),
  status: z.enum(['True', 'False', 'Unknown']).meta({ description: 'Whether the condition holds.' }),
  observedGeneration: z.int().min(0).optional().meta({ description: 'The generation that was judged.' }),
  lastTransitionTime: z.iso.datetime({ offset: true }).meta({ description: 'When the status last changed.' }),
  reason: z
    .string()
    .min(1)
    .max(128)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .meta({ description: 'One word for programs.' }),
  message: z.string().max(4096).meta({ description: 'A sentence for people: what is wrong and what to do.' }),
})
export type Condition = z.output<typeof condition>

/** A status schema: conditions plus the fields of one kind. */
export function statusOf<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject({
    observedGeneration: z
      .int()
      .min(0)
      .optional()
      .meta({ description: 'The generation that this status judges; an older one makes all of it stale.' }),
    conditions: z
      .array(condition)
      .max(8)
      .optional()
      .meta({
        description: 'What is true of the resource now, one entry for each type.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
      }),
    ...shape,
  })
}

/** Columns that every kind ends with. */
export const READY_COLUMNS = [
  {
    name: 'Ready',
    jsonPath: '.status.conditions[?(@.type=="Ready")].status',
    type: 'string' as const,
    description: 'True when every live proxy serves it.',
  },
  {
    name: 'Reason',
    jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
    type: 'string' as const,
    description: 'Why it is, or is not, ready.',
  },
  {
    name: 'Age',
    jsonPath: '.metadata.creationTimestamp',
    type: 'date' as const,
    description: 'Time since creation.',
  },
]
