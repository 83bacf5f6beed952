/** `sluice logs`: recent requests, newest first. */
import { z } from 'zod'
import { totalInput } from '../contract/usage.ts'
import { logsAnswer } from './admin/answers.ts'
import { findPorts } from './admin/discover.ts'
import type { AdminPort } from './admin/port.ts'
import { ofRole, type Survey, survey, tried } from './admin/survey.ts'
import { type Arguments, UsageError } from './arguments.ts'
import {
  ADMIN_OPTIONS,
  type Command,
  CommandFailure,
  OUTPUT_OPTION,
  type Terminal,
  wantsJson,
} from './command.ts'
import { type Cell, plain, table } from './table.ts'

const MAX_LINES = 1_000
const DEFAULT_LINES = 20
/** Enough of an id to ask for it again. */
const ID_LENGTH = 16

export const logs: Command = {
  name: 'logs',
  summary: 'recent requests, newest first',
  usage: '[--request-id ID] [--key NAME] [--status STATUS] [options]',
  about: `Shows what the proxies still have in their log; all conditions must hold. With -o json each line is one
request as it was logged. Costs are dollars, tokens input/output, times UTC.
Exit code 1 when no request matches, or a program is not reachable.`,
  options: {
    'request-id': {
      type: 'string',
      value: 'ID',
      help: 'the request with this x-request-id, or beginning of it',
    },
    key: { type: 'string', value: 'NAME', help: 'requests of an ApiKey: its name, or namespace/name' },
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'requests of keys of this namespace' },
    status: { type: 'string', value: 'STATUS', help: 'what the client was told, such as 502 or 5xx' },
    limit: { type: 'string', value: 'N', help: `at most so many; default ${DEFAULT_LINES}` },
    ...OUTPUT_OPTION,
    ...ADMIN_OPTIONS,
  },
  run,
}

const count = z.number()
const usage = z.object({
  ...{ input: count, cachedInput: count, cacheWrite: count, cacheWriteLong: count },
  ...{ output: count, reasoning: count, images: count },
})

/** What a row of the table shows. */
const entry = z.object({
  time: z.string(),
  requestId: z.string(),
  key: z.string().optional(),
  model: z.string().optional(),
  route: z.string().optional(),
  status: z.number(),
  code: z.string().optional(),
  attempts: z.array(z.unknown()),
  usage: usage.optional(),
  settled: z.string().optional(),
  ms: z.object({ total: z.number() }),
})
type Entry = z.output<typeof entry>

async function run(args: Arguments, terminal: Terminal): Promise<number> {
  const asJson = wantsJson(args)
  const limit = args.count('limit', 1, MAX_LINES) ?? DEFAULT_LINES
  const filter = filterOf(args)
  const { ports, close } = await findPorts(args, terminal)
  try {
    const found = await survey(ports)
    const proxies = ofRole(found, 'proxy')
    if (proxies.length === 0) throw new CommandFailure(nobody(found))
    const { lines, failures } = await collect(proxies, { ...filter, limit: String(limit) })
    const newest = [...lines].sort(([, a], [, b]) => (a.time < b.time ? 1 : -1)).slice(0, limit)
    if (asJson) for (const [line] of newest) terminal.print(line)
    else if (newest.length > 0) terminal.print(tableOf(newest.map(([, parsed]) => parsed)))
    const troubles = [...found.unreached.map(({ name, reason }) => `${name} ${reason}`), ...failures]
    for (const trouble of troubles) terminal.tell(plain(trouble))
    if (newest.length === 0 && troubles.length === 0) terminal.tell('no request in the log matches')
    return newest.length > 0 && troubles.length === 0 ? 0 : 1
  } finally {
    await close()
  }
}

function filterOf(args: Arguments): {
  requestId?: string
  key?: string
  namespace?: string
  status?: string
} {
  const status = args.text('status')
  if (status !== undefined && !/^[1-5]([0-9]{2}|xx)$/.test(status))
    throw new UsageError('--status must be a status such as 502, or a class such as 5xx')
  const [requestId, key, namespace] = [args.text('request-id'), args.text('key'), args.text('namespace')]
  return {
    ...(requestId !== undefined && { requestId }),
    ...(key !== undefined && { key }),
    ...(namespace !== undefined && { namespace }),
    ...(status !== undefined && { status }),
  }
}

const nobody = ({ unreached }: Survey) =>
  unreached.length === 0
    ? 'none of the admin ports belongs to a proxy'
    : unreached.map(({ name, reason }) => `${name} ${reason}`).join('; ')

/** The lines of all proxies, each once: those that share a store have the same ones. */
async function collect(
  proxies: readonly AdminPort[],
  query: Readonly<Record<string, string>>,
): Promise<{ lines: Map<string, Entry>; failures: string[] }> {
  const answers = await Promise.all(
    proxies.map(async (port) => ({ port, answer: await tried(port, '/logs', logsAnswer, query) })),
  )
  const lines = new Map<string, Entry>()
  const failures: string[] = []
  for (const { port, answer } of answers) {
    if ('failure' in answer) failures.push(`${port.name} ${answer.failure.message}`)
    else for (const line of answer.value.lines) lines.set(line, parsed(line))
  }
  return { lines, failures }
}

function parsed(line: string): Entry {
  const result = entry.safeParse(JSON.parse(line))
  if (!result.success) throw new CommandFailure('the log has a line that this version does not know')
  return result.data
}

function tableOf(entries: readonly Entry[]): string {
  const heads = ['time', 'id', 'key', 'model', 'route', 'status', 'code', 'tries', 'tokens', 'cost', 'ms']
  return table(heads, entries.map(rowOf), ['time', 'id', 'tokens', 'cost'])
}

function rowOf({
  time,
  requestId,
  key,
  model,
  route,
  status,
  code,
  attempts,
  usage,
  settled,
  ms,
}: Entry): Cell[] {
  const shortTime = time.replace(/^\d{4}-(.*)T(.*)\.\d+Z$/, '$1 $2')
  return [
    shortTime,
    requestId.slice(0, ID_LENGTH),
    key,
    model,
    route,
    status,
    code,
    attempts.length,
    usage === undefined ? undefined : `${totalInput(usage)}/${usage.output}`,
    shortCost(settled),
    Math.round(ms.total),
  ]
}

/** Six decimals: the JSON form has the others. */
function shortCost(dollars: string | undefined): string | undefined {
  return dollars === undefined ? undefined : String(Number(Number(dollars).toFixed(6)))
}
