/** Steady requests of every kind of caller through every proxy, and the answers that each may get whatever happens. */
import { expect } from 'vitest'
import { ask } from '../harness/fleet-traffic.ts'

const CALLERS = ['unmetered', 'metered', 'unknown', 'disabled'] as const
export type Caller = (typeof CALLERS)[number]

/** A good key is never unauthorized, a bad one never served, and only metered callers may get store_unavailable. */
const RIGHT: Record<Caller, readonly number[]> = {
  unmetered: [200],
  metered: [200, 503],
  unknown: [401, 503],
  disabled: [401, 503],
}
/** Between two requests of one caller through one proxy. */
const PACE_MS = 30

export interface Answer {
  caller: Caller
  proxy: string
  /** 0: the connection broke before the answer was complete. */
  status: number
  headers: Record<string, unknown>
  sentAt: number
  ms: number
}

/** The API key and the model of each caller; may change meanwhile. Unknown keys get a number appended. */
export type Credentials = Record<Caller, { key: string; model: string }>

export class Traffic {
  readonly answers: Answer[] = []
  readonly #bases: readonly string[]
  readonly #credentials: Credentials
  readonly #loops: Promise<void>[]
  #over = false
  #sent = 0

  /** Starts at once. */
  constructor(bases: readonly string[], credentials: Credentials) {
    this.#bases = bases
    this.#credentials = credentials
    this.#loops = bases.flatMap((base) => CALLERS.map((caller) => this.#send(base, caller)))
  }

  /** Answers to requests sent since `since`, by performance.now(). */
  of(caller: Caller, since = 0): Answer[] {
    return this.answers.filter((answer) => answer.caller === caller && answer.sentAt >= since)
  }

  /** Resolves when the last answer has arrived, with how many metered requests were served and how many broke off. */
  async stop(): Promise<{ served: number; broken: number }> {
    this.#over = true
    await Promise.all(this.#loops)
    const count = (status: number) => this.of('metered').filter((answer) => answer.status === status).length
    return { served: count(200), broken: count(0) }
  }

  async #send(base: string, caller: Caller): Promise<void> {
    while (!this.#over) {
      const { key, model } = this.#credentials[caller]
      const sentAt = performance.now()
      // A proxy may keep refusing a key for a while after it was unknown.
      const unlike = caller === 'unknown' ? `-${this.#sent++}` : ''
      const { status, headers } = await ask(base, key + unlike, model).catch(() => ({
        status: 0,
        headers: {},
      }))
      this.answers.push({ caller, proxy: base, status, headers, sentAt, ms: performance.now() - sentAt })
      await new Promise((resolve) => setTimeout(resolve, PACE_MS))
    }
  }

  /** Every answer was allowed; connections broke only on the proxies in `broken`. */
  expectRight(broken: readonly string[] = []): void {
    const wrong = this.answers.filter(
      ({ caller, proxy, status }) =>
        !RIGHT[caller].includes(status) && !(status === 0 && broken.includes(proxy)),
    )
    const summaries = wrong.map(({ caller, proxy, status }) => `${caller} ${status} ${proxy}`)
    expect([...new Set(summaries)]).toEqual([])
    for (const proxy of this.#bases.filter((base) => !broken.includes(base)))
      expect(this.of('unmetered').filter((answer) => answer.proxy === proxy).length).toBeGreaterThan(5)
  }

  /** Metered requests during the outage got an answer that asks for a retry. */
  expectUnavailable(since: number): void {
    const refused = this.of('metered', since).filter(({ status }) => status === 503)
    expect(refused.length).toBeGreaterThan(5)
    for (const { headers } of refused) expect(Number(headers['retry-after'])).toBeGreaterThan(0)
  }
}
