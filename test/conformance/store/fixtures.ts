import {
  type AccountRecord,
  type KeyRecord,
  type RouteRecord,
  TABLE_VERSION,
  type TableRecord,
} from '../../../contract/table/records.ts'
import type { Publication } from '../../../store/contract.ts'
import type { EntryNote, Ledger, Renew, Reserve, Settle } from '../../../store/ledger/contract.ts'

export const ACCOUNT = 'aaaaaaaaaaaaaaaaaaaa'
export const OTHER = 'bbbbbbbbbbbbbbbbbbbb'
export const SUB = 'ssssssssssssssssssss'
export const LEASE_MS = 30_000

export const NOTE: EntryNote = {
  reason: 'usage',
  model: 'small',
  channel: 'east',
  key: 'kkkkkkkkkkkkkkkkkkkk',
  tokens: { input: 3, output: 5 },
}

export function reservation(id: string, amount: number, rest: Partial<Reserve> = {}): Reserve {
  const about = { model: NOTE.model, key: NOTE.key }
  return { account: ACCOUNT, id, amount, enforced: true, overdraft: 0, leaseMs: LEASE_MS, about, ...rest }
}

export function renewal(id: string, rest: Partial<Renew> = {}): Renew {
  return {
    account: ACCOUNT,
    id,
    seen: 0,
    amount: 0,
    enforced: true,
    overdraft: 0,
    leaseMs: LEASE_MS,
    ...rest,
  }
}

export function settlement(
  id: string,
  actual: number,
  reservedAt: number,
  rest: Partial<Settle> = {},
): Settle {
  return { account: ACCOUNT, id, actual, reservedAt, note: NOTE, ...rest }
}

/** Opens an account and credits it. */
export async function fund(ledger: Ledger, account: string, amount: number): Promise<void> {
  await ledger.open(account)
  await ledger.topup({ account, id: 'default/start', amount })
}

/** Reserves and returns the store's time; fails if the store refuses. */
export async function hold(ledger: Ledger, command: Reserve): Promise<number> {
  const answer = await ledger.reserve(command)
  if (answer.reply !== 'OK') throw new Error(`reserve answered ${answer.reply}`)
  return answer.reservedAt
}

export function tableOf(...models: string[]): TableRecord {
  return { version: TABLE_VERSION, namespaces: { default: { routes: models.map(routeOf), channels: {} } } }
}

function routeOf(model: string): RouteRecord {
  return {
    name: model,
    model,
    created: 0,
    targets: [{ channel: 'east', priority: 0, weight: 1 }],
    affinity: { mode: 'None', ttlMs: 0 },
    retry: { attempts: 2, on: [] },
    conversion: { unsupported: 'Drop' },
    rewriteModel: false,
    free: true,
    display: {},
  }
}

export function keyOf(name: string): KeyRecord {
  return {
    version: 1,
    id: name.padEnd(20, 'k'),
    namespace: 'default',
    name,
    preview: '...1234',
    disabled: false,
    models: [],
    allowedIPs: [],
  }
}

export function accountOf(name: string): AccountRecord {
  return {
    version: 1,
    id: name.padEnd(20, 'a'),
    namespace: 'default',
    name,
    disabled: false,
    enforced: true,
    overdraft: 0,
  }
}

/** A publication that changes only what is given. */
export function publication(epoch: number, generation: number, rest: Partial<Publication> = {}): Publication {
  const nothing = { put: new Map(), remove: [] }
  return { epoch, generation, keys: nothing, accounts: nothing, ...rest }
}
