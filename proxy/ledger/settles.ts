/**
 * Settles: posted at once where the store answers, else kept and tried again until it does. None is ever dropped in
 * silence: what cannot be kept or posted is handed to whoever writes it down.
 */
import { StoreUnavailable } from '../../store/contract.ts'
import type { Ledger, Settle, SettleReply } from '../../store/ledger/contract.ts'
import { MissingAccounts } from './missing-accounts.ts'

const MAX_WAITING = 10_000
const AT_ONCE = 64
const RETRY_MS = 250
/** What a server acknowledged so shortly before it was lost may be lost with it. */
const REPLAY_MS = 60_000
/** What is older is not repeated: the ledger may have forgotten it, and could not tell that it was charged. */
const MAX_REPLAY_AGE_MS = 600_000
const MAX_REPLAYED = 50_000

/** Why a cost stays uncharged: no room to wait, nobody knows whether it was charged, or the process ends. */
export type DeadReason = 'overflow' | 'CONFLICT' | 'STALE' | 'failed' | 'stopped'

export interface SettleEvents {
  /** A settle was not carried out and waits, or was refused. */
  failed(error: unknown): void
  /** The ledger does not know this account, and its settles wait; or knows it again. Told once for each change. */
  accountMissing(account: string, missing: boolean): void
  /** A cost that is not charged by anybody any more. */
  dead(settle: Settle, reason: DeadReason): void
}

interface Posted {
  command: Settle
  /** performance.now() */
  at: number
}

export class Settles {
  readonly #ledger: Ledger
  readonly #events: SettleEvents
  /** Oldest first. */
  readonly #waiting = new Map<string, Settle>()
  readonly #missing = new MissingAccounts()
  /** Posted within REPLAY_MS of the newest one, oldest first. */
  readonly #posted = new Map<string, Posted>()
  /** Posted before a connection was lost, and not yet again since it is back. */
  readonly #toRepeat = new Map<string, Posted>()
  #timer: NodeJS.Timeout | undefined
  #round: Promise<void> | undefined
  #replay: Promise<void> | undefined
  #stopped = false

  constructor(ledger: Ledger, events: SettleEvents) {
    this.#ledger = ledger
    this.#events = events
  }

  /** Number of those that wait. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** The reply, or undefined when it waits or is dead. Never rejects. */
  async post(command: Settle): Promise<SettleReply | undefined> {
    const outcome = await this.#try(command)
    if (outcome === 'later' || outcome === 'NOACCT') this.#wait(command)
    return outcome === 'later' || outcome === 'dead' ? undefined : outcome
  }

  /** The store is back: what waits is tried now, and what it may have lost once more, which changes nothing else. */
  restored(): void {
    if (this.#stopped) return
    for (const [key, posted] of this.#posted) this.#toRepeat.set(key, posted)
    this.#missing.retryAll()
    this.#retry()
    this.#replay ??= this.#replayAll().finally(() => {
      this.#replay = undefined
    })
  }

  /** A server that has just come back may answer a while later; of a Cluster's, each in its own time. */
  async #replayAll(): Promise<void> {
    await this.#round
    while (this.#toRepeat.size > 0 && !this.#stopped) {
      await this.#eachWhileAnswered([...this.#toRepeat], (repeat) => this.#repeat(repeat))
      if (this.#toRepeat.size > 0) await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref())
    }
  }

  /** False when the store is away: it is repeated after the others. */
  async #repeat([key, posted]: [string, Posted]): Promise<boolean> {
    // Before it is sent: a connection that is lost meanwhile puts it back.
    this.#toRepeat.delete(key)
    if (performance.now() - posted.at > MAX_REPLAY_AGE_MS) return true
    const answered = await this.#postAgain(posted.command)
    if (!answered) this.#toRepeat.set(key, posted)
    return answered
  }

  /** Waits for what can still be posted, at most so long; the rest is dead. */
  async stop(graceMs: number): Promise<void> {
    const deadline = performance.now() + graceMs
    while (this.#waiting.size > 0 && performance.now() < deadline) {
      await (this.#round ?? new Promise((resolve) => setTimeout(resolve, RETRY_MS / 10)))
    }
    this.#stopped = true
    clearTimeout(this.#timer)
    // What is under way may still be posted.
    await this.#round
    for (const command of this.#waiting.values()) this.#events.dead(command, 'stopped')
    this.#waiting.clear()
  }

  async #try(command: Settle): Promise<SettleReply | 'later' | 'dead'> {
    try {
      const reply = await this.#ledger.settle(command)
      this.#tellMissing(command.account, reply === 'NOACCT')
      switch (reply) {
        case 'CONFLICT':
        case 'STALE':
          this.#events.dead(command, reply)
          break
        case 'NOACCT':
          break
        default:
          this.#remember(command)
      }
      return reply
    } catch (error) {
      this.#events.failed(error)
      if (error instanceof StoreUnavailable) return 'later'
      this.#events.dead(command, 'failed')
      return 'dead'
    }
  }

  #tellMissing(account: string, missing: boolean): void {
    const news = missing ? this.#missing.add(account) : this.#missing.delete(account)
    if (news) this.#events.accountMissing(account, missing)
  }

  #remember(command: Settle): void {
    this.#forgetOld()
    this.#posted.set(keyOf(command), { command, at: performance.now() })
  }

  #forgetOld(): void {
    const oldest = performance.now() - REPLAY_MS
    for (const [key, { at }] of this.#posted) {
      if (at >= oldest && this.#posted.size < MAX_REPLAYED) return
      this.#posted.delete(key)
    }
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

  /** One round over all that are due, which ends when the store is away. */
  async #tryAll(): Promise<void> {
    const due = [...this.#waiting].filter(([, { account }]) => this.#missing.isDue(account))
    const attempt = async ([key, command]: [string, Settle]) => {
      // Another one of this account may just have been refused.
      if (!this.#missing.isDue(command.account)) return true
      const outcome = await this.#try(command)
      if (outcome === 'later') return false
      if (outcome !== 'NOACCT') this.#waiting.delete(key)
      return true
    }
    await this.#eachWhileAnswered(due, attempt)
  }

  /** `work` on all until one answers false; a store that is away is found out by one. */
  async #eachWhileAnswered<T>(items: readonly T[], work: (item: T) => Promise<boolean>): Promise<void> {
    const [first, ...others] = items
    if (first !== undefined && (await work(first))) await this.#each(others, work)
  }

  /**
   * False when the store is away. Of a repeat only STALE says that the cost is lost; every other reply is as good as the
   * first one.
   */
  async #postAgain(command: Settle): Promise<boolean> {
    try {
      if ((await this.#ledger.settle(command)) === 'STALE') this.#events.dead(command, 'STALE')
      return true
    } catch (error) {
      this.#events.failed(error)
      return !(error instanceof StoreUnavailable)
    }
  }

  /** `work` on a few at a time, until one answers false. */
  async #each<T>(items: readonly T[], work: (item: T) => Promise<boolean>): Promise<void> {
    let goesOn = true
    const queue = items.values()
    const lane = async () => {
      for (const item of queue) {
        goesOn = (await work(item)) && goesOn
        if (!goesOn || this.#stopped) return
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, lane))
  }
}

function keyOf({ account, id }: Settle): string {
  return `${account}/${id}`
}
