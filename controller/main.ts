/** The controller: reads resources, compiles them, publishes what differs and keeps their status. */
import type { Log } from '../contract/log.ts'
import type { Store } from '../store/contract.ts'
import { compile } from './compile/index.ts'
import { Publisher, type PublishResult } from './publish/publisher.ts'
import { emptySnapshot, type Snapshot } from './snapshot.ts'
import { createFolderSource } from './source/folder/folder.ts'
import type { Problem } from './source/folder/problem.ts'
import { type ListedStatus, StatusBoard } from './status/board.ts'

const REFRESH_MS = 1_000
const REAP_MS = 10_000
/** Holds expired by one call of the ledger, so that it never blocks for long. */
const REAP_BATCH = 1_000

export interface ControllerOptions {
  store: Store
  /** Folder of resources. */
  dir: string
  /** Namespace of the resources in the folder. */
  namespace: string
  /** What `${NAME}` in resources is replaced from. */
  env: Readonly<Record<string, string | undefined>>
  log: Log
  /** Lets a table without routes replace one with routes. */
  allowEmptyTable: boolean
  /** Milliseconds since the epoch; default Date.now. */
  now?: () => number
}

export interface Controller {
  /** Resolves when the first snapshot is in the store; rejects when another controller has taken over before. */
  ready: Promise<void>
  /** The status of every resource, judged now. Rejects with StoreUnavailable. */
  statuses(): Promise<ListedStatus[]>
  /** The resources that are in force. */
  snapshot(): Snapshot
  /** Documents of the folder that cannot be used now. */
  problems(): Problem[]
  stop(): Promise<void>
}

/** Starts the controller on a folder. Rejects with FolderMissing. */
export async function startController(options: ControllerOptions): Promise<Controller> {
  const { store, dir, namespace, env, log, allowEmptyTable, now = Date.now } = options
  const ready = Promise.withResolvers<void>()
  // Who does not wait for it is not ended by it.
  ready.promise.catch(() => {})
  let current = { snapshot: emptySnapshot(), problems: [] as Problem[] }

  const board = new StatusBoard({ store, log, now })
  const publisher = new Publisher({ store, log, now, allowEmptyTable, onResult })
  const source = createFolderSource({ dir, namespace, env, log })

  function onResult(result: PublishResult): void {
    if (result.outcome === 'published') {
      board.published(result)
      ready.resolve()
    } else {
      log.error({}, 'another controller has taken over; this one publishes nothing more')
      ready.reject(new Error('another controller has taken over'))
    }
  }

  await source.start((snapshot, problems) => {
    current = { snapshot, problems }
    const compiled = compile(snapshot)
    board.judged(compiled)
    publisher.submit(compiled)
  })
  const refreshing = repeat(REFRESH_MS, () => board.refresh(), log)
  const reaping = repeat(REAP_MS, () => reapAll(store), log)

  return {
    ready: ready.promise,
    statuses: () => board.list(),
    snapshot: () => current.snapshot,
    problems: () => current.problems,
    async stop() {
      await source.stop()
      await Promise.all([refreshing.stop(), reaping.stop(), publisher.stop()])
    },
  }
}

/** Charges holds whose proxy never came back. */
async function reapAll(store: Store): Promise<void> {
  for (;;) {
    const reaped = await store.ledger.reap(undefined, REAP_BATCH)
    if (reaped.length < REAP_BATCH) return
  }
}

/** Does `work` again and again, never twice at once; a failure is logged and the next turn is taken all the same. */
function repeat(everyMs: number, work: () => Promise<void>, log: Log): { stop(): Promise<void> } {
  let under = Promise.resolve()
  let busy = false
  const timer = setInterval(() => {
    if (busy) return
    busy = true
    under = work()
      .catch((error: unknown) => log.warn({ err: error }, 'the store did not answer'))
      .finally(() => {
        busy = false
      })
  }, everyMs)
  return {
    stop() {
      clearInterval(timer)
      return under
    },
  }
}
