/**
 * The first process of `sluice proxy --workers`: it holds both ports, passes each new connection of the API to the next
 * worker, answers the admin port for all of them, and starts a worker again that has ended. It serves no requests itself.
 */
import cluster from 'node:cluster'
import { createAdminServer } from '../../admin/server.ts'
import { listen, portOf } from '../../proxy/server/listen.ts'
import { collectStartGarbage } from '../engine.ts'
import { type Program, portsOf, refuseStart, stopOnSignals } from '../process.ts'
import { Member } from './member.ts'
import { ANSWER_MS, notReady, workerPages } from './pages.ts'
import { METRICS_PAGE } from './protocol.ts'
import { SummedMetrics } from './summed-metrics.ts'

/** How long a worker may take beyond its grace: to break off what is left, and to settle. */
const BEYOND_GRACE_MS = 30_000

/** Runs until SIGINT or SIGTERM, as a proxy of one process. Sets the exit code; never throws for a bad setting. */
export async function runWorkers(program: Program): Promise<void> {
  const { env, instance, log, out } = program
  const workers = env.SLUICE_WORKERS
  const members: Member[] = []
  let stopping = false
  const metrics = new SummedMetrics(() => members.filter(({ listens }) => listens).length)
  const admin = createAdminServer({
    metrics: {
      contentType: metrics.contentType,
      async metrics() {
        await Promise.all(
          members
            .filter(({ listens }) => listens)
            .map(async (member) => {
              // What a busy worker sent last counts: without it sums would shrink.
              const sent = await member.ask(METRICS_PAGE, '', ANSWER_MS).catch(() => undefined)
              if (sent !== undefined) metrics.take(member.assignment.worker, sent)
            }),
        )
        return metrics.text()
      },
    },
    notReady: () => (stopping ? 'draining' : notReady(members)),
    token: env.SLUICE_ADMIN_TOKEN,
    guarded: workerPages(members),
  })
  const stop = async (graceMs: number) => {
    stopping = true
    log.info({ workers }, 'draining')
    await Promise.all(members.map((member) => member.stop(graceMs, graceMs + BEYOND_GRACE_MS)))
    admin.close()
    admin.closeAllConnections()
  }

  try {
    await listen(admin, env.SLUICE_ADMIN_PORT, env.SLUICE_HOST === undefined ? [] : [env.SLUICE_HOST])
  } catch (error) {
    return refuseStart(error, out, portsOf(program))
  }
  const adminPort = portOf(admin)
  cluster.schedulingPolicy = cluster.SCHED_RR
  cluster.setupPrimary({
    args: ['proxy'],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    serialization: 'advanced',
  })
  // A worker that is left alone fails with errors of its own.
  process.once('exit', () => {
    for (const member of members) member.kill()
  })
  stopOnSignals(stop, env.SLUICE_DRAIN_TIMEOUT, out)
  const { promise: port, resolve, reject } = Promise.withResolvers<number>()
  let waiting = workers
  for (let worker = 1; worker <= workers; worker++)
    members.push(
      new Member(
        { worker, workers, instance: `${instance}-${worker}`, adminPort },
        {
          listening(at) {
            waiting -= 1
            if (waiting === 0) resolve(at)
          },
          failed(text, code) {
            if (waiting > 0) reject(new StartFailure(text, code))
            else log.error({ worker, reason: text }, 'a worker could not start')
          },
          ended(code, signal, restartMs) {
            metrics.ended(worker)
            if (waiting > 0) reject(new StartFailure(`sluice: worker ${worker} ended (${signal ?? code})`, 1))
            else log.error({ worker, code, signal, restartMs }, 'a worker ended; it is started again')
          },
          logged: (lines) => out.writeLines(lines),
        },
      ),
    )
  // While the workers start.
  collectStartGarbage()
  try {
    log.info({ instance, workers, port: await port, adminPort }, 'listening')
  } catch (error) {
    if (!(error instanceof StartFailure)) throw error
    out.close()
    console.error(error.message)
    process.exit(error.code)
  }
}

/** A worker could not start: nothing was served yet, so the program does not start. */
class StartFailure extends Error {
  override name = 'StartFailure'
  /** The exit code. */
  readonly code: number
  constructor(message: string, code: number) {
    super(message)
    this.code = code
  }
}
