/** Fields that this version does not know, because the CRD in the cluster is a newer one. */
import type { z } from 'zod'
import { fieldName } from '../explain.ts'

/** Returns a copy of the spec without them, and their names. */
export function withoutUnknown(schema: z.ZodType, spec: unknown): { spec: unknown; fields: string[] } {
  const { error } = schema.safeParse(spec)
  const copy = structuredClone(spec)
  const fields: string[] = []
  for (const issue of error?.issues ?? []) {
    if (issue.code !== 'unrecognized_keys') continue
    const path = issue.path.filter((part) => typeof part !== 'symbol')
    const parent = path.reduce<unknown>((value, part) => Reflect.get(Object(value), part), copy)
    for (const key of issue.keys) {
      Reflect.deleteProperty(Object(parent), key)
      fields.push(fieldName(['spec', ...path, key]))
    }
  }
  return { spec: copy, fields }
}
