import {
  type AccountRecord,
  type KeyRecord,
  type RouteRecord,
  TABLE_VERSION,
  type TableRecord,
} from '../../../contract/table/records.ts'
import type { Publication } from '../../../store/contract.ts'
import type {
  EntryNote,
  Ledger,
  Renewal,
  RenewReply,
  Reserve,
  Settle,
  Topup,
} from '../../../store/ledger/contract.ts'

export const ACCOUNT = 'aaaaaaaaaaaaaaaaaaaa'
export const OTHER = 'bbbbbbbbbbbbbbbbbbbb'
export const SUB = 'ssssssssssssssssssss'
export const LEASE_MS = 30_000

export const EPOCH = 1

export const NOTE: EntryNote = {
  reason: 'usage',
  model: 'small',
  channel: 'east',
  key: 'kkkkkkkkkkkkkkkkkkkk',
  endpoint: 'chat',
  tier: 'priority',
  price: 'p1',
  tokens: { input: 3, output: 5 },
  flags: ['usage_clamped'],
}

/** The note of a hold. */
export const CHECKPOINT: EntryNote = {
  ...NOTE,
  reason: 'checkpoint',
  channel: '',
  tokens: { input: 3 },
  flags: [],
}

const TERMS = { seen: 0, enforced: true, overdraft: 0, leaseMs: LEASE_MS, note: CHECKPOINT }

export function reservation(id: string, amount: number, rest: Partial<Reserve> = {}): Reserve {
  return { ...TERMS, account: ACCOUNT, id, amount, ...rest }
}

export function renewal(id: string, rest: Partial<Renewal> = {}): Renewal {
  return { ...TERMS, id, amount: 0, reservedAt: 0, ...rest }
}

/** Renews one hold. */
export async function renew(
  ledger: Ledger,
  id: string,
  rest: Partial<Renewal> = {},
): Promise<RenewReply | undefined> {
  const [reply] = await ledger.renew(ACCOUNT, [renewal(id, rest)])
  return reply
}

export function settlement(
  id: string,
  actual: number,
  reservedAt: number,
  rest: Partial<Settle> = {},
): Settle {
  return { account: ACCOUNT, id, actual, reservedAt, note: NOTE, ...rest }
}

export const open = (ledger: Ledger, account = ACCOUNT) =>
  ledger.open({ account, epoch: EPOCH, create: true })

/** Applies a credit; returns the reply alone. */
export async function topup(ledger: Ledger, id: string, amount: number, rest: Partial<Topup> = {}) {
  return (await ledger.topup({ account: ACCOUNT, epoch: EPOCH, id, amount, ...rest })).reply
}

/** Settles; returns the reply alone. */
export async function settle(...[ledger, ...of]: [Ledger, ...Parameters<typeof settlement>]) {
  return (await ledger.settle(settlement(...of))).reply
}

/** Opens an account and credits it. */
export async function fund(ledger: Ledger, account: string, amount: number): Promise<void> {
  await open(ledger, account)
  await topup(ledger, 'default/start', amount, { account })
}

/** Posted and held, of an account or of its sub-account. */
export async function sumsOf(ledger: Ledger, account = ACCOUNT, sub?: string) {
  const balance = await ledger.balance(account, { subs: sub === undefined ? [] : [sub] })
  const sums = sub === undefined ? balance : balance?.subs[sub]
  return sums && [sums.posted, sums.held]
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
