/** `sluice keys list` and `show`: never the keys themselves. */
import { formatDollars } from '../../contract/money.ts'
import { resourcesAnswer, type UsageLine, usageAnswer } from '../admin/answers.ts'
import { findPorts } from '../admin/discover.ts'
import { ofRole, survey, tried } from '../admin/survey.ts'
import {
  type AdminOptions,
  CommandFailure,
  json,
  type OutputOptions,
  type Terminal,
  type Tool,
} from '../command.ts'
import { openPlace } from '../resources/open.ts'
import type { PlaceOptions, Stored } from '../resources/place.ts'
import { table } from '../table.ts'

interface ListOptions extends PlaceOptions, AdminOptions, OutputOptions {
  args: string[]
}

const LOOK_BACK_DAYS = 92
const DAY_MS = 86_400_000

/** What is shown of an ApiKey. Usage is absent if no controller that leads answers. */
interface Shown {
  name: string
  account?: string | undefined
  state: string
  preview?: unknown
  expires?: unknown
  /** The last day (UTC) with requests, within 92 days. */
  lastUsed?: string | undefined
  /** Dollars since the first of the month (UTC). */
  spentThisMonth?: string
}

export const list: Tool<ListOptions> = async (options, terminal) => {
  const place = await openPlace(options, terminal)
  try {
    const known = await askController(options, place.namespace, terminal)
    const shown = (await place.list('ApiKey'))
      .map((key) => shownOf(known.withStatus(key), place.namespace, known.used))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    if (options.output === 'json') terminal.print(json(shown))
    else
      terminal.print(
        table(
          ['name', 'account', 'state', 'key', 'expires', 'last used', 'spent this month'],
          shown.map(cells),
          terminal.width,
        ),
      )
    return 0
  } finally {
    await place.close()
  }
}

export const show: Tool<ListOptions> = async (options, terminal) => {
  const [name = ''] = options.args
  const place = await openPlace(options, terminal)
  try {
    const key = await place.get('ApiKey', name)
    if (key === undefined)
      throw new CommandFailure(`there is no ApiKey ${name} in the namespace ${place.namespace}`)
    const { used, withStatus } = await askController(options, place.namespace, terminal)
    const { spec, status } = withStatus(key)
    const shown = shownOf({ ...key, status }, place.namespace, used)
    const { models, limits, budget } = spec
    const more = { models, limits, budget, budgets: status?.budgets, conditions: status?.conditions }
    terminal.print(json({ ...shown, ...more }))
    return 0
  } finally {
    await place.close()
  }
}

const cells = (one: Shown) => [
  ...[one.name, one.account, one.state, one.preview, one.expires, one.lastUsed, one.spentThisMonth].map(
    (cell) => (cell === undefined ? undefined : String(cell)),
  ),
]

function shownOf(
  { metadata, spec, status }: Stored,
  namespace: string,
  used: readonly UsageLine[] | undefined,
): Shown {
  const own = used?.filter(({ of }) => of.key === `${namespace}/${metadata.name}`)
  const month = new Date().toISOString().slice(0, 7)
  const inMonth = own?.filter(({ of }) => of.day?.startsWith(month))
  const account = (spec.accountRef as { name?: string } | undefined)?.name
  return {
    name: metadata.name,
    account,
    state: stateOf(spec, status),
    preview: status?.preview,
    expires: spec.expiresAt,
    ...(own !== undefined && {
      lastUsed: own
        .map(({ of }) => of.day ?? '')
        .sort()
        .at(-1),
    }),
    ...(inMonth !== undefined && {
      spentThisMonth: formatDollars(inMonth.reduce((sum, { counts }) => sum + (counts.cost ?? 0), 0)),
    }),
  }
}

function stateOf(spec: Stored['spec'], status: Stored['status']): string {
  if (spec.disabled === true) return 'revoked'
  if (typeof spec.expiresAt === 'string' && Date.parse(spec.expiresAt) <= Date.now()) return 'expired'
  const conditions = (status?.conditions ?? []) as { type?: string; status?: string; reason?: string }[]
  const ready = conditions.find(({ type }) => type === 'Ready')
  return ready === undefined ? 'unknown' : ready.status === 'True' ? 'ready' : (ready.reason ?? 'not ready')
}

interface Known {
  /** By key and day; undefined if no controller that leads answers. */
  used?: readonly UsageLine[]
  /** Files have no status: that of a folder comes from the controller. */
  withStatus(key: Stored): Stored
}

async function askController(options: ListOptions, namespace: string, terminal: Terminal): Promise<Known> {
  const dateOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)
  const query = { from: dateOf(Date.now() - LOOK_BACK_DAYS * DAY_MS), to: dateOf(Date.now()), by: 'key,day' }
  const nothing: Known = { withStatus: (key) => key }
  const found = await findPorts(options, terminal).catch(() => undefined)
  if (found === undefined) return nothing
  try {
    for (const port of ofRole(await survey(found.ports), 'controller')) {
      const answer = await tried(port, '/usage', usageAnswer, query)
      if (!('value' in answer && answer.value.leading)) continue
      const used = answer.value.lines
      if (options.folder === undefined) return { ...nothing, used }
      const all = await tried(port, '/resources', resourcesAnswer)
      const statuses = new Map(
        ('value' in all ? all.value : [])
          .filter((one) => one.kind === 'ApiKey' && one.namespace === namespace)
          .map(({ name, status }) => [name, status]),
      )
      return { used, withStatus: (key) => ({ ...key, status: statuses.get(key.metadata.name) }) }
    }
    return nothing
  } finally {
    await found.close()
  }
}
