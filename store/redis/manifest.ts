/**
 * The manifest notes of every record what was written: `<id of the sealing key> <SHA-256 of the record> <SHA-1 of the
 * envelope>`. By the last one a record is known again that somebody removed, changed, or put back. It is no protection
 * against who can change the manifest too; sealing is. SHA-1, because scripts in Redis have no other.
 */
import { hash } from 'node:crypto'
import { type Manifest, type RecordKind, RecordUnreadable } from '../contract.ts'
import { digest } from '../digest.ts'
import { accountRecordKey, keyRecordKey, TABLE } from '../keys.ts'
import type { KeyRing } from '../sealing.ts'
import { pairs } from './config-replies.ts'

export const TABLE_FIELD = 'table'
export const keyField = (sha256: string) => `key:${sha256}`
export const accountField = (id: string) => `account:${id}`

/** The envelope and its note. `document` is what is sealed, where that says more than the record. */
export function sealNoted(
  ring: KeyRing,
  key: string,
  record: object,
  document = record,
): { sealed: string; note: string } {
  // Before sealing: what is sealed under a newer key than its note says is only sealed once more.
  const kid = ring.sealsWith()
  const sealed = ring.seal(key, JSON.stringify(document))
  return { sealed, note: `${kid} ${digest(record)} ${hash('sha1', sealed, 'hex')}` }
}

/** SHA-1 of the envelope that was written; empty for what is no note. */
export const writtenAs = (note: string) => note.split(' ')[2] ?? ''

/** The envelope, or undefined where there is to be none. Throws RecordUnreadable when it is not what was written last. */
export function asWritten(key: string, sealed: string | null, note: string | null): string | undefined {
  if (sealed === null && note === null) return undefined
  if (sealed === null) throw new RecordUnreadable(`${key}: it was written, and is gone`)
  if (note === null) throw new RecordUnreadable(`${key}: nothing is noted of it`)
  if (hash('sha1', sealed, 'hex') !== writtenAs(note))
    throw new RecordUnreadable(`${key}: not what was written last`)
  return sealed
}

/** A record that the manifest names. */
export interface Noted {
  kind: RecordKind
  /** Empty for the table. */
  id: string
  key: string
  note: string
}

/** Records by field and value, field and value, of the manifest; what is no record is left out. */
export function* recordsIn(flat: readonly string[]): Generator<Noted> {
  for (const [field, note] of pairs(flat)) {
    const [kind] = field.split(':', 1)
    const id = field.slice(field.indexOf(':') + 1)
    if (field === TABLE_FIELD) yield { kind: 'table', id: '', key: TABLE, note }
    else if (kind === 'key') yield { kind, id, key: keyRecordKey(id), note }
    else if (kind === 'account') yield { kind, id, key: accountRecordKey(id), note }
  }
}

/** The digest that was noted. A record under a key that seals no more has none that is real. */
export function digestIn(ring: KeyRing, note: string): string {
  const [kid, digest = ''] = note.split(' ')
  return kid === ring.sealsWith() ? digest : `sealed under ${kid}`
}

export function setDigest(manifest: Manifest, { kind, id }: Noted, digest: string): void {
  if (kind === 'table') manifest.table = digest
  else manifest[kind === 'key' ? 'keys' : 'accounts'].set(id, digest)
}
