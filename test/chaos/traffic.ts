/** Steady requests of every kind of caller through every proxy, and what may be answered to whom whatever happens. */
import { expect } from 'vitest'
import { ask } from '../harness/fleet-traffic.ts'

const CALLERS = ['unmetered', 'metered', 'unknown', 'disabled'] as const
export type Caller = (typeof CALLERS)[number]

/** A good key is never unauthorized, a bad one never served, and only who pays may hear that the store is away. */
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

/** The API key and the model of each caller; may change while requests are sent. Unknown keys get a number behind. */
export type Credentials = Record<Caller, { key: string; model: string }>

export class Traffic {
  readonly answers: Answer[] = []
  readonly #bases: readonly string[]
  readonly #credentials: Credentials
  readonly #loops: Promise<void>[]
  #over = false
  #sent = 0

  /** Begins at once. */
  constructor(bases: readonly string[], credentials: Credentials) {
    this.#bases = bases
    this.#credentials = credentials
    this.#loops = bases.flatMap((base) => CALLERS.map((caller) => this.#send(base, caller)))
  }

  /** Answers to requests that were sent since `since`, by performance.now(). */
  of(caller: Caller, since = 0): Answer[] {
    return this.answers.filter((answer) => answer.caller === caller && answer.sentAt >= since)
  }

  /** Resolves when the last answer is there, with how many metered requests were served and how many broke off. */
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
      // What a proxy was told to be unknown it may call so for a while.
      const unlike = caller === 'unknown' ? `-${this.#sent++}` : ''
      const { status, headers } = await ask(base, key + unlike, model).catch(() => ({
        status: 0,
        headers: {},
      }))
      this.answers.push({ caller, proxy: base, status, headers, sentAt, ms: performance.now() - sentAt })
      await new Promise((resolve) => setTimeout(resolve, PACE_MS))
    }
  }

  /** Nobody was answered what is wrong; connections broke on the proxies in `broken` only. */
  expectRight(broken: readonly string[] = []): void {
    const wrong = this.answers.filter(
      ({ caller, proxy, status }) =>
        !RIGHT[caller].includes(status) && !(status === 0 && broken.includes(proxy)),
    )
    const told = wrong.map(({ caller, proxy, status }) => `${caller} ${status} ${proxy}`)
    expect([...new Set(told)]).toEqual([])
    for (const proxy of this.#bases.filter((base) => !broken.includes(base)))
      expect(this.of('unmetered').filter((answer) => answer.proxy === proxy).length).toBeGreaterThan(5)
  }

  /** While the store was away metered requests were asked to come again. */
  expectUnavailable(since: number): void {
    const refused = this.of('metered', since).filter(({ status }) => status === 503)
    expect(refused.length).toBeGreaterThan(5)
    for (const { headers } of refused) expect(Number(headers['retry-after'])).toBeGreaterThan(0)
  }
}
