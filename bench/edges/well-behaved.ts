/** A typical client: small requests at a fixed rate, however slow the answers are. */
import { Pool } from 'undici'

const PER_SECOND = 50
const BODY = JSON.stringify({ model: 'bench-chat-json', messages: [{ role: 'user', content: 'Hello' }] })

export interface Pace {
  /** Milliseconds from the due time of a request to the end of its answer, sorted. */
  latencies: number[]
  /** Answers other than 200, by status; 0 for no answer. */
  failures: Record<number, number>
}

export class WellBehaved {
  readonly #pool: Pool
  readonly #key: string

  constructor(origin: string, key: string) {
    this.#pool = new Pool(origin, { connections: 64, pipelining: 1 })
    this.#key = key
  }

  /** Requests are due at fixed times. One that starts late, because others were slow, counts from its due time. */
  async run(durationMs: number): Promise<Pace> {
    const pace: Pace = { latencies: [], failures: {} }
    const start = performance.now()
    const asked: Promise<void>[] = []
    for (let n = 0; n < (durationMs * PER_SECOND) / 1_000; n++) {
      const due = start + (n * 1_000) / PER_SECOND
      const wait = due - performance.now()
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
      asked.push(this.#ask(due, pace))
    }
    await Promise.all(asked)
    pace.latencies.sort((a, b) => a - b)
    return pace
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }

  async #ask(due: number, pace: Pace): Promise<void> {
    const headers = { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' }
    let status = 0
    try {
      const answer = await this.#pool.request({
        method: 'POST',
        path: '/v1/chat/completions',
        headers,
        body: BODY,
      })
      await answer.body.text()
      status = answer.statusCode
    } catch {
      // Counted as no answer.
    }
    if (status !== 200) pace.failures[status] = (pace.failures[status] ?? 0) + 1
    pace.latencies.push(performance.now() - due)
  }
}
