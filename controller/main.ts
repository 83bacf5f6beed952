/**
 * The controller of a folder: reads resources, compiles them, publishes changes and keeps their statuses. In `sluice dev` it
 * always leads; over a shared store it stands by until it is elected.
 */
import type { AdminPage } from '../admin/server.ts'
import type { Log } from '../contract/log.ts'
import type { Store } from '../store/contract.ts'
import { Alarm } from './alarm.ts'
import type { CheckpointStore } from './books/checkpoint-store.ts'
import type { JournalSink } from './books/journal-sink.ts'
import { Candidate } from './candidate.ts'
import { compile } from './compile/index.ts'
import { Leader } from './lead.ts'
import { controllerPages } from './pages.ts'
import { type Compiled, emptySnapshot, type Snapshot } from './snapshot.ts'
import { FolderSource } from './source/folder/folder.ts'
import type { Problem } from './source/folder/problem.ts'
import { LIVE_MS, type ListedStatus } from './status/board.ts'
import { ControllerMetrics } from './telemetry/metrics.ts'

interface ControllerOptions {
  store: Store
  /** Folder of resources. */
  dir: string
  /** Namespace of the resources in the folder. */
  namespace: string
  /** Values for `${NAME}` in resources. */
  env: Readonly<Record<string, string | undefined>>
  /** Name of this process among its peers; default `dev`. */
  instance?: string
  /** How long a leader that stopped responding stays leader. Absent: this controller leads at once, without an election. */
  leaseMs?: number
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
  /** Resolves with the reason when the controller must stop; the caller then ends the process. */
  ended: Promise<string>
  /** The current status of every resource; of a standby, what its own reading says. Rejects with StoreUnavailable. */
  statuses(): Promise<ListedStatus[]>
  /** The resources in force. */
  snapshot(): Snapshot
  /** Problems with documents in the folder. */
  problems(): Problem[]
  metrics: ControllerMetrics
  /** Pages of the admin port, by path. */
  pages: Record<string, AdminPage>
  stop(): Promise<void>
}

/** Resolves when the folder has been read. Rejects with FolderMissing, and if the checkpoint cannot be read. */
export async function startController(options: ControllerOptions): Promise<Controller> {
  const { store, dir, namespace, env, instance = 'dev', leaseMs, log, checkpoints, journal } = options
  const { now = Date.now } = options
  // A checkpoint that cannot be read must not be replaced by an empty one.
  await checkpoints?.load()
  let snapshot = emptySnapshot()
  let problems: Problem[] = []
  let compiled: Compiled | undefined
  let leader: Leader | undefined
  let fenced = false
  let stopped = false
  const ready = Promise.withResolvers<void>()
  // Without this handler, a rejection would end a process that does not await `ready`.
  ready.promise.catch(() => {})
  const end = Promise.withResolvers<string>()

  const lead = () => {
    if (stopped) return
    if (candidate !== undefined) log.info({ instance }, 'this controller is now the leader')
    leader = new Leader({
      store,
      log,
      now,
      checkpoints,
      journal,
      onAttempt: (outcome, seconds) => metrics.published(outcome, seconds),
      onSpoilt: (spoilt) => metrics.spoilt(spoilt),
      onFenced() {
        fenced = true
        log.error({}, 'another controller has taken over; this one stops publishing')
        end.resolve('another controller has taken over')
      },
    })
    leader.ready.then(ready.resolve, ready.reject)
    if (compiled !== undefined) leader.submit(compiled)
  }
  const candidate =
    leaseMs === undefined
      ? undefined
      : new Candidate({ store: store.config, instance, leaseMs, log, onLeading: lead })
  const leading = () => leader !== undefined && !fenced && (candidate === undefined || candidate.leads)
  const judge = () => {
    compiled = compile(snapshot, now())
    leader?.submit(compiled)
    alarm.set(compiled.until)
  }
  const alarm = new Alarm(now, judge)
  const source = new FolderSource({ dir, namespace, env, log })
  const metrics = new ControllerMetrics('folder', () => ({
    leading: leading(),
    epoch: leader?.position?.epoch,
    generation: leader?.position?.generation,
    proxies: leader?.proxies.length ?? 0,
    risks: leader?.risks.map(({ kind }) => kind) ?? [],
    lag: leader?.lag,
    funds: leader?.funds,
    informers: [],
    problems: problems.length + (source.isLost ? 1 : 0),
  }))
  const statuses = async () => (await leader?.statuses()) ?? judgedStatuses(compiled)

  if (candidate === undefined) lead()
  try {
    await source.start((read, faults) => {
      snapshot = read
      problems = faults
      judge()
    })
  } catch (error) {
    alarm.stop()
    await leader?.stop()
    throw error
  }
  candidate?.run().then((outcome) => {
    if (outcome === 'lost') end.resolve('another controller leads')
  })

  return {
    ready: ready.promise,
    ended: end.promise,
    statuses,
    snapshot: () => snapshot,
    problems: () => problems,
    metrics,
    pages: {
      ...controllerPages({
        instance,
        leading,
        position: () => leader?.position,
        removal: () => leader?.removal,
        risks: () => leader?.risks ?? [],
        lag: () => leader?.lag,
        ledger: () => leader?.ledger(),
        usage: (query) => leader?.usage(query),
        notReady: () => (fenced ? 'another controller has taken over' : undefined),
        proxies: () => store.config.heartbeats(LIVE_MS),
        compiled: () => compiled,
        statuses,
      }),
      '/problems': async () => problems,
    },
    async stop() {
      stopped = true
      alarm.stop()
      await source.stop()
      await leader?.stop()
      await candidate?.release()
    },
  }
}

/** What a standby knows of each resource: nothing of ledger and proxies. */
function judgedStatuses(compiled: Compiled | undefined): ListedStatus[] {
  const at = new Date().toISOString()
  return (compiled?.statuses ?? []).map(({ kind, metadata: { namespace, name, generation }, ...judged }) => ({
    ...{ kind, namespace, name, generation },
    status: {
      ...judged.fields,
      conditions: judged.conditions.map((condition) => ({ ...condition, lastTransitionTime: at })),
    },
  }))
}
