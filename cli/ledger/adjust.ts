/** `sluice ledger adjust`: corrects what an account was credited and has spent. */
import { randomUUID } from 'node:crypto'
import { formatDollars, type Nanos } from '../../contract/money.ts'
import type { Ledger } from '../../store/ledger/contract.ts'
import { CommandFailure, json, type OutputOptions, type Tool, UsageError } from '../command.ts'
import { plain } from '../table.ts'
import { accountId, presentEpoch, subAccountId, withStore } from './store.ts'

interface AdjustOptions extends OutputOptions {
  /** The account, as namespace/name. */
  args: string[]
  /** By how much to raise the sums. */
  credited?: Nanos
  spent?: Nanos
  /** Corrects the allowance of this sub-account alone. */
  sub?: string
  reason: string
  id?: string
  dryRun?: boolean
}

const MAX_REASON = 200

const REFUSALS = {
  LIMIT: 'the balance would exceed what the ledger can count',
  FENCED: 'another controller has begun to lead; try again',
  NOACCT: 'the ledger does not have this account',
  CHANGED: 'the account has changed; try again',
}

export const adjust: Tool<AdjustOptions> = async (options, terminal) => {
  const { args, credited = 0, spent = 0, reason, dryRun = false } = options
  const [name = ''] = args
  const account = accountId(name)
  const sub = subAccountId(name, options.sub)
  if (credited === 0 && spent === 0) throw new UsageError('name an amount with --credited or --spent')
  if (reason.length > MAX_REASON) throw new UsageError(`--reason may have ${MAX_REASON} characters`)
  const id = options.id ?? randomUUID()
  return withStore(terminal, async (store) => {
    const epoch = await presentEpoch(store)
    const before = await sums(store.ledger, account, sub)
    let repeated = false
    if (!dryRun) {
      const changes = [{ ...(sub !== undefined && { sub }), credited, spent }]
      const reply = await store.ledger.adjust({
        account,
        epoch,
        id,
        reason: 'operator',
        text: plain(reason),
        changes,
      })
      if (reply !== 'OK' && reply !== 'DUP') throw new CommandFailure(REFUSALS[reply])
      repeated = reply === 'DUP'
      await store.ledger.touch([account])
    }
    const after = dryRun
      ? { credited: before.credited + credited, spent: before.spent + spent }
      : await sums(store.ledger, account, sub)
    const whose = options.sub === undefined ? name : `${options.sub} of ${name}`
    const report = {
      account: name,
      sub: options.sub,
      id,
      dryRun,
      repeated,
      before: inDollars(before),
      after: inDollars(after),
    }
    if (options.output === 'json') terminal.print(json(report))
    else {
      terminal.print(
        `${whose}: ${describe(report.before)}, ${dryRun ? 'would be' : 'now'} ${describe(report.after)}`,
      )
      if (repeated) terminal.print(`the correction ${id} was made before; nothing has changed`)
      else if (!dryRun) terminal.print(`correction ${id}: to repeat the command safely, add --id ${id}`)
    }
    return 0
  })
}

interface Sums {
  credited: Nanos
  spent: Nanos
}

async function sums(ledger: Ledger, account: string, sub: string | undefined): Promise<Sums> {
  const balance = await ledger.balance(account, { subs: sub === undefined ? [] : [sub] })
  if (balance === undefined) throw new CommandFailure(REFUSALS.NOACCT)
  const own = sub === undefined ? balance : balance.subs[sub]
  if (own === undefined) throw new CommandFailure('the ledger does not have this sub-account')
  return { credited: own.credited, spent: own.credited - own.posted }
}

const inDollars = ({ credited, spent }: Sums) => ({
  credited: formatDollars(credited),
  spent: formatDollars(spent),
  balance: formatDollars(credited - spent),
})

const describe = ({ credited, spent, balance }: ReturnType<typeof inDollars>) =>
  `credited ${credited}, spent ${spent}, balance ${balance}`
