/** The records of keys and accounts that this proxy has used. */
import type { AccountRecord, KeyRecord } from '../../contract/table/records.ts'
import type { Soon } from '../../kit/soon.ts'
import type { Change, ConfigStore } from '../../store/contract.ts'
import { KeyDirectory } from './key-directory.ts'
import { RecordCache, type RecordSource } from './record-cache.ts'

type RecordsOptions = Pick<RecordSource<unknown>, 'isAbsent' | 'knowledge' | 'maxAgeMs' | 'now'> & {
  unreadable(kind: 'key' | 'account', error: Error): void
  /** The store does not give the list of keys. */
  failed(error: unknown): void
}

export class Records {
  readonly #keys: RecordCache<KeyRecord>
  readonly #accounts: RecordCache<AccountRecord>
  readonly #directory: KeyDirectory

  constructor(
    store: Pick<ConfigStore, 'key' | 'account' | 'keyHashes'>,
    { unreadable, failed, ...source }: RecordsOptions,
  ) {
    this.#keys = new RecordCache({
      ...source,
      fetch: (hash) => store.key(hash),
      unreadable: (error) => unreadable('key', error),
    })
    this.#accounts = new RecordCache({
      ...source,
      fetch: (id) => store.account(id),
      unreadable: (error) => unreadable('account', error),
    })
    this.#directory = new KeyDirectory({
      now: source.now,
      failed,
      standing: () => source.knowledge.standing(),
      async readAll() {
        // An emptied store lists no keys, so an absence counts only when isAbsent confirms it.
        for (;;) {
          const hashes = await store.keyHashes()
          if (await source.isAbsent()) return hashes
        }
      },
    })
  }

  /** Rejects with StoreUnavailable or RecordUnreadable if the store cannot answer. */
  key(hash: string): Soon<KeyRecord | undefined> {
    if (this.#keys.has(hash)) return this.#keys.get(hash)
    return this.#directory.find(hash, async () => this.#keys.get(hash))
  }

  /** Rejects like `key`. */
  account(id: string): Soon<AccountRecord | undefined> {
    return this.#accounts.get(id)
  }

  /** Records that a publication names are read again at their next use. */
  changed({ keys, accounts }: Change): void {
    for (const hash of keys) this.#keys.changed(hash)
    for (const id of accounts) this.#accounts.changed(id)
    this.#directory.changed(keys)
  }

  /** Changes may have been missed: everything is read again at its next use. */
  gap(): void {
    this.#keys.gap()
    this.#accounts.gap()
    this.#directory.gap()
  }
}
