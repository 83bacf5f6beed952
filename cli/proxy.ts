/** `sluice proxy`: serves traffic from the tables in Redis. Never talks to Kubernetes. */
import { openProgram, type Program, portsOf, refuseStart, stopOnSignals } from './process.ts'

/**
 * Runs until SIGINT (stops at once) or SIGTERM (drains). Sets the exit code; never throws for a bad setting. What a
 * process does not do it does not load: with workers the first process serves no requests.
 */
export async function proxy(processEnv: NodeJS.ProcessEnv): Promise<void> {
  if (processEnv.WORKER_ASSIGNMENT !== undefined) {
    const { work } = await import('./workers/worker.ts')
    return work(processEnv)
  }
  const program = openProgram(processEnv, 'starting the proxy')
  if (program === undefined) return
  if (program.env.SLUICE_WORKERS === 1) return serve(program)
  const { runWorkers } = await import('./workers/primary.ts')
  await runWorkers(program)
}

async function serve(program: Program): Promise<void> {
  const { env, instance, log, out } = program
  try {
    const { serveProxy } = await import('./serve-proxy.ts')
    const { running, stop } = await serveProxy(program)
    log.info({ instance, port: running.port, adminPort: running.adminPort }, 'listening')
    stopOnSignals(stop, env.SLUICE_DRAIN_TIMEOUT, out)
  } catch (error) {
    refuseStart(error, out, portsOf(program))
  }
}
