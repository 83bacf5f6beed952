/** What the first process and its workers send each other. */
import { z } from 'zod'

/** In the environment of a worker, as JSON: WORKER_ASSIGNMENT. */
export const assignment = z.object({
  /** 1 to SLUICE_WORKERS. */
  worker: z.number(),
  /** SLUICE_WORKERS. */
  workers: z.number(),
  /** Its name among the proxies of the store. */
  instance: z.string(),
  /** The admin port of the first process. */
  adminPort: z.number(),
})
export type Assignment = z.output<typeof assignment>

/** The page with the worker's metrics; the others are those of the admin port. */
export const METRICS_PAGE = '/metrics'

/** To a worker. */
export const order = z.discriminatedUnion('type', [
  /** Answer a page of the admin port. */
  z.object({ type: z.literal('ask'), id: z.number(), path: z.string(), query: z.string() }),
  z.object({ type: z.literal('stop'), graceMs: z.number() }),
])
export type Order = z.output<typeof order>

/** From a worker. */
export const report = z.discriminatedUnion('type', [
  z.object({ type: z.literal('listening'), port: z.number() }),
  /** It cannot start: what the program prints, and its exit code. */
  z.object({ type: z.literal('failed'), text: z.string(), code: z.number() }),
  z.object({ type: z.literal('answer'), id: z.number(), value: z.unknown() }),
  /** An AdminError. */
  z.object({ type: z.literal('refusal'), id: z.number(), status: z.number(), message: z.string() }),
])
export type Report = z.output<typeof report>
