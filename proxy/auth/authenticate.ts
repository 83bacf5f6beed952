/** Who calls, and may this key be used now and from there. */
import { AddressSet } from '../../contract/address.ts'
import { keyHash } from '../../contract/ids.ts'
import { hasValidChecksum, isMintedFormat } from '../../contract/key-format.ts'
import type { AccountRecord, KeyRecord } from '../../contract/table/records.ts'
import { RecordUnreadable, StoreUnavailable } from '../../store/contract.ts'
import { GatewayError } from '../errors.ts'
import { presentedKey } from './credentials.ts'

/** An authenticated caller. */
export interface Caller {
  /** SHA-256 of the key. */
  hash: string
  key: KeyRecord
  /** Who pays; absent for a key that is not metered. */
  account: AccountRecord | undefined
}

/** Who owns conversations and sealed state: the account, or the key where no account pays. */
export function ownerOf({ account, key }: Caller): string {
  return account?.id ?? key.id
}

/** What a request shows of its caller. */
export interface Presented {
  /** Node's flat list of names and values. */
  rawHeaders: readonly string[]
  /** Undefined where it cannot be told. */
  address: string | undefined
  /** Milliseconds since the epoch. */
  nowMs: number
}

/** Where records come from. Both reject with StoreUnavailable or RecordUnreadable where it cannot be told. */
export interface Records {
  key(hash: string): Promise<KeyRecord | undefined>
  account(id: string): Promise<AccountRecord | undefined>
}

const MAX_KEY_LENGTH = 1024

/**
 * Checks in the order that clients see: 401 (one answer for a key that is missing, malformed, unknown, disabled or
 * expired, so that nothing can be learned from it), 503 for an account that is not loaded, 403 for a disabled
 * account, 403 for the address. A store that is away is 503, never 401.
 *
 * Keys are found by their SHA-256 and never compared: how long it takes to find a digest tells how it begins, and so
 * nothing of a key, as nobody can choose a key for the beginning of its digest and learn more of another by it.
 *
 * `found` hears of a key that is in force, and of its account, before anything else is checked: a refusal after that is
 * logged with their names.
 */
export async function authenticate(
  records: Records,
  { rawHeaders, address, nowMs }: Presented,
  found: (key: KeyRecord, account?: AccountRecord) => void = () => undefined,
): Promise<Caller> {
  const presented = presentedKey(rawHeaders)
  if (!('key' in presented) || presented.key.length > MAX_KEY_LENGTH) throw unauthorized()
  // Made up in our own format: no look-up tells more.
  if (isMintedFormat(presented.key) && !hasValidChecksum(presented.key)) throw unauthorized()
  const hash = keyHash(presented.key)
  const key = await asked(records.key(hash))
  if (key === undefined || !isInForce(key, nowMs)) throw unauthorized()
  found(key)

  const account = key.account === undefined ? undefined : await asked(records.account(key.account))
  if (key.account !== undefined && account === undefined) {
    throw new GatewayError('store_unavailable', 'The account of this API key is not available.', {
      retryAfterSeconds: 5,
    })
  }
  if (account !== undefined) found(key, account)
  if (account?.disabled)
    throw new GatewayError('account_disabled', 'The account of this API key is disabled.')
  if (!mayComeFrom(key, address)) {
    throw new GatewayError('ip_not_allowed', 'This API key may not be used from your address.')
  }
  return { hash, key, account }
}

/** Neither disabled nor expired. */
export function isInForce(key: KeyRecord, nowMs: number): boolean {
  return !key.disabled && (key.expiresAt === undefined || key.expiresAt > nowMs)
}

/** Whether the list of addresses of the key, where it has one, has this one. */
export function mayComeFrom(key: KeyRecord, address: string | undefined): boolean {
  return key.allowedIPs.length === 0 || (address !== undefined && addressesOf(key).has(address))
}

async function asked<R>(record: Promise<R>): Promise<R> {
  try {
    return await record
  } catch (error) {
    if (!(error instanceof StoreUnavailable || error instanceof RecordUnreadable)) throw error
    throw new GatewayError('store_unavailable', 'API keys cannot be checked at the moment.', {
      retryAfterSeconds: 1,
      cause: error,
    })
  }
}

function unauthorized(): GatewayError {
  return new GatewayError(
    'unauthorized',
    'Missing or invalid API key. Send one key as "Authorization: Bearer <key>" or "x-api-key: <key>".',
  )
}

/** Parsed lists, kept as long as the record that they were made from. */
const parsedLists = new WeakMap<KeyRecord, AddressSet>()

function addressesOf(key: KeyRecord): AddressSet {
  let set = parsedLists.get(key)
  if (set === undefined) {
    set = new AddressSet(key.allowedIPs)
    parsedLists.set(key, set)
  }
  return set
}
