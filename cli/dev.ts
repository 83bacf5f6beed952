/** `sluice dev`: controller and proxy in one process over a store in memory, resources from a folder. */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import pino from 'pino'
import { type Environment, EnvironmentError, readEnvironment, redactedEnvironment } from '../contract/env.ts'
import { type Controller, startController } from '../controller/main.ts'
import { type ExampleUpstream, startExampleUpstream } from '../examples/upstream/server.ts'
import { type RunningProxy, startProxy } from '../proxy/main.ts'
import { createEmbeddedStore } from '../store/embedded/index.ts'
import { banner } from './banner.ts'
import { type Output, openOutput } from './output.ts'

const QUICKSTART = fileURLToPath(new URL('../examples/quickstart', import.meta.url))
const UPSTREAM_PORT = 8082

/** Runs until SIGINT (ends at once) or SIGTERM (drains). Sets the exit code; never throws for a bad setting. */
export async function dev(processEnv: NodeJS.ProcessEnv): Promise<void> {
  const read = settingsOf(processEnv)
  if (read === undefined) return
  const { env, unknown } = read
  const out = openOutput()
  const options = { level: env.SLUICE_LOG_LEVEL, base: undefined, timestamp: pino.stdTimeFunctions.isoTime }
  const log = pino(options, out.destination)
  for (const name of unknown)
    log.warn({ name }, 'this is not a setting and has no effect; see docs/environment.md')
  const settings = Object.entries(redactedEnvironment(env))
  const chosen = Object.fromEntries(settings.filter(([name]) => processEnv[name]))
  log.debug({ settings: Object.fromEntries(settings) }, 'all settings')
  log.info({ settings: chosen }, 'starting; balances live in memory and end with this process')

  const running = new Running()
  try {
    await start(env, processEnv, log, out, running)
  } catch (error) {
    await running.stop(0)
    out.close()
    if (error instanceof EnvironmentError) return refuseSettings(error)
    process.exitCode = 1
    const ports = {
      SLUICE_PORT: env.SLUICE_PORT,
      SLUICE_ADMIN_PORT: env.SLUICE_ADMIN_PORT,
      UPSTREAM_PORT: Number(processEnv.UPSTREAM_PORT || UPSTREAM_PORT),
    }
    console.error(`sluice: ${startProblem(error, ports)}`)
    return
  }
  stopOnSignals(running, env.SLUICE_DRAIN_TIMEOUT, out)
}

function settingsOf(processEnv: NodeJS.ProcessEnv): { env: Environment; unknown: string[] } | undefined {
  try {
    return readEnvironment(processEnv)
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error
    refuseSettings(error)
    return undefined
  }
}

function refuseSettings(error: EnvironmentError): void {
  console.error(error.message)
  process.exitCode = 2
}

/** What runs, ended in the opposite order. */
class Running {
  proxy: RunningProxy | undefined
  controller: Controller | undefined
  upstream: ExampleUpstream | undefined

  async stop(graceMs: number): Promise<void> {
    await this.proxy?.stop(graceMs)
    await this.controller?.stop()
    await this.upstream?.close()
  }
}

async function start(
  env: Environment,
  processEnv: NodeJS.ProcessEnv,
  log: pino.Logger,
  out: Output,
  running: Running,
): Promise<void> {
  const dir = resolve(env.SLUICE_CONFIG_DIR ?? QUICKSTART)
  const quickstart = dir === QUICKSTART
  if (quickstart)
    running.upstream = await startExampleUpstream({ port: upstreamPortOf(processEnv), host: '127.0.0.1' })

  const store = createEmbeddedStore()
  running.controller = await startController({
    store,
    dir,
    namespace: env.SLUICE_NAMESPACE,
    env: quickstart ? { ...processEnv, UPSTREAM_PORT: String(running.upstream?.port) } : processEnv,
    log,
    allowEmptyTable: env.SLUICE_ALLOW_EMPTY_TABLE,
  })
  await running.controller.ready
  const { controller } = running
  running.proxy = await startProxy({
    store,
    env,
    log,
    writeRequestLog: (line) => out.writeLine(line),
    admin: {
      '/status': () => controller.statuses(),
      '/problems': async () => controller.problems(),
    },
  })
  console.log(
    banner({
      proxy: running.proxy,
      snapshot: controller.snapshot(),
      dir,
      showKey: quickstart,
      problems: controller.problems().length,
    }),
  )
}

/** Throws EnvironmentError. In folders other than the quickstart the name means what their owner wants. */
function upstreamPortOf(processEnv: NodeJS.ProcessEnv): number {
  const port = Number(processEnv.UPSTREAM_PORT || UPSTREAM_PORT)
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  throw new EnvironmentError('UPSTREAM_PORT: must be a port, 0 to 65535')
}

/** Why it did not start; a port that is taken is told with the setting that takes another one. */
function startProblem(error: unknown, ports: Record<string, number>): string {
  if (!(error instanceof Error)) return String(error)
  if (!('code' in error && error.code === 'EADDRINUSE' && 'port' in error)) return error.message
  const names = Object.keys(ports).filter((name) => ports[name] === error.port)
  if (names.includes('SLUICE_PORT') && names.includes('SLUICE_ADMIN_PORT'))
    return `SLUICE_PORT and SLUICE_ADMIN_PORT both name port ${error.port}; choose another one for one of them`
  const setting = names[0] ?? 'SLUICE_PORT'
  const makeVariable = setting.replace('SLUICE_', '')
  return `port ${error.port} is taken; choose another one with ${setting} (with make run: ${makeVariable}=${Number(error.port) + 1000})`
}

function stopOnSignals(running: Running, drainMs: number, out: Output): void {
  let stopping = false
  const stop = (graceMs: number) => {
    const end = (code: number) => {
      out.close()
      process.exit(code)
    }
    // The second signal does not wait for anybody.
    if (stopping) end(130)
    stopping = true
    running.stop(graceMs).then(
      () => end(0),
      () => end(1),
    )
  }
  process.on('SIGINT', () => stop(0))
  process.on('SIGTERM', () => stop(drainMs))
}
