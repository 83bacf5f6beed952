/** Reads the manifest, or compares every record with it, in parts, so that no command keeps Redis busy for long. */
import type { Inspection, Manifest, Position } from '../contract.ts'
import { MANIFEST } from '../keys.ts'
import type { KeyRing } from '../sealing.ts'
import { differingReply, scanReply } from './config-replies.ts'
import type { RedisConnection } from './connection.ts'
import { digestIn, envelopeHash, type Noted, recordsIn, setDigest } from './manifest.ts'

const READ_AT_ONCE = 1_000
/** Redis hashes each: a thousand took 10 to 17 ms of a busy one. */
const COMPARED_AT_ONCE = 200
const TIMEOUT_MS = 1_000
/** Replaces the digest of a record that is not as it was written; equals no digest. */
const SPOILT = 'spoilt'

/**
 * Records written in the meantime may be reported as spoilt. Only the leader inspects, and it does not publish in the
 * meantime. `opens` checks whether the stored table can be read.
 */
export async function inspect(
  connection: RedisConnection,
  ring: KeyRing,
  position: Position,
  opens: () => Promise<boolean>,
): Promise<Inspection> {
  const found: Inspection = {
    ...position,
    keys: new Map(),
    accounts: new Map(),
    spoilt: { table: 0, key: 0, account: 0 },
  }
  for await (const records of manifestInParts(connection)) {
    const differing = await differingOf(connection, records)
    for (const record of records) {
      const spoilt = differing.has(record) || (record.kind === 'table' && !(await opens()))
      if (spoilt) found.spoilt[record.kind] += 1
      setDigest(found, record, spoilt ? SPOILT : digestIn(ring, record.note))
    }
  }
  return found
}

/** See ConfigStore.manifest. Only the leader reads it, and it does not publish in the meantime. */
export async function readManifest(
  connection: RedisConnection,
  ring: KeyRing,
  position: Position,
): Promise<Manifest> {
  const manifest: Manifest = { ...position, keys: new Map(), accounts: new Map() }
  for await (const records of manifestInParts(connection))
    for (const record of records) setDigest(manifest, record, digestIn(ring, record.note))
  return manifest
}

/** See ConfigStore.keyHashes. */
export async function hashesOfKeys(connection: RedisConnection): Promise<Set<string>> {
  const hashes = new Set<string>()
  for await (const records of manifestInParts(connection))
    for (const { kind, id } of records) if (kind === 'key') hashes.add(id)
  return hashes
}

async function* manifestInParts(connection: RedisConnection): AsyncGenerator<Noted[]> {
  let cursor = '0'
  do {
    const scan = await connection.command(['HSCAN', MANIFEST, cursor, 'COUNT', READ_AT_ONCE], TIMEOUT_MS)
    const [next, flat] = scanReply.parse(scan)
    yield [...recordsIn(flat)]
    cursor = next
  } while (cursor !== '0')
}

async function differingOf<R extends { key: string; note: string }>(
  connection: RedisConnection,
  records: readonly R[],
): Promise<ReadonlySet<R>> {
  const differing = new Set<R>()
  for (let from = 0; from < records.length; from += COMPARED_AT_ONCE) {
    const part = records.slice(from, from + COMPARED_AT_ONCE)
    const keys = part.map(({ key }) => key)
    const written = part.map(({ note }) => envelopeHash(note))
    const reply = await connection.run('config/differing', keys, written, TIMEOUT_MS)
    for (const index of differingReply.parse(reply)) {
      const record = part[index - 1]
      if (record !== undefined) differing.add(record)
    }
  }
  return differing
}
