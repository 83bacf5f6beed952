/**
 * Names of keys in Redis, all of them. What stands in braces is the hash tag: keys with the same one are in the same slot
 * of a Cluster, so that one script may touch them. docs/redis.md says what each holds.
 */
import { hash } from 'node:crypto'

/** The epoch of the leader that may write; a number. */
export const EPOCH = 'sluice:{cfg}:epoch'
/** The sealed routing table. */
export const TABLE = 'sluice:{cfg}:table'
/** What is stored, by digests; a hash. */
export const MANIFEST = 'sluice:{cfg}:manifest'
/** Announcements of publications; a capped stream. */
export const CHANGES = 'sluice:{cfg}:changes'
/** Heartbeats by proxy; a hash. */
export const PROXIES = 'sluice:{cfg}:proxies'

/** The sealed record of the API key with this SHA-256. */
export const keyRecordKey = (sha256: string) => `sluice:{cfg}:key:${sha256}`
/** The sealed record of the account with this id. */
export const accountRecordKey = (id: string) => `sluice:{cfg}:account:${id}`

/** Ids of all accounts that were ever opened; a set. */
export const ACCOUNTS = 'sluice:accounts'

/** All keys of an account, in the order in which the ledger's scripts take them. */
export function accountKeys(
  account: string,
): [bal: string, rsv: string, exp: string, gc: string, led: string] {
  const key = (name: string) => `sluice:{${account}}:${name}`
  return [key('bal'), key('rsv'), key('exp'), key('gc'), key('led')]
}

/** The channel that a session used last. Of what a client calls its session only the digest is kept. */
export const affinityKey = (session: string) => `sluice:aff:${hash('sha256', session, 'hex')}`

/** Of ids that others made up, which may be of any length and hold braces. */
const digestOf = (...ids: string[]) => hash('sha256', JSON.stringify(ids), 'hex')

/** Where a response lives. No two owners have a key in common, also where upstreams call their responses the same. */
export const responseKey = (owner: string, id: string) => `sluice:resp:${digestOf(owner, id)}`

/** What stands for an exchange in its key, in those that follow it, and in its owner's room. */
export const exchangeDigest = (root: string, id: string) => digestOf(root, id)

/**
 * Of all exchanges of a chain: its exchangeDigest behind it makes the key of one. All of a chain are in one slot, and no
 * two owners have a key in common.
 */
export const chainPrefix = (owner: string, root: string) => `sluice:{${digestOf(owner, root)}}:conv:`

/** What the conversations of an owner take, in the order in which the scripts take it. */
export const roomKeys = (owner: string): [ends: string, bytes: string] => [
  `sluice:{conv:${owner}}:ends`,
  `sluice:{conv:${owner}}:bytes`,
]

/** Lines of the request log; a capped stream. */
export const LOG = 'sluice:log'
