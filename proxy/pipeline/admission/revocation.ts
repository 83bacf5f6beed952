import type { KeyRecord } from '../../../contract/table/records.ts'
import type { Canceller } from '../../../kit/cancel.ts'
import { Roster } from '../../../kit/roster.ts'
import { type Caller, isInForce, mayComeFrom } from '../../auth/authenticate.ts'
import { GatewayError } from '../../errors.ts'

/** Wait before a key is checked again that the store could not read. */
const RETRY_MS = 1_000
/** Longest wait for the expiry of a key: the clock may be set meanwhile, and Node's longest timer is shorter than some keys live. */
const MAX_WAIT_MS = 60_000

interface Watched {
  /** Requests and sockets that must end with the key, with their client addresses. */
  uses: Roster<{ use: Canceller; address: string | undefined }>
  /** Checks the key when it expires. */
  expiry: NodeJS.Timeout | undefined
}

/** Aborts the requests in flight, and the open WebSockets, of a key that was revoked. */
export class Revocation {
  readonly #keyOf: (hash: string) => Promise<KeyRecord | undefined>
  readonly #watched = new Map<string, Watched>()

  /** `keyOf` finds the record of a key by its SHA-256; it rejects if the store does not answer. */
  constructor(keyOf: (hash: string) => Promise<KeyRecord | undefined>) {
    this.#keyOf = keyOf
  }

  /**
   * Aborts `use` when the key is deleted or disabled, expires, or may no longer be used from `address`. The returned
   * function ends the watch.
   */
  watch({ hash, key }: Pick<Caller, 'hash' | 'key'>, address: string | undefined, use: Canceller) {
    const watched = this.#watched.get(hash) ?? this.#begin(hash)
    const seat = watched.uses.join({ use, address })
    if (watched.expiry === undefined) this.#awaitExpiry(hash, watched, key)
    return () => {
      watched.uses.leave(seat)
      if (watched.uses.size > 0 || this.#watched.get(hash) !== watched) return
      clearTimeout(watched.expiry)
      this.#watched.delete(hash)
    }
  }

  #begin(hash: string): Watched {
    const watched: Watched = { uses: new Roster(), expiry: undefined }
    this.#watched.set(hash, watched)
    return watched
  }

  /** Checks those of these keys that are in use again; without an argument, all keys in use. */
  async recheck(hashes: Iterable<string> = this.#watched.keys()): Promise<void> {
    const unknown: string[] = []
    const look = async (hash: string) => {
      const key = await this.#keyOf(hash).catch(() => 'unknown' as const)
      // A store that is away revokes no key.
      if (key === 'unknown') unknown.push(hash)
      else this.#judge(hash, key)
    }
    await Promise.all([...hashes].filter((hash) => this.#watched.has(hash)).map(look))
    if (unknown.length > 0) setTimeout(() => void this.recheck(unknown), RETRY_MS).unref()
  }

  #judge(hash: string, key: KeyRecord | undefined): void {
    const watched = this.#watched.get(hash)
    if (watched === undefined) return
    const revoked = key === undefined || !isInForce(key, Date.now())
    if (!revoked) this.#awaitExpiry(hash, watched, key)
    for (const { use, address } of watched.uses.members()) {
      if (revoked) use.abort(new GatewayError('unauthorized', 'This API key was revoked.'))
      else if (!mayComeFrom(key, address))
        use.abort(new GatewayError('ip_not_allowed', 'This API key may no longer be used from your address.'))
    }
  }

  #awaitExpiry(hash: string, watched: Watched, { expiresAt }: KeyRecord): void {
    clearTimeout(watched.expiry)
    watched.expiry = undefined
    if (expiresAt === undefined) return
    const waitMs = Math.min(Math.max(expiresAt - Date.now(), 1), MAX_WAIT_MS)
    watched.expiry = setTimeout(() => void this.recheck([hash]), waitMs).unref()
  }
}
