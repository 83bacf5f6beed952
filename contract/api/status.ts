/** Conditions and status fields, as kubectl and GitOps tools read them. */
import { z } from 'zod'

/**
 * Condition types, all positive. Accepted: the spec is valid and in force. ResolvedRefs: everything it names exists.
 * Priced: a route has a price or is free. Programmed: every live proxy serves this generation. Ready: the summary.
 */
export const CONDITION_TYPES = ['Accepted', 'ResolvedRefs', 'Priced', 'Programmed', 'Ready'] as const
export type ConditionType = (typeof CONDITION_TYPES)[number]

export const condition = z.strictObject({
  type: z.string().max(64).meta({ description: 'Accepted, ResolvedRefs, Priced, Programmed or Ready.' }),
  status: z.enum(['True', 'False', 'Unknown']),
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
    conditions: z
      .array(condition)
      .max(8)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] }),
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
