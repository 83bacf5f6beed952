/** `sluice ledger verify`: whether the journal and the ledger agree. */
import { formatDollars } from '../../contract/money.ts'
import { type LedgerAccount, ledgerAnswer } from '../admin/answers.ts'
import { findPorts } from '../admin/discover.ts'
import { ofRole, survey, tried } from '../admin/survey.ts'
import { type AdminOptions, CommandFailure, json, type OutputOptions, type Tool } from '../command.ts'
import { plain } from '../table.ts'
import { readFiles } from './files.ts'
import type { Written } from './lines.ts'

interface VerifyOptions extends OutputOptions, AdminOptions {
  /** Files. */
  args: string[]
}

/** What `-o json` prints; amounts are in dollars. */
interface Report {
  /** Accounts whose journal and ledger have the same sums. */
  same: number
  /** Accounts whose newest entries are not in the files, so that they cannot be compared. */
  behind: string[]
  different: { account: string; inFiles: Amounts; inLedger: Amounts }[]
  /** Lines that are cut off or changed. */
  bad: number
}
interface Amounts {
  credited: string
  spent: string
}

export const verify: Tool<VerifyOptions> = async (options, terminal) => {
  const lines = await readFiles(options.args)
  const { ports, close } = await findPorts(options, terminal)
  let accounts: LedgerAccount[] | undefined
  try {
    const controllers = ofRole(await survey(ports), 'controller')
    for (const port of controllers) {
      const answer = await tried(port, '/ledger', ledgerAnswer)
      if ('value' in answer && answer.value.leading) accounts = answer.value.accounts
    }
  } finally {
    await close()
  }
  if (accounts === undefined) throw new CommandFailure('no controller that leads answered with its ledger')
  const report = compare(lines.sums(), accounts, lines.bad)
  if (options.output === 'json') terminal.print(json(report))
  else for (const text of describe(report)) terminal.print(text)
  return report.different.length === 0 ? 0 : 1
}

export function compare(
  written: ReadonlyMap<string, Written>,
  accounts: readonly LedgerAccount[],
  bad: number,
): Report {
  const report: Report = { same: 0, behind: [], different: [], bad }
  for (const { accountId, name, credited, spent, lastEntry } of accounts) {
    const own = written.get(accountId)
    if (lastEntry !== undefined && own?.entries.has(lastEntry) !== true) report.behind.push(name)
    else if ((own?.credited ?? 0) === credited && (own?.spent ?? 0) === spent) report.same++
    else {
      const inFiles = amounts(own ?? { credited: 0, spent: 0 })
      report.different.push({ account: name, inFiles, inLedger: amounts({ credited, spent }) })
    }
  }
  return report
}

const amounts = (sums: { credited: number; spent: number }): Amounts => ({
  credited: formatDollars(sums.credited),
  spent: formatDollars(sums.spent),
})

function describe({ same, behind, different, bad }: Report): string[] {
  const lines = different.map(({ account, inFiles, inLedger }) =>
    plain(
      `${account}: credited ${inFiles.credited} in the files and ${inLedger.credited} in the ledger, ` +
        `spent ${inFiles.spent} in the files and ${inLedger.spent} in the ledger`,
    ),
  )
  if (behind.length > 0) lines.push(plain(`newer entries than in the files: ${behind.join(', ')}`))
  if (bad > 0) lines.push(`${bad} lines are cut off or changed`)
  lines.push(`${same} accounts agree, ${behind.length} have newer entries, ${different.length} differ`)
  return lines
}
