/** `sluice ledger restore`: which accounts are closed because their balances were lost, and opens one with given sums. */
import { formatDollars, type Nanos } from '../../contract/money.ts'
import type { Mark } from '../../controller/books/mark.ts'
import { RestoreFailed, restoreAccount } from '../../controller/books/restore.ts'
import type { Ledger } from '../../store/ledger/contract.ts'
import { compareEntries } from '../../store/ledger/entry-log.ts'
import { type ListedResource, resourcesAnswer } from '../admin/answers.ts'
import { findPorts } from '../admin/discover.ts'
import { ofRole, survey, tried } from '../admin/survey.ts'
import { type AdminOptions, CommandFailure, type Terminal, type Tool, UsageError } from '../command.ts'
import { plain } from '../table.ts'
import { readFiles } from './files.ts'
import type { Written } from './lines.ts'
import { accountId, presentEpoch, withStore } from './store.ts'

interface RestoreOptions extends AdminOptions {
  /** At most one account, as namespace/name. */
  args: string[]
  /** Files of the journal. */
  from?: string[]
  spent?: Nanos
  /** By Credits that no longer exist. */
  credited?: Nanos
}

export const restore: Tool<RestoreOptions> = async (options, terminal) => {
  const { args, from, spent, credited = 0 } = options
  const [name] = args
  if (name === undefined) return listClosed(options, terminal)
  const account = accountId(name)
  if ((from === undefined) === (spent === undefined))
    throw new UsageError('name the journal with --from, or what was spent with --spent')
  const written = from === undefined ? undefined : await writtenIn(from, account)
  const sums = written ?? { credited, spent: spent ?? 0 }
  await withStore(terminal, async (store) => {
    if ((await store.ledger.balance(account)) !== undefined)
      throw new CommandFailure('the ledger has this account; use sluice ledger adjust to correct it')
    const epoch = await presentEpoch(store)
    const of = { account, epoch }
    if (written === undefined) await openWith(store.ledger, of, sums)
    else await restoreAccount(store.ledger, { ...of, mark: markFrom(written) }).catch(refused)
    await store.ledger.touch([account])
  })
  terminal.print(
    `${name}: credited ${formatDollars(sums.credited)}, spent ${formatDollars(sums.spent)}. ` +
      'The leader opens it within ten seconds, and applies the Credits that are not counted here.',
  )
  return 0
}

interface Sums {
  credited: Nanos
  spent: Nanos
}

function markFrom({ credited, spent, entries, credits, subs }: Written): Mark {
  const last = [...entries].toSorted(compareEntries).at(-1)
  const marked = Object.entries(subs).map(
    ([id, own]) => [id, { ...own, credits: { ...own.credits } }] as const,
  )
  return {
    credited,
    spent,
    entries: entries.size,
    credits: { ...credits },
    subs: Object.fromEntries(marked),
    ...(last !== undefined && { last }),
  }
}

/** Costs that proxies have posted until now are in these sums, and are not charged when they repeat them. */
async function openWith(ledger: Ledger, of: { account: string; epoch: number }, sums: Sums): Promise<void> {
  const restoredTo = `${Date.now()}-0`
  const correction = { id: `restore/${restoredTo}`, reason: 'restore' as const, text: 'by an operator' }
  const opened = await ledger.open({ ...of, create: true, closed: true })
  if (opened === 'FENCED') throw new CommandFailure('another controller has begun to lead; try again')
  const reply = await ledger.adjust({ ...of, ...correction, changes: [sums], restoredTo })
  if (reply !== 'OK') throw new CommandFailure(`the ledger refused these sums: ${reply}`)
}

function refused(error: unknown): never {
  throw error instanceof RestoreFailed ? new CommandFailure(error.message) : error
}

async function writtenIn(files: readonly string[], account: string): Promise<Written> {
  const found = (await readFiles(files)).sums().get(account)
  if (found === undefined) throw new CommandFailure('the files have no line of this account')
  return found
}

async function listClosed(options: RestoreOptions, terminal: Terminal): Promise<number> {
  const closed = (await resources(options, terminal)).filter(
    ({ kind, status }) =>
      kind === 'Account' && status.conditions.some(({ reason }) => reason === 'LedgerLost'),
  )
  if (closed.length === 0) terminal.print('no account is closed')
  for (const { namespace, name, status } of closed) {
    const { credited = 'unknown', spent = 'unknown' } = status
    const lines = [
      `${namespace}/${name} is closed: the ledger has lost its balance, and no checkpoint has it.`,
      `  last known: credited ${credited}, spent ${spent}`,
      `  with its journal: sluice ledger restore ${namespace}/${name} --from <file>`,
      `  without: sluice ledger restore ${namespace}/${name} --spent ${spent}`,
      '  (add --credited with the sum of the Credits that were deleted; those that exist are applied again)',
    ]
    terminal.print(lines.map(plain).join('\n'))
  }
  return closed.length === 0 ? 0 : 1
}

async function resources(options: AdminOptions, terminal: Terminal): Promise<ListedResource[]> {
  const { ports, close } = await findPorts(options, terminal)
  try {
    for (const port of ofRole(await survey(ports), 'controller')) {
      const answer = await tried(port, '/resources', resourcesAnswer)
      if ('value' in answer) return answer.value
    }
  } finally {
    await close()
  }
  throw new CommandFailure('no controller answered')
}
