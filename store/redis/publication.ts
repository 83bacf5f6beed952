/** A publication as the script config/publish takes it: records sealed, with what tells of them beside. */

import type { z } from 'zod'
import type { AccountRecord, KeyRecord, PublishedTable, TableRecord } from '../../contract/table/records.ts'
import type { Publication, RecordChanges } from '../contract.ts'
import { digest } from '../digest.ts'
import { accountRecordKey, CHANGES, EPOCH, keyRecordKey, MANIFEST, TABLE } from '../keys.ts'
import type { KeyRing } from '../sealing.ts'
import { pairs, type touched } from './config-replies.ts'

/** Announcements that are kept, at least. */
const KEPT = 10_000
/** A publication that touches more is announced as touching everything. */
const MOST_NAMED = 1_000

const KEY_FIELD = 'key:'
const ACCOUNT_FIELD = 'account:'

export interface PublishCall {
  keys: string[]
  args: string[]
  /** Length of all arguments. */
  size: number
}

export function publishCall(publication: Publication, ring: KeyRing): PublishCall {
  const { epoch, generation, table } = publication
  const keys = changesOf(publication.keys, KEY_FIELD, keyRecordKey, ring)
  const accounts = changesOf(publication.accounts, ACCOUNT_FIELD, accountRecordKey, ring)
  const document: PublishedTable | undefined = table && { epoch, generation, table }
  const args = [
    String(epoch),
    String(generation),
    document === undefined ? '' : ring.seal(TABLE, JSON.stringify(document)),
    flag(table !== undefined && hasRoutes(table)),
    flag(publication.allowEmptyTable === true),
    JSON.stringify(touchedBy(publication)),
    String(KEPT),
    String(keys.written.length + accounts.written.length),
    ...[...keys.written, ...accounts.written].flatMap(({ field, value, sealed }) => [field, value, sealed]),
    ...[...keys.removed, ...accounts.removed].map(({ field }) => field),
  ]
  const records = [...keys.written, ...accounts.written, ...keys.removed, ...accounts.removed]
  return {
    keys: [EPOCH, TABLE, MANIFEST, CHANGES, ...records.map(({ key }) => key)],
    args,
    size: args.reduce((sum, arg) => sum + arg.length, 0),
  }
}

/** Digests by id, from the fields of the manifest. A record under a key that seals no more has none that is real. */
export function digestsOf(
  flat: readonly string[],
  ring: KeyRing,
): { generation: number; keys: Map<string, string>; accounts: Map<string, string> } {
  const keys = new Map<string, string>()
  const accounts = new Map<string, string>()
  let generation = 0
  for (const [field, value] of pairs(flat)) {
    if (field === 'generation') generation = Number(value)
    const into = field.startsWith(KEY_FIELD) ? keys : field.startsWith(ACCOUNT_FIELD) ? accounts : undefined
    into?.set(field.slice(field.indexOf(':') + 1), digestUnder(ring, value))
  }
  return { generation, keys, accounts }
}

/** `value`: id of the sealing key and digest of the record. */
function digestUnder(ring: KeyRing, value: string): string {
  const [kid, digest = ''] = value.split(' ')
  return kid === ring.sealsWith() ? digest : `sealed under ${kid}`
}

interface Written {
  key: string
  field: string
  value: string
  sealed: string
}

function changesOf(
  { put, remove }: RecordChanges<KeyRecord | AccountRecord>,
  prefix: string,
  keyOf: (id: string) => string,
  ring: KeyRing,
): { written: Written[]; removed: { key: string; field: string }[] } {
  const kid = ring.sealsWith()
  const written = [...put].map(([id, record]) => {
    const key = keyOf(id)
    const value = `${kid} ${digest(record)}`
    return { key, field: `${prefix}${id}`, value, sealed: ring.seal(key, JSON.stringify(record)) }
  })
  // Of an id in both the record is kept, as writing after removing does.
  const removed = remove.filter((id) => !put.has(id))
  return { written, removed: removed.map((id) => ({ key: keyOf(id), field: `${prefix}${id}` })) }
}

function touchedBy({ table, keys, accounts }: Publication): z.input<typeof touched> {
  const ids = [keys, accounts].map(({ put, remove }) => [...put.keys(), ...remove])
  const [ofKeys = [], ofAccounts = []] = ids
  if (ofKeys.length + ofAccounts.length > MOST_NAMED) return { everything: true }
  return { table: table !== undefined, keys: ofKeys, accounts: ofAccounts }
}

function hasRoutes(table: TableRecord): boolean {
  return Object.values(table.namespaces).some(({ routes }) => routes.length > 0)
}

const flag = (value: boolean) => (value ? '1' : '0')
