/**
 * What the gateway has written down about requests, in three places: request log, usage and ledger. A measurement counts only
 * if they agree with each other, with the load generator and with the upstream's own log.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { parseDollars } from '../contract/money.ts'

/** Sums since the start of the gateway; amounts in nano-dollars. */
export interface Sums {
  logged: number
  loggedCost: number
  used: number
  usedCost: number
  spent: number
}

export interface Books {
  read(): Promise<Sums>
}

type Page = (path: '/usage' | '/ledger', query: URLSearchParams) => Promise<unknown>

const usagePage = z.object({
  lines: z.array(
    z.object({ counts: z.object({ requests: z.number().default(0), cost: z.number().default(0) }) }),
  ),
})
const ledgerPage = z.object({ accounts: z.array(z.object({ spent: z.number() })) })

/** Reads pages of an admin port. */
export function pageReader(admin: string): Page {
  return async (path, query) => {
    const answer = await fetch(`${admin}${path}?${query}`)
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
}

const DAY_MS = 86_400_000
const dateOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/** `log`: file of the request log. */
export function booksOf(log: string, page: Page): Books {
  const lines = new RequestLines(log)
  return {
    async read() {
      // A run may last beyond midnight.
      const span = { from: dateOf(Date.now() - DAY_MS), to: dateOf(Date.now()), by: '' }
      const usage = usagePage.parse(await page('/usage', new URLSearchParams(span)))
      const { accounts } = ledgerPage.parse(await page('/ledger', new URLSearchParams()))
      const { logged, loggedCost } = lines.read()
      const used = usage.lines.reduce((sum, { counts }) => sum + counts.requests, 0)
      const usedCost = usage.lines.reduce((sum, { counts }) => sum + counts.cost, 0)
      const spent = accounts.reduce((sum, account) => sum + account.spent, 0)
      return { logged, loggedCost, used, usedCost, spent }
    },
  }
}

const CHUNK = 1 << 20

/** Counts the lines of a request log while it grows. */
export class RequestLines {
  readonly #file: string
  #at = 0
  #partial = ''
  #logged = 0
  #loggedCost = 0

  constructor(file: string) {
    this.#file = file
  }

  read(): Pick<Sums, 'logged' | 'loggedCost'> {
    const file = openSync(this.#file, 'r')
    const chunk = Buffer.alloc(CHUNK)
    for (let size = 1; size > 0; this.#at += size) {
      size = readSync(file, chunk, 0, CHUNK, this.#at)
      const lines = (this.#partial + chunk.toString('latin1', 0, size)).split('\n')
      this.#partial = lines.pop() ?? ''
      for (const line of lines) this.#count(line)
    }
    closeSync(file)
    return { logged: this.#logged, loggedCost: this.#loggedCost }
  }

  #count(line: string): void {
    if (!line.includes('"kind":"request"')) return
    this.#logged++
    const [, settled] = /"settled":"([\d.]+)"/.exec(line) ?? []
    if (settled !== undefined) this.#loggedCost += parseDollars(settled)
  }
}

/** What the books must have gained. */
interface Expected {
  requests: number
  cost: number
}

const AGREE_MS = 8_000
const LOOK_EVERY_MS = 100

/** Waits until the books have gained what is expected. Returns how they differ when they still do after some seconds. */
export async function disagreement(
  books: Books,
  before: Sums,
  { requests, cost }: Expected,
): Promise<string | undefined> {
  const deadline = performance.now() + AGREE_MS
  for (;;) {
    const now = await books.read()
    const differences = differencesOf(before, now, { requests, cost })
    if (differences.length === 0) return undefined
    if (performance.now() > deadline) return differences.join(', ')
    await delay(LOOK_EVERY_MS)
  }
}

export function differencesOf(before: Sums, now: Sums, { requests, cost }: Expected): string[] {
  const expected: Sums = {
    logged: requests,
    loggedCost: cost,
    used: requests,
    usedCost: cost,
    spent: cost,
  }
  const names = Object.keys(expected) as (keyof Sums)[]
  return names
    .filter((name) => now[name] - before[name] !== expected[name])
    .map((name) => `${name} ${now[name] - before[name]} instead of ${expected[name]}`)
}
