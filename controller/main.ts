/** The controller in folder mode: reads resources, compiles them, publishes changes and keeps their statuses. */
import type { AdminPage } from '../admin/server.ts'
import type { Log } from '../contract/log.ts'
import type { Store } from '../store/contract.ts'
import { Alarm } from './alarm.ts'
import type { CheckpointStore } from './books/checkpoint-store.ts'
import type { JournalSink } from './books/journal-sink.ts'
import { compile } from './compile/index.ts'
import { Leader } from './lead.ts'
import { controllerPages } from './pages.ts'
import { type Compiled, emptySnapshot, type Snapshot } from './snapshot.ts'
import { FolderSource } from './source/folder/folder.ts'
import type { Problem } from './source/folder/problem.ts'
import { LIVE_MS, type ListedStatus } from './status/board.ts'

interface ControllerOptions {
  store: Store
  /** Folder of resources. */
  dir: string
  /** Namespace of the resources in the folder. */
  namespace: string
  /** Values for `${NAME}` in resources. */
  env: Readonly<Record<string, string | undefined>>
  log: Log
  /** Keeps balances when the process ends; absent: they end with the store. */
  checkpoints?: CheckpointStore | undefined
  /** Takes every entry of the ledger. */
  journal?: JournalSink | undefined
  /** Milliseconds since the epoch; default Date.now. */
  now?: () => number
}

export interface Controller {
  /** Resolves when the first snapshot is in the store; rejects if another controller takes over before. */
  ready: Promise<void>
  /** The current status of every resource. Rejects with StoreUnavailable. */
  statuses(): Promise<ListedStatus[]>
  /** The resources in force. */
  snapshot(): Snapshot
  /** Problems with documents in the folder. */
  problems(): Problem[]
  /** Pages of the admin port, by path. */
  pages: Record<string, AdminPage>
  stop(): Promise<void>
}

/** Starts a controller that always leads. Rejects with FolderMissing, and if the checkpoint cannot be read. */
export async function startController(options: ControllerOptions): Promise<Controller> {
  const { store, dir, namespace, env, log, checkpoints, journal, now = Date.now } = options
  // A checkpoint that cannot be read must not be replaced by an empty one.
  await checkpoints?.load()
  let snapshot = emptySnapshot()
  let problems: Problem[] = []
  let compiled: Compiled | undefined
  let fenced = false

  const source = new FolderSource({ dir, namespace, env, log })
  const leader = new Leader({
    store,
    log,
    now,
    checkpoints,
    journal,
    onFenced() {
      fenced = true
      log.error({}, 'another controller has taken over; this one stops publishing')
    },
  })
  const judge = () => {
    compiled = compile(snapshot, now())
    leader.submit(compiled)
    alarm.set(compiled.until)
  }
  const alarm = new Alarm(now, judge)
  try {
    await source.start((read, faults) => {
      snapshot = read
      problems = faults
      judge()
    })
  } catch (error) {
    alarm.stop()
    await leader.stop()
    throw error
  }

  return {
    ready: leader.ready,
    statuses: () => leader.statuses(),
    snapshot: () => snapshot,
    problems: () => problems,
    pages: controllerPages({
      instance: 'dev',
      leading: () => !fenced,
      position: () => leader.position,
      removal: () => leader.removal,
      risks: () => leader.risks,
      lag: () => leader.lag,
      ledger: () => leader.ledger(),
      usage: (query) => leader.usage(query),
      notReady: () => (fenced ? 'another controller has taken over' : undefined),
      proxies: () => store.config.heartbeats(LIVE_MS),
      compiled: () => compiled,
      statuses: () => leader.statuses(),
    }),
    async stop() {
      await source.stop()
      alarm.stop()
      await leader.stop()
    },
  }
}
