/** `sluice proxy`: serves traffic from what a controller has published to Redis. Asks nothing of Kubernetes. */
import { startProxy } from '../proxy/main.ts'
import { openProgram, refuseStart, stopOnSignals } from './process.ts'
import { openRedisStore } from './redis-store.ts'

/** Runs until SIGINT (ends at once) or SIGTERM (drains). Sets the exit code; never throws for a bad setting. */
export async function proxy(processEnv: NodeJS.ProcessEnv): Promise<void> {
  const program = openProgram(processEnv, 'starting a proxy')
  if (program === undefined) return
  const { env, instance, log, out } = program
  const ports = { SLUICE_PORT: env.SLUICE_PORT, SLUICE_ADMIN_PORT: env.SLUICE_ADMIN_PORT }
  try {
    const store = openRedisStore(env, instance, log)
    const running = await startProxy({
      store,
      env,
      instance,
      log,
      writeRequestLog: (line) => out.writeLine(line),
    }).catch(async (error: unknown) => {
      await store.close()
      throw error
    })
    log.info({ instance, port: running.port, adminPort: running.adminPort }, 'listening')
    const stop = async (graceMs: number) => {
      await running.stop(graceMs)
      await store.close()
    }
    stopOnSignals(stop, env.SLUICE_DRAIN_TIMEOUT, out)
  } catch (error) {
    refuseStart(error, out, ports)
  }
}
