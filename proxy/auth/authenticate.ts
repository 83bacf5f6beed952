/** Finds the caller of a request, and whether its key may be used now and from its address. */
import { AddressSet } from '../../contract/address.ts'
import { KEY_HEADERS } from '../../contract/channel-types.ts'
import { keyHash } from '../../contract/ids.ts'
import { hasValidChecksum, isMintedFormat } from '../../contract/key-format.ts'
import type { AccountRecord, KeyRecord } from '../../contract/table/records.ts'
import { after, rescued, type Soon } from '../../kit/soon.ts'
import { RecordUnreadable, StoreUnavailable } from '../../store/contract.ts'
import { GatewayError } from '../errors.ts'
import { presentedKey } from './credentials.ts'

/** An authenticated caller. */
export interface Caller {
  /** SHA-256 of the key. */
  hash: string
  /** Characters of the key; absent for a request that is only explained. */
  keyLength?: number
  key: KeyRecord
  /** The account that pays; absent for a key that is not metered. */
  account: AccountRecord | undefined
}

/** Owner of conversations and sealed state: the account, or the key if no account pays. */
export function ownerOf({ account, key }: Caller): string {
  return account === undefined || account.ofKey === true ? key.id : account.id
}

/** The credentials of a request, and its circumstances. */
interface Presented {
  /** Node's flat list of names and values. */
  rawHeaders: readonly string[]
  /** Undefined when unknown. */
  address: string | undefined
  /** Milliseconds since the epoch. */
  nowMs: number
}

/** Finds records. Both reject with StoreUnavailable or RecordUnreadable if the store cannot answer. */
export interface Records {
  key(hash: string): Soon<KeyRecord | undefined>
  account(id: string): Soon<AccountRecord | undefined>
}

const MAX_KEY_LENGTH = 1024
/** The headers that a client may send, for people. */
const FORMS = ['Authorization: Bearer', ...Array.from(KEY_HEADERS, (name) => `${name}:`)]
  .map((form) => `"${form} <key>"`)
  .join(' or ')

/**
 * Checks in this order: 401 (one answer for a key that is missing, malformed, unknown, disabled or expired, so that it
 * reveals nothing), 503 for an account that is not loaded, 403 for a disabled account, 403 for the address. A store that
 * is away is 503, never 401.
 *
 * Keys are found by their SHA-256 and never compared, so timing is safe: the time of a look-up may reveal how a digest
 * begins, but an attacker cannot derive a key from the beginning of its digest.
 *
 * `found` is called with a key that is in force, and again with its account, before anything else is checked: later
 * refusals are logged with their names.
 */
export function authenticate(
  records: Records,
  { rawHeaders, address, nowMs }: Presented,
  found: (key: KeyRecord, account?: AccountRecord) => void = () => undefined,
): Soon<Caller> {
  const presented = presentedKey(rawHeaders)
  if (!('key' in presented) || presented.key.length > MAX_KEY_LENGTH) throw unauthorized()
  // A minted key has a checksum, so a made-up one needs no look-up.
  if (isMintedFormat(presented.key) && !hasValidChecksum(presented.key)) throw unauthorized()
  const hash = keyHash(presented.key)
  return after(
    toldUnavailable(() => records.key(hash)),
    (key) => {
      if (key === undefined || !isInForce(key, nowMs)) throw unauthorized()
      found(key)
      return after(accountOf(records, key), (account) => {
        if (account !== undefined) found(key, account)
        if (account?.disabled)
          throw new GatewayError('account_disabled', 'The account of this API key is disabled.')
        if (!mayComeFrom(key, address)) {
          throw new GatewayError('ip_not_allowed', 'This API key may not be used from your address.')
        }
        return { hash, keyLength: presented.key.length, key, account }
      })
    },
  )
}

/** Undefined for a key without an account. Throws store_unavailable for an account that is not loaded. */
function accountOf(records: Records, { account: id }: KeyRecord): Soon<AccountRecord | undefined> {
  if (id === undefined) return undefined
  return after(
    toldUnavailable(() => records.account(id)),
    (account) => {
      if (account !== undefined) return account
      throw new GatewayError('store_unavailable', 'The account of this API key is not available.', {
        retryAfterSeconds: 5,
      })
    },
  )
}

/** Neither disabled nor expired. */
export function isInForce(key: KeyRecord, nowMs: number): boolean {
  return !key.disabled && (key.expiresAt === undefined || key.expiresAt > nowMs)
}

/** True without a list of addresses, and for an address on it. */
export function mayComeFrom(key: KeyRecord, address: string | undefined): boolean {
  return key.allowedIPs.length === 0 || (address !== undefined && addressesOf(key).has(address))
}

function toldUnavailable<R>(find: () => Soon<R>): Soon<R> {
  return rescued(find, (error) => {
    if (!(error instanceof StoreUnavailable || error instanceof RecordUnreadable)) throw error
    throw new GatewayError('store_unavailable', 'API keys cannot be checked at the moment.', {
      retryAfterSeconds: 1,
      cause: error,
    })
  })
}

function unauthorized(): GatewayError {
  return new GatewayError('unauthorized', `Missing or invalid API key. Send one key as ${FORMS}.`)
}

/** Parsed lists; each lives as long as its record. */
const parsedLists = new WeakMap<KeyRecord, AddressSet>()

function addressesOf(key: KeyRecord): AddressSet {
  const known = parsedLists.get(key)
  if (known !== undefined) return known
  const set = new AddressSet(key.allowedIPs)
  parsedLists.set(key, set)
  return set
}
