/** The checkpoint of this term: what each account had when the leader last looked, saved when it changes. */
import { hash } from 'node:crypto'
import type { Log } from '../../contract/log.ts'
import { pause } from '../../kit/time.ts'
import { type CheckpointStore, Superseded } from './checkpoint-store.ts'
import type { Mark, Marks } from './mark.ts'

/** So that an API server is not busy with checkpoints. */
const SAVES_PER_SECOND = 50
/** For a leader that stops: the next one waits. */
const LAST_SAVES_AT_ONCE = 16

export class Checkpoints {
  readonly #store: CheckpointStore
  readonly #log: Log
  #loading: Promise<number> | undefined
  #shards: Marks[] = []
  readonly #unsaved = new Set<number>()
  /** performance.now() since which some marks are not saved; undefined: all are. */
  #unsavedSince: number | undefined

  constructor(store: CheckpointStore, log: Log) {
    this.#store = store
    this.#log = log
  }

  /** How long the oldest change has waited to be saved. */
  get lagSeconds(): number {
    return this.#unsavedSince === undefined ? 0 : (performance.now() - this.#unsavedSince) / 1_000
  }

  /** Reads the checkpoint, once; resolves with the epoch of the leader that saved it. Rejects when it cannot be read. */
  load(): Promise<number> {
    this.#loading ??= this.#store.load().then(
      ({ epoch, shards }) => {
        this.#shards = [...shards]
        return epoch
      },
      (error: unknown) => {
        this.#loading = undefined
        throw error
      },
    )
    return this.#loading
  }

  mark(account: string): Mark | undefined {
    return this.#shards[this.#shardOf(account)]?.[account]
  }

  note(account: string, mark: Mark): void {
    const shard = this.#shardOf(account)
    const marks = this.#shards[shard]
    const before = marks?.[account]
    if (marks === undefined || (before !== undefined && isSame(before, mark))) return
    marks[account] = mark
    this.#unsaved.add(shard)
    this.#unsavedSince ??= performance.now()
  }

  /**
   * Saves what has changed: slowly until `hurry` aborts, or at once without it. A part that cannot be saved is kept for the
   * next time. Rejects with Superseded.
   */
  async save(epoch: number, hurry?: AbortSignal): Promise<void> {
    const failures: unknown[] = []
    const shards = [...this.#unsaved].values()
    const saver = async () => {
      for (const shard of shards) {
        // The last save of a term may have been faster.
        if (!this.#unsaved.delete(shard)) continue
        try {
          await this.#store.save(shard, this.#shards[shard] ?? {}, epoch)
        } catch (error) {
          this.#unsaved.add(shard)
          if (error instanceof Superseded) throw error
          failures.push(error)
        }
        if (hurry !== undefined && this.#unsaved.size > 0)
          await pause(1_000 / SAVES_PER_SECOND, hurry, 'resolve')
      }
    }
    await Promise.all(Array.from({ length: hurry === undefined ? LAST_SAVES_AT_ONCE : 1 }, saver))
    if (this.#unsaved.size === 0) this.#unsavedSince = undefined
    if (failures.length > 0)
      this.#log.error({ err: failures[0], parts: failures.length }, 'cannot save the checkpoint of balances')
  }

  #shardOf(account: string): number {
    return Number.parseInt(hash('sha1', account, 'hex').slice(0, 8), 16) % this.#store.shards
  }
}

function isSame(a: Mark, b: Mark): boolean {
  return (
    a.entries === b.entries &&
    a.last === b.last &&
    a.credited === b.credited &&
    a.spent === b.spent &&
    creditsIn(a) === creditsIn(b) &&
    subsOf(a).length === subsOf(b).length
  )
}

const subsOf = ({ subs = {} }: Mark) => Object.values(subs)

function creditsIn(mark: Mark): number {
  return [mark, ...subsOf(mark)].reduce((sum, { credits }) => sum + Object.keys(credits).length, 0)
}
