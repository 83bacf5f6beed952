/** Counts what each client has open. A client with nothing open takes no memory. */
export class PerClient {
  readonly #counts = new Map<string, number>()

  of(client: string): number {
    return this.#counts.get(client) ?? 0
  }

  /** Adds one, until the returned function is called. Further calls of it do nothing. */
  enter(client: string): () => void {
    this.#counts.set(client, this.of(client) + 1)
    let open = true
    return () => {
      if (!open) return
      open = false
      const left = this.of(client) - 1
      if (left > 0) this.#counts.set(client, left)
      else this.#counts.delete(client)
    }
  }
}
