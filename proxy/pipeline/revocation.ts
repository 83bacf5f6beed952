import { GatewayError } from '../errors.ts'

/** A key of which nobody could tell is looked at again. */
const RETRY_MS = 1_000

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
   * Looks again at these keys (all, when undefined), as far as they have requests in flight. `mayBeUsed` tells whether
   * a key still may; undefined where it cannot be told now, and then it is asked again as long as requests last.
   */
  async recheck(
    hashes: readonly string[] | undefined,
    mayBeUsed: (hash: string) => Promise<boolean | undefined>,
  ): Promise<void> {
    const used = hashes?.filter((hash) => this.#requests.has(hash)) ?? [...this.#requests.keys()]
    const unknown: string[] = []
    await Promise.all(
      used.map(async (hash) => {
        const usable = await mayBeUsed(hash)
        if (usable === undefined) unknown.push(hash)
        else if (!usable) this.#breakOff(hash)
      }),
    )
    if (unknown.length > 0) setTimeout(() => void this.recheck(unknown, mayBeUsed), RETRY_MS).unref()
  }

  #breakOff(hash: string): void {
    for (const request of this.#requests.get(hash) ?? [])
      request.abort(new GatewayError('unauthorized', 'This API key was taken back.'))
  }
}
