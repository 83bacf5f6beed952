/** What a resource kind is: its schema, its rules and how kubectl shows it. Types, CRDs and docs are made from this. */
import type { z } from 'zod'

export const GROUP = 'sluice.dev'
export const VERSION = 'v1alpha1'
export const API_VERSION = `${GROUP}/${VERSION}`

/**
 * A rule that no single field can state. `cel` (over `self`, the spec, and `oldSelf` in a rule on changes) and
 * `message` go into the CRD; `test` is the same rule for folder mode and the controller. Both must agree on every
 * value: each rule has cases that run through both.
 */
export interface Rule<Spec> {
  cel: string
  /** Says what is wrong and what to write instead. */
  message: string
  /** True when the value is fine. `old` is the spec before an update; a rule on changes is true without it. */
  test: (spec: Spec, old?: Spec) => boolean
}

/** A column of `kubectl get`. */
export interface Column {
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
  /** True: a resource may be without a spec, and then has an empty one. */
  specOptional?: true
  status: StatusSchema
  rules: Rule<z.output<SpecSchema>>[]
  columns: Column[]
  /** Fields that `kubectl get --field-selector` may name. */
  selectableFields: string[]
}

/** A resource of one kind as the controller sees it: parsed, with the metadata that matters. */
export interface Resource<Spec> {
  kind: string
  metadata: Metadata
  spec: Spec
}

export interface Metadata {
  namespace: string
  name: string
  /** The API server's: another one for a resource made anew under the same name. Absent in a folder. */
  uid?: string
  /** Rises with every change of the spec. */
  generation: number
  /** Milliseconds since the epoch; decides which of two competing resources is the older. */
  createdAt: number
}

export function defineKind<S extends z.ZodType, T extends z.ZodType>(kind: Kind<S, T>): Kind<S, T> {
  return kind
}
