/** Pages that the command line reads: why a request would be refused or where it would go, and recent requests. */
import { z } from 'zod'
import { AdminError, type AdminPage } from '../admin/server.ts'
import { DEFAULT_ENDPOINT } from '../contract/endpoints.ts'
import { type StateStore, type Store, StoreUnavailable } from '../store/contract.ts'
import { explain, type Known } from './pipeline/explain.ts'

/** Lines that are read first, from the end: most searches are for recent lines, and reading the whole log takes time. */
const READ_FIRST = 200
/** The store's log has no more lines than this. */
const SEARCHED_LINES = 10_000
const MAX_LINES = 1_000
const DEFAULT_LINES = 20

const tokens = z.coerce.number().int().min(0).max(10_000_000)
const question = z.object({
  keyHash: z.string().regex(/^[0-9a-f]{64}$/, 'must be the SHA-256 of a key, in hex'),
  model: z.string().min(1),
  endpoint: z.string().min(1).default(DEFAULT_ENDPOINT),
  inputTokens: tokens.default(1_000),
  maxOutputTokens: tokens.optional(),
})

const filter = z.object({
  /** A request id, or its beginning. */
  requestId: z.string().optional(),
  /** An ApiKey: its name, or namespace/name. */
  key: z.string().optional(),
  namespace: z.string().optional(),
  status: z
    .string()
    .regex(/^[1-5]([0-9]{2}|xx)$/, 'must be a status such as 502, or a class such as 5xx')
    .optional(),
  /** Requests that ended at this time or later. */
  since: z.iso.datetime().optional(),
  limit: z.coerce.number().int().min(1).max(MAX_LINES).default(DEFAULT_LINES),
})
type Filter = z.output<typeof filter>

/** The fields that a filter reads. */
const loggedLine = z.object({
  time: z.string().optional(),
  requestId: z.string(),
  key: z.string().optional(),
  namespace: z.string().optional(),
  status: z.number(),
})

/** `/explain` and `/logs` of the admin port. */
export function proxyPages(
  gateway: Known,
  store: Pick<Store, 'ledger' | 'state'>,
): Record<string, AdminPage> {
  return {
    '/explain': (query) => explain(gateway, store.ledger, parsedQuery(question, query), Date.now()),
    '/logs': async (query) => ({ lines: await logged(store.state, parsedQuery(filter, query)) }),
  }
}

/** Throws AdminError when the store is away. */
async function logged(state: Pick<StateStore, 'recentLog'>, wanted: Filter): Promise<string[]> {
  try {
    for (let count = Math.max(READ_FIRST, wanted.limit); ; count *= 10) {
      const lines = await state.recentLog(Math.min(count, SEARCHED_LINES))
      const found = matching(lines, wanted)
      const isAll = lines.length < count || count >= SEARCHED_LINES || reaches(lines.at(-1), wanted.since)
      if (found.length === wanted.limit || isAll) return found
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    throw new AdminError(503, 'the log cannot be read: the store is away')
  }
}

/** True when the oldest line that was read is older than the wanted ones. */
function reaches(line: string | undefined, since: string | undefined): boolean {
  const time = line === undefined ? undefined : parsedLine(line)?.time
  return since !== undefined && time !== undefined && time < since
}

/** Throws AdminError, naming the parameter. */
function parsedQuery<Schema extends z.ZodType>(schema: Schema, query: URLSearchParams): z.output<Schema> {
  const parsed = schema.safeParse(Object.fromEntries(query))
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  throw new AdminError(400, faults.join('; '))
}

/** The newest lines that match, as they were written. */
function matching(lines: readonly string[], wanted: Filter): string[] {
  const found: string[] = []
  for (const line of lines) {
    if (found.length === wanted.limit) break
    const parsed = parsedLine(line)
    if (parsed !== undefined && matches(parsed, wanted)) found.push(line)
  }
  return found
}

/** Undefined for a text that is not a line of the request log. */
function parsedLine(line: string): z.output<typeof loggedLine> | undefined {
  try {
    return loggedLine.parse(JSON.parse(line))
  } catch {
    return undefined
  }
}

function matches(
  line: z.output<typeof loggedLine>,
  { requestId, key, namespace, status, since }: Filter,
): boolean {
  return (
    (requestId === undefined || line.requestId.startsWith(requestId)) &&
    (key === undefined || line.key === key || line.key?.split('/')[1] === key) &&
    (since === undefined || (line.time ?? '') >= since) &&
    (namespace === undefined || line.namespace === namespace) &&
    (status === undefined || String(line.status).startsWith(status.replace('xx', '')))
  )
}
