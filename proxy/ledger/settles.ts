/** Posts settles at once while the store answers, else keeps them and retries until it does. A settle that cannot be
 * kept or posted is reported as dead, never dropped silently.
 */
import { after, isLater, rescued, type Soon } from '../../kit/soon.ts'
import { StoreUnavailable } from '../../store/contract.ts'
import type { Ledger, Settle, SettleReply } from '../../store/ledger/contract.ts'
import { MissingAccounts } from './missing-accounts.ts'
import { RecentSettles } from './recent-settles.ts'

const MAX_WAITING = 10_000
const AT_ONCE = 64
const RETRY_MS = 250
/** Older settles are not repeated: the ledger may have forgotten that they were charged. */
const MAX_REPLAY_AGE_MS = 600_000

/** Why a cost stays uncharged: no room to wait, unknown whether it was charged, or the process ends. */
type DeadReason = 'overflow' | 'CONFLICT' | 'STALE' | 'failed' | 'stopped'

export interface SettleEvents {
  /** A settle was not carried out and waits, or was refused. */
  failed(error: unknown): void
  /** The ledger does not know this account, so its settles wait; or it knows the account again. Once for each change. */
  accountMissing(account: string, missing: boolean): void
  /** A cost that will never be charged. */
  dead(settle: Settle, reason: DeadReason): void
}

interface Repeat {
  command: Settle
  /** When it was posted, by performance.now(). */
  at: number
  /** The store did not know its account when it was repeated: it was lost with the account. */
  missing: boolean
}

export class Settles {
  readonly #ledger: Ledger
  readonly #events: SettleEvents
  /** Oldest first. */
  readonly #waiting = new Map<string, Settle>()
  readonly #missing = new MissingAccounts()
  readonly #posted = new RecentSettles()
  /** Posted before a connection was lost, and not yet again since it is back. */
  readonly #toRepeat = new Map<string, Repeat>()
  #timer: NodeJS.Timeout | undefined
  #round: Promise<void> | undefined
  #replay: Promise<void> | undefined
  #stopped = false

  constructor(ledger: Ledger, events: SettleEvents) {
    this.#ledger = ledger
    this.#events = events
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** The reply, or undefined when it waits or is dead. Never rejects. */
  post(command: Settle): Soon<SettleReply['reply'] | undefined> {
    return after(this.#try(command), (outcome) => {
      if (outcome === 'later' || outcome === 'NOACCT') this.#wait(command)
      return outcome === 'later' || outcome === 'dead' ? undefined : outcome
    })
  }

  /** The store is back, or was emptied: posts waiting settles now, and repeats those that it may have lost, which is idempotent. */
  restored(): void {
    if (this.#stopped) return
    for (const [command, at] of this.#posted)
      this.#toRepeat.set(keyOf(command), { command, at, missing: false })
    this.#missing.retryAll()
    this.#retry()
    this.#replay ??= this.#replayAll().finally(() => {
      this.#replay = undefined
    })
  }

  /** A server that has just come back may need a while to answer; each node of a Cluster its own. */
  async #replayAll(): Promise<void> {
    await this.#round
    while (this.#toRepeat.size > 0 && !this.#stopped) {
      const due = [...this.#toRepeat].filter(([, { command }]) => this.#missing.isDue(command.account))
      await this.#eachWhileAnswered(due, (one) => this.#repeat(one))
      if (this.#toRepeat.size > 0) await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref())
    }
  }

  /** False when the store is away; the settle is then repeated after the others. */
  async #repeat([key, repeat]: [string, Repeat]): Promise<boolean> {
    // Before it is sent: restored() puts it back when the connection is lost meanwhile.
    this.#toRepeat.delete(key)
    if (performance.now() - repeat.at > MAX_REPLAY_AGE_MS) {
      if (repeat.missing) this.#events.dead(repeat.command, 'STALE')
      return true
    }
    const outcome = await this.#postAgain(repeat.command)
    if (outcome !== 'over') this.#toRepeat.set(key, { ...repeat, missing: outcome === 'missing' })
    return outcome !== 'later'
  }

  /** Waits at most `graceMs` for settles that can still be posted; reports the rest as dead. */
  async stop(graceMs: number): Promise<void> {
    const deadline = performance.now() + graceMs
    while (this.#waiting.size + this.#toRepeat.size > 0 && performance.now() < deadline) {
      await (this.#round ?? new Promise((resolve) => setTimeout(resolve, RETRY_MS / 10)))
    }
    this.#stopped = true
    clearTimeout(this.#timer)
    // Settles that were sent may still be posted.
    await this.#round
    for (const command of this.#waiting.values()) this.#events.dead(command, 'stopped')
    this.#waiting.clear()
  }

  #try(command: Settle): Soon<SettleReply['reply'] | 'later' | 'dead'> {
    const settled = () => {
      const reply = this.#ledger.settle(command)
      // A ledger that answers at once is in this process, and loses no settle that it has taken: there is nothing to repeat.
      return isLater(reply) ? reply.then((late) => this.#settled(command, late)) : this.#judge(command, reply)
    }
    return rescued<SettleReply['reply'] | 'later' | 'dead'>(settled, (error) => {
      this.#events.failed(error)
      if (error instanceof StoreUnavailable) return 'later'
      this.#events.dead(command, 'failed')
      return 'dead'
    })
  }

  #settled(command: Settle, settled: SettleReply): SettleReply['reply'] {
    const reply = this.#judge(command, settled)
    if (reply !== 'CONFLICT' && reply !== 'STALE' && reply !== 'NOACCT')
      this.#posted.add('entry' in settled ? { ...command, postedAs: settled.entry } : command)
    return reply
  }

  /** Reports a cost that will never be charged, and an account that is missing. */
  #judge(command: Settle, { reply }: SettleReply): SettleReply['reply'] {
    this.#tellMissing(command.account, reply === 'NOACCT')
    if (reply === 'CONFLICT' || reply === 'STALE') this.#events.dead(command, reply)
    return reply
  }

  #tellMissing(account: string, missing: boolean): void {
    const news = missing ? this.#missing.add(account) : this.#missing.delete(account)
    if (news) this.#events.accountMissing(account, missing)
  }

  #wait(command: Settle): void {
    if (this.#stopped) {
      this.#events.dead(command, 'stopped')
      return
    }
    const [oldest] = this.#waiting
    if (oldest !== undefined && this.#waiting.size >= MAX_WAITING) {
      this.#waiting.delete(oldest[0])
      this.#events.dead(oldest[1], 'overflow')
    }
    this.#waiting.set(keyOf(command), command)
    this.#retryLater()
  }

  #retryLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#retry()
    }, RETRY_MS).unref()
  }

  #retry(): void {
    this.#round ??= this.#tryAll().finally(() => {
      this.#round = undefined
      if (this.#waiting.size > 0 && !this.#stopped) this.#retryLater()
    })
  }

  /** One round over all due settles; ends when the store is away. */
  async #tryAll(): Promise<void> {
    const due = [...this.#waiting].filter(([, { account }]) => this.#missing.isDue(account))
    const attempt = async ([key, command]: [string, Settle]) => {
      // The ledger may just have refused another settle of this account.
      if (!this.#missing.isDue(command.account)) return true
      const outcome = await this.#try(command)
      if (outcome === 'later') return false
      if (outcome !== 'NOACCT') this.#waiting.delete(key)
      return true
    }
    await this.#eachWhileAnswered(due, attempt)
  }

  /** Runs `work` on all until one returns false. The first runs alone, so that only one waits for a store that is away. */
  async #eachWhileAnswered<T>(items: readonly T[], work: (item: T) => Promise<boolean>): Promise<void> {
    const [first, ...others] = items
    if (first !== undefined && (await work(first))) await this.#each(others, work)
  }

  /**
   * `later`: the store is away; `missing`: its account is. Only STALE means that the cost of a repeat is lost; after any
   * other reply it is charged.
   */
  async #postAgain(command: Settle): Promise<'over' | 'later' | 'missing'> {
    try {
      const settled = await this.#ledger.settle(command)
      this.#tellMissing(command.account, settled.reply === 'NOACCT')
      if (settled.reply === 'NOACCT') return 'missing'
      if (settled.reply === 'STALE') this.#events.dead(command, 'STALE')
      // Posted anew: a later restore must judge this entry, not the one that was lost.
      if (settled.reply === 'LOST' || settled.reply === 'LATE' || settled.reply === 'OK')
        this.#posted.add({ ...command, postedAs: settled.entry })
      return 'over'
    } catch (error) {
      this.#events.failed(error)
      return error instanceof StoreUnavailable ? 'later' : 'over'
    }
  }

  /** Runs `work` on a few at a time, until one returns false. */
  async #each<T>(items: readonly T[], work: (item: T) => Promise<boolean>): Promise<void> {
    let answered = true
    const queue = items.values()
    const lane = async () => {
      for (const item of queue) {
        answered = (await work(item)) && answered
        if (!answered || this.#stopped) return
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, lane))
  }
}

function keyOf({ account, id }: Settle): string {
  return `${account}/${id}`
}
