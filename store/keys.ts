/**
 * The names of all keys in Redis. The part in braces is the hash tag: keys with the same one are in the same slot of a
 * Cluster, so that one script may touch them. docs/redis.md describes their contents.
 */
import { hash } from 'node:crypto'

/** The epoch of the current leader; a number. */
export const EPOCH = 'sluice:{cfg}:epoch'
/** The controller that leads where there is no Lease; expires unless it is renewed. */
export const LEADER = 'sluice:{cfg}:leader'
/** The sealed routing table. */
export const TABLE = 'sluice:{cfg}:table'
/** Digests of the stored records; a hash. */
export const MANIFEST = 'sluice:{cfg}:manifest'
/** Announcements of publications; a capped stream. */
export const CHANGES = 'sluice:{cfg}:changes'
/** Heartbeats by proxy; a hash. */
export const PROXIES = 'sluice:{cfg}:proxies'

/** The sealed record of the API key with this SHA-256. */
export const keyRecordKey = (sha256: string) => `sluice:{cfg}:key:${sha256}`
/** The sealed record of the account with this id. */
export const accountRecordKey = (id: string) => `sluice:{cfg}:account:${id}`

/** Ids of all accounts ever opened; a set. */
export const ACCOUNTS = 'sluice:accounts'
/** Accounts by the time of their last use; a sorted set. */
export const TOUCHED = 'sluice:touched'

/** The keys of an account. */
export function accountKeys(account: string) {
  const key = (name: string) => `sluice:{${account}}:${name}`
  return {
    /** Sums; a hash. */
    bal: key('bal'),
    /** Credits; a hash. */
    crd: key('crd'),
    /** Live and expired holds; a hash. */
    rsv: key('rsv'),
    /** Settled requests in three hashes that take turns. */
    tmb: [key('tmb:0'), key('tmb:1'), key('tmb:2')] as const,
    /** Entries; a stream. */
    led: key('led'),
    /** When expired holds are forgotten; a sorted set. */
    gc: key('gc'),
    /** Usage of a part of days: names of the keys by their ids; a hash. Of each key a hash of its own, and one of tags. */
    use: (part: number) => key(`use:${part}`),
    useOf: (part: number, apiKey: string) => key(`use:${part}:${apiKey}`),
    tag: (part: number) => key(`tag:${part}`),
    /** Leases of the previous version; a sorted set. */
    exp: key('exp'),
  }
}

/** The channel that a session used last. The client's name of the session is stored only as a digest. */
export const affinityKey = (session: string) => `sluice:aff:${hash('sha256', session, 'hex')}`

/** Ids come from clients and upstreams: they may be of any length and contain braces. */
const digestOf = (...ids: string[]) => hash('sha256', JSON.stringify(ids), 'hex')

/** The binding of a response. Owners never share a key, even if upstreams use the same id twice. */
export const responseKey = (owner: string, id: string) => `sluice:resp:${digestOf(owner, id)}`

/** Identifies an exchange in its key, in the exchanges that continue it, and in its owner's room. */
export const exchangeDigest = (root: string, id: string) => digestOf(root, id)

/**
 * Prefix of the keys of a chain; the key of an exchange is the prefix and its exchangeDigest. A chain is in one slot, and
 * owners never share a key.
 */
export const chainPrefix = (owner: string, root: string) => `sluice:{${digestOf(owner, root)}}:conv:`

/** The room that the conversations of an owner take, in the order that the scripts expect. */
export const roomKeys = (owner: string): [ends: string, bytes: string] => [
  `sluice:{conv:${owner}}:ends`,
  `sluice:{conv:${owner}}:bytes`,
]

/** Lines of the request log; a capped stream. */
export const LOG = 'sluice:log'
