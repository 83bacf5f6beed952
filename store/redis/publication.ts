/** A publication as keys and arguments of the script config/publish, with sealed records. */

import type { z } from 'zod'
import type { AccountRecord, KeyRecord } from '../../contract/table/records.ts'
import type { Publication, RecordChanges } from '../contract.ts'
import { accountRecordKey, CHANGES, EPOCH, keyRecordKey, MANIFEST, TABLE } from '../keys.ts'
import type { KeyRing } from '../sealing.ts'
import type { touched } from './config-replies.ts'
import { accountField, keyField, sealNoted } from './manifest.ts'
import { tableText } from './table-text.ts'

/** Minimum number of announcements to keep. */
const KEPT = 10_000
/** A publication that changes more records than this is announced as changing everything. */
const MOST_NAMED = 1_000
/** Records that are sealed in one go, about 10 ms of work. */
const SEALED_AT_ONCE = 500
const NO_TABLE = { sealed: '', note: '' }

interface PublishCall {
  keys: string[]
  args: string[]
  /** Length of all arguments. */
  size: number
}

/** Pauses now and then: a hundred thousand records take seconds. */
export async function publishCall(publication: Publication, ring: KeyRing): Promise<PublishCall> {
  const { epoch, generation, table } = publication
  const keys = await changesOf(publication.keys, keyField, keyRecordKey, ring)
  const accounts = await changesOf(publication.accounts, accountField, accountRecordKey, ring)
  const { sealed, note } = table
    ? sealNoted(ring, TABLE, table, tableText({ epoch, generation, table }))
    : NO_TABLE
  const args = [
    String(epoch),
    String(generation),
    sealed,
    JSON.stringify(touchedBy(publication)),
    String(KEPT),
    note,
    String(keys.written.length + accounts.written.length),
    ...[...keys.written, ...accounts.written].flatMap(({ field, note, sealed }) => [field, note, sealed]),
    ...[...keys.removed, ...accounts.removed].map(({ field }) => field),
  ]
  const records = [...keys.written, ...accounts.written, ...keys.removed, ...accounts.removed]
  return {
    keys: [EPOCH, TABLE, MANIFEST, CHANGES, ...records.map(({ key }) => key)],
    args,
    size: args.reduce((sum, arg) => sum + arg.length, 0),
  }
}

interface Written {
  key: string
  field: string
  note: string
  sealed: string
}

async function changesOf(
  { put, remove }: RecordChanges<KeyRecord | AccountRecord>,
  fieldOf: (id: string) => string,
  keyOf: (id: string) => string,
  ring: KeyRing,
): Promise<{ written: Written[]; removed: { key: string; field: string }[] }> {
  const written: Written[] = []
  for (const [id, record] of put) {
    const key = keyOf(id)
    written.push({ key, field: fieldOf(id), ...sealNoted(ring, key, record) })
    if (written.length % SEALED_AT_ONCE === 0) await new Promise(setImmediate)
  }
  // If an id is in both, the record is written, as if it were removed first.
  const removed = remove.filter((id) => !put.has(id))
  return { written, removed: removed.map((id) => ({ key: keyOf(id), field: fieldOf(id) })) }
}

function touchedBy({ table, keys, accounts }: Publication): z.input<typeof touched> {
  const ids = [keys, accounts].map(({ put, remove }) => [...put.keys(), ...remove])
  const [ofKeys = [], ofAccounts = []] = ids
  if (ofKeys.length + ofAccounts.length > MOST_NAMED) return { everything: true }
  return { table: table !== undefined, keys: ofKeys, accounts: ofAccounts }
}
