import { GatewayError } from '../errors.ts'

/** Breaks off the requests in flight of a key that was taken back. */
export class Revocation {
  readonly #requests = new Map<string, Set<AbortController>>()

  /** Until the returned function is called, the request ends when the key with this SHA-256 is revoked. */
  watch(hash: string, request: AbortController): () => void {
    const requests = this.#requests.get(hash) ?? new Set()
    this.#requests.set(hash, requests.add(request))
    return () => {
      requests.delete(request)
      if (requests.size === 0 && this.#requests.get(hash) === requests) this.#requests.delete(hash)
    }
  }

  /**
   * Looks again at these keys (all, when undefined), as far as they have requests in flight. `good` tells whether a
   * key may still be used.
   */
  async recheck(
    hashes: readonly string[] | undefined,
    good: (hash: string) => Promise<boolean>,
  ): Promise<void> {
    const used = hashes?.filter((hash) => this.#requests.has(hash)) ?? [...this.#requests.keys()]
    await Promise.all(used.map(async (hash) => (await good(hash)) || this.#breakOff(hash)))
  }

  #breakOff(hash: string): void {
    for (const request of this.#requests.get(hash) ?? [])
      request.abort(new GatewayError('unauthorized', 'This API key was taken back.'))
  }
}
