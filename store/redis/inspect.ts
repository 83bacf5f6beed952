/** Reads the manifest, or compares every record with it, a thousand at a time, so that no command keeps Redis busy for long. */
import type { Inspection, Manifest, Position } from '../contract.ts'
import { MANIFEST } from '../keys.ts'
import type { KeyRing } from '../sealing.ts'
import { differingReply, scanReply } from './config-replies.ts'
import type { RedisConnection } from './connection.ts'
import { digestIn, envelopeHash, type Noted, recordsIn, setDigest } from './manifest.ts'

const AT_ONCE = 1_000
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
    const scan = await connection.command(['HSCAN', MANIFEST, cursor, 'COUNT', AT_ONCE], TIMEOUT_MS)
    const [next, flat] = scanReply.parse(scan)
    yield [...recordsIn(flat)]
    cursor = next
  } while (cursor !== '0')
}

async function differingOf<R extends { key: string; note: string }>(
  connection: RedisConnection,
  records: readonly R[],
): Promise<ReadonlySet<R>> {
  if (records.length === 0) return new Set()
  const keys = records.map(({ key }) => key)
  const written = records.map(({ note }) => envelopeHash(note))
  const differing = new Set(
    differingReply.parse(await connection.run('config/differing', keys, written, TIMEOUT_MS)),
  )
  return new Set(records.filter((_record, index) => differing.has(index + 1)))
}
