/** A line of the request log as a row of a table, and why the request failed. */
import { z } from 'zod'
import { jsonOf } from '../contract/text.ts'
import { totalInput } from '../contract/usage.ts'
import { CommandFailure } from './command.ts'
import type { Cell } from './table.ts'

/** Characters of a request id that are shown: enough for --request-id. */
const ID_LENGTH = 16
/** Characters that are quoted from an upstream's error. */
const QUOTE_LENGTH = 200

const count = z.number()
const usage = z.object({
  ...{ input: count, cachedInput: count, cacheWrite: count, cacheWriteLong: count },
  ...{ output: count, reasoning: count, images: count },
})

const attempt = z.object({
  channel: z.string(),
  path: z.string().optional(),
  status: z.number().optional(),
  class: z.string(),
  detail: z.string().optional(),
  body: z.string().optional(),
})
type Attempt = z.output<typeof attempt>

/** The fields of a line that are shown. */
export const entrySchema = z.object({
  time: z.string(),
  requestId: z.string(),
  endpoint: z.string(),
  key: z.string().optional(),
  model: z.string().optional(),
  route: z.string().optional(),
  status: z.number(),
  code: z.string().optional(),
  param: z.string().optional(),
  outcome: z.string().optional(),
  attempts: z.array(attempt),
  usage: usage.optional(),
  settled: z.string().optional(),
  ms: z.object({ total: z.number() }),
})
export type Entry = z.output<typeof entrySchema>

/** Throws CommandFailure for a line that another version wrote. */
export function entryOf(line: string): Entry {
  const result = entrySchema.safeParse(JSON.parse(line))
  if (!result.success) throw new CommandFailure('the log has a line that this version cannot read')
  return result.data
}

export const LOG_HEADS = [
  ...['time', 'id', 'key', 'model', 'route', 'status', 'code', 'tries', 'tokens', 'cost', 'ms'],
  ...['reason', 'attempts'],
]

export function rowOf(logged: Entry): Cell[] {
  const { time, requestId, key, model, route, status, code, attempts, settled, ms } = logged
  return [
    time.replace(/^\d{4}-([^T]*)T([^.]*)\.\d+Z$/, '$1 $2'),
    requestId.slice(0, ID_LENGTH),
    ...[key, model, route, status, code, attempts.length],
    logged.usage === undefined ? undefined : `${totalInput(logged.usage)}/${logged.usage.output}`,
    shortCost(settled),
    Math.round(ms.total),
    reasonOf(logged),
    attempts.map(attemptText).join('; '),
  ]
}

/** Why a request failed, as far as the log says; undefined if it did not fail. */
export function reasonOf({ status, outcome, param, attempts }: Entry): string | undefined {
  const ended = outcome === 'finished' ? undefined : outcome
  if (status < 400 && ended === undefined) return undefined
  const failed = attempts.findLast((each) => each.class !== 'ok' && each.class !== 'cancelled')
  const parts = [
    ended,
    param === undefined ? undefined : `field ${param}`,
    failed?.class,
    failed?.detail,
    failed?.body === undefined ? undefined : quoteOf(failed.body),
  ].filter((part) => part !== undefined && part !== '')
  return [...new Set(parts)].join(', ')
}

/** Channel and path of an attempt, and its failure if it failed. */
function attemptText({ channel, path, status, class: outcome, detail }: Attempt): string {
  const where = path === undefined ? channel : `${channel} ${path}`
  if (outcome === 'ok') return where
  return [where, status, outcome, detail === `http_${status}` ? undefined : detail]
    .filter((part) => part !== undefined)
    .join(' ')
}

const withMessage = z.object({ message: z.string() })
const errorBody = z.union([
  z.object({ error: withMessage }).transform(({ error }) => error.message),
  withMessage.transform(({ message }) => message),
  z.object({ error: z.string() }).transform(({ error }) => error),
  z.object({ detail: z.string() }).transform(({ detail }) => detail),
])

/** The message in an upstream's error body, else the beginning of the body. */
function quoteOf(body: string): string {
  const text = errorBody.safeParse(jsonOf(body)).data ?? body
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length <= QUOTE_LENGTH ? line : `${line.slice(0, QUOTE_LENGTH)}…`
}

/** At most six decimals; the JSON output has all of them. */
function shortCost(dollars: string | undefined): string | undefined {
  return dollars === undefined ? undefined : String(Number(Number(dollars).toFixed(6)))
}
