/** One Redis, or one Redis Cluster, as the parts of the store see it. */

export interface RedisConnection {
  /**
   * Runs a script of store/lua by its name ("ledger/reserve"), loading it where the server does not have it. All keys
   * share one hash tag. Rejects with StoreUnavailable after `timeoutMs` (default 250) at the latest, and at once while
   * the server is known to be away; rejects with the server's own error for a fault of ours.
   */
  run(
    script: string,
    keys: readonly string[],
    args: readonly (string | number)[],
    timeoutMs?: number,
  ): Promise<unknown>
  /** Sends one command on one key, such as ['GET', key], under the same promises. */
  command(
    command: readonly [name: string, key: string, ...args: (string | number)[]],
    timeoutMs?: number,
  ): Promise<unknown>
  /** See Store.onRestored. */
  onRestored(listener: () => void): () => void
  close(): Promise<void>
}
