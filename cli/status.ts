/** `sluice status`: which programs run, who leads, and which generation each proxy serves. */
import type { Instance } from './admin/answers.ts'
import { findPorts } from './admin/discover.ts'
import { type Survey, survey } from './admin/survey.ts'
import { type AdminOptions, json, type OutputOptions, type Tool } from './command.ts'
import { plain, table } from './table.ts'

interface Position {
  epoch: number
  generation: number
}

/** A program, without its heartbeats. */
interface Row extends Omit<Instance, 'proxies' | 'ready'> {
  /** Absent for a proxy that is known only by its heartbeat. */
  ready?: boolean
  /** Of a proxy: it does not serve the newest generation. */
  behind?: boolean
  /** The admin port that reported it. */
  admin: string
  /** `admin`: its own admin port answered. `heartbeat`: a controller saw its heartbeat. */
  source: 'admin' | 'heartbeat'
}

interface StatusReport {
  /** The leader's last publication, else the newest one in service; null if no program answered. */
  newest: Position | null
  instances: Row[]
  unreachable: { admin: string; reason: string }[]
}

export const status: Tool<OutputOptions & AdminOptions> = async (options, terminal) => {
  const { ports, close } = await findPorts(options, terminal)
  const report = reportOf(await survey(ports).finally(close))
  if (options.output === 'json') terminal.print(json(report))
  else {
    if (report.instances.length > 0) terminal.print(tableOf(report, terminal.width))
    for (const line of [...problemsOf(report), ...risksOf(report), ...removalsOf(report)]) terminal.warn(line)
  }
  return problemsOf(report).length === 0 ? 0 : 1
}

export function reportOf({ reached, unreached }: Survey): StatusReport {
  const answered = reached.flatMap(({ port, instances }) =>
    instances.map(({ proxies, ...one }): Row => ({ ...one, admin: port.name, source: 'admin' })),
  )
  const known = new Set(answered.map(({ instance }) => instance))
  const heard = reached.flatMap(({ port, instances }) =>
    instances.flatMap(({ proxies }) =>
      (proxies ?? []).map(
        ({ proxy, epoch, generation }): Row => ({
          ...{ role: 'proxy', instance: proxy, epoch, generation, admin: port.name, source: 'heartbeat' },
        }),
      ),
    ),
  )
  const silent = heard.filter(({ instance }) => !known.has(instance) && known.add(instance))
  const rows = [...answered, ...silent]
  const newest =
    positionOf(rows.find(({ leading }) => leading === true)) ??
    rows.flatMap((row) => positionOf(row) ?? []).toSorted(newestFirst)[0]
  return {
    newest: newest ?? null,
    instances: rows
      .map((row) =>
        row.role === 'proxy' && newest !== undefined ? { ...row, behind: isBehind(row, newest) } : row,
      )
      .toSorted((a, b) => byText(a.role, b.role) || byText(a.instance, b.instance)),
    unreachable: unreached.map(({ name, reason }) => ({ admin: name, reason })),
  }
}

function positionOf(row: Row | undefined): Position | undefined {
  if (row?.epoch === undefined || row.generation === undefined) return undefined
  return { epoch: row.epoch, generation: row.generation }
}

function isBehind(row: Row, newest: Position): boolean {
  const position = positionOf(row)
  return position === undefined || newestFirst(position, newest) > 0
}

const newestFirst = (a: Position, b: Position) => b.epoch - a.epoch || b.generation - a.generation
const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

function tableOf({ instances }: StatusReport, width: number | undefined): string {
  return table(
    ['role', 'instance', 'leading', 'epoch', 'generation', 'ready', 'behind', 'store', 'from'],
    instances.map(({ role, instance, leading, epoch, generation, ready, behind, store, admin, source }) => [
      ...[role, instance, leading, epoch, generation, ready, behind, store],
      source === 'heartbeat' ? 'heartbeat' : admin,
    ]),
    width,
  )
}

/** Large removals. They may be intended, so they are not problems. */
export function removalsOf({ instances }: StatusReport): string[] {
  return instances.flatMap(({ removal }) =>
    removal === undefined
      ? []
      : [plain(`${removal.at}: ${removal.message} (namespaces: ${removal.namespaces.join(', ')})`)],
  )
}

/** Ways in which Redis may lose balances. Where the gateway works in spite of them, they are not problems. */
export function risksOf({ instances }: StatusReport): string[] {
  return instances.flatMap(({ risks = [] }) =>
    risks.map(({ message, servers }) => plain(`${message} (${servers.join(', ')})`)),
  )
}

const LATE_BOOKS_SECONDS = 60

/** Checkpoint and journal of balances are written every ten seconds. */
function lateBooksOf(instances: StatusReport['instances']): string[] {
  return instances.flatMap(({ instance, lag }) => {
    const { journalSeconds = 0, checkpointSeconds = 0 } = lag ?? {}
    const late = [
      { what: 'the ledger journal', seconds: journalSeconds },
      { what: 'the checkpoint of balances', seconds: checkpointSeconds },
    ].filter(({ seconds }) => seconds > LATE_BOOKS_SECONDS)
    return late.map(
      ({ what, seconds }) => `${instance} has not been able to write ${what} for ${Math.round(seconds)} s`,
    )
  })
}

/** One line for each problem. */
export function problemsOf({ newest, instances, unreachable }: StatusReport): string[] {
  const controllers = instances.filter(({ role }) => role === 'controller')
  const leaderless = controllers.length > 0 && !controllers.some(({ leading }) => leading === true)
  const away = instances.filter(({ store }) => store === 'away')
  const notReady = instances.filter(({ ready }) => ready === false)
  const behind = instances.filter((row) => row.behind === true)
  const closed = instances.some(({ risks }) => risks?.some(({ kind }) => kind === 'evicts_all'))
  return [
    ...unreachable.map(({ admin, reason }) => `${admin} ${reason}`),
    ...(closed ? ['no account is opened, because Redis may evict balances'] : []),
    ...lateBooksOf(instances),
    ...(leaderless ? ['no controller leads: changes are not published, and credits are not applied'] : []),
    ...away.map(({ instance }) => `${instance} does not reach the store; it serves the last known state`),
    ...notReady.map(({ instance, reason }) => `${instance} is not ready: ${reason ?? 'it gives no reason'}`),
    ...behind.map(({ instance }) => `${instance} does not serve generation ${newest?.generation} yet`),
  ].map(plain)
}
