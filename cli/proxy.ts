/** `sluice proxy`: serves traffic from the tables in Redis. Never talks to Kubernetes. */
import { startProxy } from '../proxy/main.ts'
import { openProgram, refuseStart, stopOnSignals } from './process.ts'
import { openRedisStore } from './redis-store.ts'
import { collectStartGarbage } from './start-garbage.ts'

/** Runs until SIGINT (stops at once) or SIGTERM (drains). Sets the exit code; never throws for a bad setting. */
export async function proxy(processEnv: NodeJS.ProcessEnv): Promise<void> {
  const program = openProgram(processEnv, 'starting the proxy')
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
    collectStartGarbage()
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
