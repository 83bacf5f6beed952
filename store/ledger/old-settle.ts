/** A settle whose hold is unknown, and whose tombstone may be gone: the entries tell whether it was posted. */
import type { Balance, Ledger, LedgerEntry, Settle, SettleReply } from './contract.ts'
import { compareEntries } from './entry-log.ts'

const PAGE = 1_000

/** `setBackMs`: see OldSettle. `post` settles without looking at the age. */
export async function settleOld(
  ledger: Pick<Ledger, 'balance' | 'entries'>,
  command: Settle,
  setBackMs: number,
  post: () => Promise<SettleReply>,
): Promise<SettleReply> {
  const { account, id, actual } = command
  const since = Math.max(0, command.reservedAt - setBackMs)
  const balance = await ledger.balance(account)
  if (balance === undefined) return { reply: 'NOACCT' }
  if (isTrimmed(balance, `${since}-0`)) return { reply: 'STALE' }
  let charged: number | undefined
  let entry = ''
  for await (const found of entriesSince(ledger, account, since))
    if (found.ref === id && found.kind !== 'credit' && found.kind !== 'adjust') {
      charged = (charged ?? 0) - found.delta
      entry = found.id
    }
  if (charged === undefined) return post()
  return charged === actual ? { reply: 'DUP', entry } : { reply: 'CONFLICT' }
}

function isTrimmed({ trimmedTo }: Balance, since: string): boolean {
  return trimmedTo !== undefined && compareEntries(trimmedTo, since) > 0
}

async function* entriesSince(
  ledger: Pick<Ledger, 'entries'>,
  account: string,
  sinceMs: number,
): AsyncGenerator<LedgerEntry> {
  let after: string | undefined = sinceMs > 0 ? `${sinceMs - 1}-${Number.MAX_SAFE_INTEGER}` : undefined
  for (;;) {
    const page = await ledger.entries(account, after, PAGE)
    yield* page
    after = page.at(-1)?.id
    if (page.length < PAGE || after === undefined) return
  }
}
