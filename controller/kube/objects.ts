/** Objects in lists and watches. https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes */
import { z } from 'zod'
import { statusSchema } from './errors.ts'
import { kubeObject } from './types.ts'

const eventSchema = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['ADDED', 'MODIFIED', 'DELETED']), object: kubeObject }),
  z.object({
    type: z.literal('BOOKMARK'),
    object: z.object({
      metadata: z.object({
        resourceVersion: z.string(),
        annotations: z.record(z.string(), z.string()).optional(),
      }),
    }),
  }),
  z.object({ type: z.literal('ERROR'), object: statusSchema }),
])

const pageSchema = z.object({
  metadata: z.object({ resourceVersion: z.string(), continue: z.string().optional() }),
  items: z.array(kubeObject).nullish(),
})

export type WatchEvent = z.infer<typeof eventSchema>
export type Page = z.infer<typeof pageSchema>

export const parseEvent = (line: unknown): WatchEvent => eventSchema.parse(line)
export const parsePage = (body: unknown): Page => pageSchema.parse(body)

/** https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists: later events are changes. */
export function endsInitialEvents(event: WatchEvent): boolean {
  return (
    event.type === 'BOOKMARK' && event.object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true'
  )
}

/**
 * True if the version `now` is older than `then`. Versions of one resource are comparable integers:
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
 */
export function wentBack(now: string, then: string): boolean {
  const numbers = /^\d+$/.test(now) && /^\d+$/.test(then)
  return numbers && BigInt(now) < BigInt(then)
}
