/** `sluice controller`: publishes the resources of a cluster, or of a folder, to Redis. */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { createAdminServer } from '../admin/server.ts'
import type { StartController } from './controller/place.ts'
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
    const start = await startOf(env.SLUICE_CONFIG_DIR)
    const store = openRedisStore(env, instance, log)
    const running = await start(program, store, processEnv).catch(async (error: unknown) => {
      await store.close()
      throw error
    })
    const admin = createAdminServer({
      metrics: running.metrics.registry,
      notReady: () => running.notReady(),
      token: env.SLUICE_ADMIN_TOKEN,
      guarded: running.pages,
    })
    let stopped: Promise<void> | undefined
    const stop = () => {
      stopped ??= (async () => {
        admin.close()
        admin.closeAllConnections()
        await running.stop()
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
    log.info({ instance, ...running.about, adminPort }, 'watching resources')
    stopOnSignals(stop, STOP_MS, out)
    const reason = await running.ended
    log.error({ instance }, `stopping: ${reason}`)
    // Gives up leadership if this process still has it, so that another controller leads at once.
    await Promise.race([stop(), pause(STOP_MS)]).catch(() => {})
    out.close()
    process.exit(1)
  } catch (error) {
    refuseStart(error, out, { SLUICE_ADMIN_PORT: env.SLUICE_ADMIN_PORT })
  }
}

/** Loads only what the place needs: the client of Kubernetes takes time and memory. */
async function startOf(folder: string | undefined): Promise<StartController> {
  return folder === undefined
    ? (await import('./controller/cluster.ts')).startInCluster
    : (await import('./controller/folder.ts')).startOnFolder
}
