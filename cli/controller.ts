/** `sluice controller`: watches the resources of a cluster and publishes them to Redis. */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { createAdminServer } from '../admin/server.ts'
import { sinkOf } from '../controller/books/journal-sink.ts'
import { ClusterController } from '../controller/cluster.ts'
import { connectKube } from '../controller/kube/client.ts'
import { openProgram, refuseStart, stopOnSignals } from './process.ts'
import { openRedisStore } from './redis-store.ts'

/** How long calls in flight may take to end. */
const STOP_MS = 5_000

/**
 * Runs until SIGINT or SIGTERM, or until another controller takes over, which ends the process with exit code 1. Sets
 * the exit code; never throws for a bad setting.
 */
export async function controller(processEnv: NodeJS.ProcessEnv): Promise<void> {
  const program = openProgram(processEnv, 'starting the controller')
  if (program === undefined) return
  const { env, instance, log, out } = program
  try {
    const store = openRedisStore(env, instance, log)
    let running: ClusterController | undefined
    const kube = connectKube({
      log,
      onRequest: (verb, status) => running?.metrics.requested(verb, status),
    })
    const namespace = processEnv.SLUICE_NAMESPACE || kube.namespace || env.SLUICE_NAMESPACE
    const journal = sinkOf(env.SLUICE_JOURNAL, (text) => out.write(text))
    running = new ClusterController({ store, kube, env, namespace, instance, log, journal })
    running.start()
    const { metrics, pages, ended } = running
    const admin = createAdminServer({
      metrics: metrics.registry,
      notReady: () => running.notReady(),
      token: env.SLUICE_ADMIN_TOKEN,
      guarded: pages,
    })
    let stopped: Promise<void> | undefined
    const stop = () => {
      stopped ??= (async () => {
        admin.close()
        admin.closeAllConnections()
        await running.stop()
        await kube.close()
        await store.close()
      })()
      return stopped
    }
    admin.listen(env.SLUICE_ADMIN_PORT, env.SLUICE_HOST)
    await once(admin, 'listening').catch(async (error: unknown) => {
      await stop()
      throw error
    })
    const address = admin.address()
    const adminPort = typeof address === 'object' ? address?.port : undefined
    log.info({ instance, namespace, lease: env.SLUICE_LEASE_NAME, adminPort }, 'watching resources')
    stopOnSignals(stop, STOP_MS, out)
    const reason = await ended
    log.error({ instance }, `stopping: ${reason}`)
    // Releases the Lease if it is still ours, so that another controller leads at once.
    await Promise.race([stop(), pause(STOP_MS)]).catch(() => {})
    out.close()
    process.exit(1)
  } catch (error) {
    refuseStart(error, out, { SLUICE_ADMIN_PORT: env.SLUICE_ADMIN_PORT })
  }
}
