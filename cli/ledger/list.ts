/** `sluice ledger list`: the entries of an account. */
import { formatDollars } from '../../contract/money.ts'
import type { LedgerEntry } from '../../store/ledger/contract.ts'
import { timeOf } from '../../store/ledger/entry-log.ts'
import { CommandFailure, json, type OutputOptions, type Tool } from '../command.ts'
import { table } from '../table.ts'
import { accountId, subAccountId, withStore } from './store.ts'

interface ListOptions extends OutputOptions {
  /** The account, as namespace/name. */
  args: string[]
  /** How far back, in ms. */
  since: number
  /** Only this sub-account. */
  sub?: string
}

const PAGE = 1_000
const HEADS = ['time', 'type', 'ref', 'delta', 'reason', 'model', 'channel', 'tokens', 'flags']

export const list: Tool<ListOptions> = async ({ args, since, sub, output }, terminal) => {
  const [name = ''] = args
  const account = accountId(name)
  const part = subAccountId(name, sub)
  return withStore(terminal, async ({ ledger }) => {
    if ((await ledger.balance(account)) === undefined)
      throw new CommandFailure('the ledger does not have this account')
    const entries: LedgerEntry[] = []
    // Times of entries are the store's; a clock that differs a little must not hide the newest.
    let after: string | undefined = `${Math.max(0, Date.now() - since)}-0`
    for (;;) {
      const page = await ledger.entries(account, after, PAGE)
      entries.push(...page.filter((entry) => part === undefined || entry.sub === part))
      after = page.at(-1)?.id
      if (page.length < PAGE) break
    }
    if (output === 'json')
      terminal.print(json(entries.map((entry) => ({ ...entry, delta: formatDollars(entry.delta) }))))
    else terminal.print(table(HEADS, entries.map(cellsOf), terminal.width))
    return 0
  })
}

function cellsOf({ id, kind, ref, delta, note, adjusted }: LedgerEntry) {
  const tokens = Object.entries(note?.tokens ?? {}).map(([of, count]) => `${of}=${count}`)
  return [
    new Date(timeOf(id)).toISOString(),
    kind,
    ref,
    formatDollars(delta),
    note?.reason ?? adjusted?.text ?? '',
    note?.model,
    note?.channel,
    tokens.join(' '),
    note?.flags.join(' '),
  ]
}
