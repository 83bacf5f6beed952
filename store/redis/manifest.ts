/**
 * The manifest has a note for every record written: `<id of the sealing key> <SHA-256 of the record> <SHA-1 of the
 * envelope>`. The last part reveals a record that was removed, changed, or replaced by an older one behind our back. It
 * does not protect against someone who can change the manifest too; sealing does. SHA-1 is the only hash that Redis
 * scripts have.
 */
import { hash } from 'node:crypto'
import { type Manifest, type RecordKind, RecordUnreadable } from '../contract.ts'
import { digest } from '../digest.ts'
import { accountRecordKey, keyRecordKey, TABLE } from '../keys.ts'
import type { KeyRing } from '../sealing.ts'
import { pairs } from './replies.ts'

const TABLE_FIELD = 'table'
export const keyField = (sha256: string) => `key:${sha256}`
export const accountField = (id: string) => `account:${id}`

/** Seals a record and returns the envelope with its note. `text`: what is sealed. */
export function sealNoted(
  ring: KeyRing,
  key: string,
  record: object,
  text = JSON.stringify(record),
): { sealed: string; note: string } {
  // Read before sealing: if the key changes in between, the note has the old id, and the record is sealed once more.
  const kid = ring.sealsWith()
  const sealed = ring.seal(key, text)
  return { sealed, note: `${kid} ${digest(record)} ${hash('sha1', sealed, 'hex')}` }
}

/** SHA-1 of the envelope, from its note; empty for an invalid note. */
export const envelopeHash = (note: string) => note.split(' ')[2] ?? ''

/** Returns the envelope, or undefined if there should be none. Throws RecordUnreadable if it is not the one written last. */
export function verifyEnvelope(key: string, sealed: string | null, note: string | null): string | undefined {
  if (sealed === null && note === null) return undefined
  if (sealed === null) throw new RecordUnreadable(`${key}: was written, but is missing`)
  if (note === null) throw new RecordUnreadable(`${key}: is not in the manifest`)
  if (hash('sha1', sealed, 'hex') !== envelopeHash(note))
    throw new RecordUnreadable(`${key}: is not the one written last`)
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

/** The records in alternating fields and values of the manifest; other fields are skipped. */
export function* recordsIn(flat: readonly string[]): Generator<Noted> {
  for (const [field, note] of pairs(flat)) {
    const [kind] = field.split(':', 1)
    const id = field.slice(field.indexOf(':') + 1)
    if (field === TABLE_FIELD) yield { kind: 'table', id: '', key: TABLE, note }
    else if (kind === 'key') yield { kind, id, key: keyRecordKey(id), note }
    else if (kind === 'account') yield { kind, id, key: accountRecordKey(id), note }
  }
}

/** The digest in a note. For a record under a retired sealing key: a text that equals no digest, so that it is sealed again. */
export function digestIn(ring: KeyRing, note: string): string {
  const [kid, digest = ''] = note.split(' ')
  return kid === ring.sealsWith() ? digest : `sealed under ${kid}`
}

export function setDigest(manifest: Manifest, { kind, id }: Noted, digest: string): void {
  if (kind === 'table') manifest.table = digest
  else manifest[kind === 'key' ? 'keys' : 'accounts'].set(id, digest)
}
