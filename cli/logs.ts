/** `sluice logs`: recent requests, newest first, or as they end. */
import { setTimeout as pause } from 'node:timers/promises'
import { present } from '../kit/present.ts'
import { logsAnswer } from './admin/answers.ts'
import { findPorts } from './admin/discover.ts'
import type { AdminPort } from './admin/port.ts'
import { askAll, ofRole, type Survey, survey, troubleOf } from './admin/survey.ts'
import { type AdminOptions, CommandFailure, type OutputOptions, type Terminal, type Tool } from './command.ts'
import { type Entry, entryOf, LOG_HEADS, rowOf } from './log-row.ts'
import { plain, Table } from './table.ts'

const FOLLOW_EVERY_MS = 1_000
/** Most lines of one request; the admin page gives no more. */
const FOLLOW_LINES = 1_000
/** How far the clocks of proxies may differ. */
const SKEW_MS = 10_000

interface LogsOptions extends OutputOptions, AdminOptions {
  requestId?: string
  key?: string
  namespace?: string
  status?: string
  limit: number
  follow?: true
}

interface Found {
  /** The line as it was logged, to its content. */
  lines: Map<string, Entry>
  troubles: string[]
}

export const logs: Tool<LogsOptions> = async (options, terminal) => {
  const { ports, close } = await findPorts(options, terminal)
  try {
    const found = await survey(ports)
    const proxies = ofRole(found, 'proxy')
    if (proxies.length === 0) throw new CommandFailure(whyNoProxy(found))
    const unreached = found.unreached.map(troubleOf)
    const { limit, follow } = options
    const { lines, troubles: failures } = await collect(proxies, queryOf(options, limit))
    const newest = [...lines].sort(([, a], [, b]) => (a.time < b.time ? 1 : -1)).slice(0, limit)
    const print = printer(options, terminal)
    const troubles = [...unreached, ...failures]
    for (const trouble of troubles) terminal.warn(plain(trouble))
    print(follow ? newest.toReversed() : newest)
    if (follow) return await followed(proxies, options, { lines, troubles }, print, terminal)
    if (newest.length === 0 && troubles.length === 0) terminal.warn('no request in the log matches')
    return newest.length > 0 && troubles.length === 0 ? 0 : 1
  } finally {
    await close()
  }
}

type Print = (lines: readonly (readonly [string, Entry])[]) => void

function printer({ output }: LogsOptions, terminal: Terminal): Print {
  const table = new Table(LOG_HEADS, terminal.width)
  return (lines) => {
    if (lines.length === 0) return
    if (output === 'json') for (const [line] of lines) terminal.print(line)
    else terminal.print(table.lines(lines.map(([, entry]) => rowOf(entry))))
  }
}

/** Polls until the process ends. */
async function followed(
  proxies: readonly AdminPort[],
  options: LogsOptions,
  before: Found,
  print: Print,
  terminal: Terminal,
): Promise<never> {
  let { lines: known, troubles: reported } = before
  for (;;) {
    await pause(FOLLOW_EVERY_MS)
    const newest = [...known.values()].reduce((time, entry) => (entry.time > time ? entry.time : time), '')
    const since = newest === '' ? '' : new Date(Date.parse(newest) - SKEW_MS).toISOString()
    const query = { ...queryOf(options, FOLLOW_LINES), ...(since !== '' && { since }) }
    const { lines, troubles } = await collect(proxies, query)
    for (const trouble of troubles) if (!reported.includes(trouble)) terminal.warn(plain(trouble))
    reported = troubles
    const fresh = [...lines].filter(([line]) => !known.has(line))
    print(fresh.sort(([, a], [, b]) => (a.time < b.time ? -1 : 1)))
    // Keeps lines of a proxy that does not answer now. Without this they are printed again when it answers.
    const kept = [...known].filter(([, { time }]) => time >= since)
    known = new Map([...kept, ...lines])
  }
}

function queryOf(
  { requestId, key, namespace, status }: LogsOptions,
  limit: number,
): Readonly<Record<string, string>> {
  return { limit: String(limit), ...present({ requestId, key, namespace, status }) }
}

const whyNoProxy = ({ unreached }: Survey) =>
  unreached.length === 0 ? 'none of the admin ports belongs to a proxy' : unreached.map(troubleOf).join('; ')

/** The lines of all proxies, each once: proxies that share a store return the same lines. */
async function collect(
  proxies: readonly AdminPort[],
  query: Readonly<Record<string, string>>,
): Promise<Found> {
  const { answered, unreached } = await askAll(proxies, '/logs', logsAnswer, query)
  const lines = answered.flatMap(({ value }) => value.lines)
  return { lines: new Map(lines.map((line) => [line, entryOf(line)])), troubles: unreached.map(troubleOf) }
}
