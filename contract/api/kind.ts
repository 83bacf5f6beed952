/** A resource kind: its schema, its rules and how kubectl shows it. Types, CRDs and docs are generated from this. */
import type { z } from 'zod'

export const GROUP = 'sluice.dev'
export const VERSION = 'v1alpha1'
export const API_VERSION = `${GROUP}/${VERSION}`

/**
 * A rule that the schema cannot express. `cel` (over `self`, the spec, and `oldSelf` in a rule on updates) and `message`
 * go into the CRD; `test` is the same rule for folder mode and the controller. Both must agree on every value: the cases
 * of each rule run through both.
 */
export interface Rule<Spec> {
  cel: string
  /** Says what is wrong and what to write instead. */
  message: string
  /** True when the value is valid. `old` is the spec before an update; a rule on updates is true without it. */
  test: (spec: Spec, old?: Spec) => boolean
}

/** A column of `kubectl get`. */
interface Column {
  name: string
  jsonPath: string
  type: 'string' | 'integer' | 'boolean' | 'date'
  description: string
  /** 1 shows the column only with `-o wide`. */
  priority?: 0 | 1
}

export interface Kind<SpecSchema extends z.ZodType = z.ZodType, StatusSchema extends z.ZodType = z.ZodType> {
  kind: string
  plural: string
  singular: string
  shortNames: string[]
  description: string
  spec: SpecSchema
  /** A resource without a spec is treated like one with an empty spec. */
  specOptional?: true
  status: StatusSchema
  rules: Rule<z.output<SpecSchema>>[]
  columns: Column[]
  /** Fields that `kubectl get --field-selector` may name. */
  selectableFields: string[]
}

/** A parsed resource, with the metadata that the controller needs. */
export interface Resource<Spec> {
  kind: string
  metadata: Metadata
  spec: Spec
}

export interface Metadata {
  namespace: string
  name: string
  /** Set by the API server; changes when a resource is re-created under the same name. Absent in folder mode. */
  uid?: string
  /** Increases with every change of the spec. */
  generation: number
  /** Milliseconds since the epoch. Of two conflicting resources, the older wins. */
  createdAt: number
}

export function defineKind<S extends z.ZodType, T extends z.ZodType>(
  kind: Omit<Kind<S, T>, 'singular' | 'plural'>,
): Kind<S, T> {
  const singular = kind.kind.toLowerCase()
  return { ...kind, singular, plural: `${singular}s` }
}
