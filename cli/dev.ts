/** `sluice dev`: controller and proxy in one process over a store in memory, resources from a folder. */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { EnvironmentError } from '../contract/env.ts'
import { sinkOf } from '../controller/books/journal-sink.ts'
import { type Controller, startController } from '../controller/main.ts'
import { EXAMPLE_KEY, type ExampleUpstream, startExampleUpstream } from '../examples/upstream/server.ts'
import { type RunningProxy, startProxy } from '../proxy/main.ts'
import { createEmbeddedStore } from '../store/embedded/index.ts'
import { readKeyRing } from '../store/sealing.ts'
import { banner } from './banner.ts'
import { devPages } from './dev-pages.ts'
import { freeCompilerMemory, optimizeEarly, tendMemory, weighSocketBuffers } from './engine.ts'
import { openProgram, type Program, refuseStart, stopOnSignals } from './process.ts'
import { stateDirectory } from './state-dir.ts'
import { openUsageFile, type UsageFile } from './usage-file.ts'
import { check, readPath } from './validate.ts'

const QUICKSTART = fileURLToPath(new URL('../examples/quickstart', import.meta.url))
const UPSTREAM_PORT = 8082
/** Only this machine may connect: the keys of the examples are public, and the relay may call this machine. */
const LOOPBACK = ['127.0.0.1', '::1']

/** Runs until SIGINT (stops at once) or SIGTERM (drains). Sets the exit code; never throws for a bad setting. */
export async function dev(processEnv: NodeJS.ProcessEnv): Promise<void> {
  const program = openProgram(
    processEnv,
    processEnv.SLUICE_STATE_DIR === undefined
      ? 'starting; balances and usage are in memory and are lost when this process ends'
      : 'starting; balances and usage are kept in SLUICE_STATE_DIR',
  )
  if (program === undefined) return
  weighSocketBuffers()
  freeCompilerMemory()
  optimizeEarly()
  const { env, out } = program
  const running = new Running()
  try {
    await start(program, processEnv, running)
  } catch (error) {
    await running.stop(0)
    return refuseStart(error, out, {
      SLUICE_PORT: env.SLUICE_PORT,
      SLUICE_ADMIN_PORT: env.SLUICE_ADMIN_PORT,
      UPSTREAM_PORT: Number(processEnv.UPSTREAM_PORT || UPSTREAM_PORT),
    })
  }
  stopOnSignals((graceMs) => running.stop(graceMs), env.SLUICE_DRAIN_TIMEOUT, out)
}

/** The parts that have started; they stop in reverse order. */
class Running {
  proxy: RunningProxy | undefined
  controller: Controller | undefined
  usage: UsageFile | undefined
  upstream: ExampleUpstream | undefined
  stopTending: (() => void) | undefined

  async stop(graceMs: number): Promise<void> {
    this.stopTending?.()
    await this.proxy?.stop(graceMs)
    await this.usage?.stop()
    await this.controller?.stop()
    await this.upstream?.close()
  }
}

async function start(
  { env, instance, log, out }: Program,
  processEnv: NodeJS.ProcessEnv,
  running: Running,
): Promise<void> {
  const dir = resolve(env.SLUICE_CONFIG_DIR ?? QUICKSTART)
  const example = dir === QUICKSTART || (await callsExample(dir, env.SLUICE_NAMESPACE, processEnv))
  if (example)
    running.upstream = await startExampleUpstream({ port: upstreamPortOf(processEnv), host: '127.0.0.1' })

  const keys = env.SLUICE_SEALING_KEYS_FILE
  const store = createEmbeddedStore(keys === undefined ? {} : { sealing: readKeyRing(keys, log) })
  const state = env.SLUICE_STATE_DIR
  const checkpoints = state === undefined ? undefined : await stateDirectory(state)
  if (state !== undefined) running.usage = await openUsageFile(state, store.ledger, log)
  running.controller = await startController({
    store,
    dir,
    namespace: env.SLUICE_NAMESPACE,
    env: example ? { ...processEnv, UPSTREAM_PORT: String(running.upstream?.port) } : processEnv,
    log,
    journal: sinkOf(env.SLUICE_JOURNAL, (text) => out.write(text)),
    checkpoints,
  })
  await running.controller.ready
  running.usage?.start()
  const { controller } = running
  running.proxy = await startProxy({
    store,
    env: { ...env, SLUICE_WORKERS: 1 },
    instance,
    log,
    writeRequestLog: (line) => out.writeLine(line),
    ...(env.SLUICE_HOST === undefined && { hosts: LOOPBACK }),
    admin: devPages(controller, () => running.proxy),
  })
  running.stopTending = tendMemory(running.proxy)
  console.log(
    banner({
      proxy: running.proxy,
      snapshot: controller.snapshot(),
      dir,
      host: env.SLUICE_HOST,
      problems: controller.problems().length,
    }),
  )
}

/** Whether a folder, such as a copy of the quickstart, has a Channel to the example upstream with its public credential. */
async function callsExample(dir: string, namespace: string, processEnv: NodeJS.ProcessEnv): Promise<boolean> {
  const port = processEnv.UPSTREAM_PORT || UPSTREAM_PORT
  // If the folder cannot be read, the controller reports it, which reads it next.
  const files = await readPath(dir).catch(() => [])
  const { snapshot } = check(files, namespace, processEnv)
  return snapshot.channels.some(({ metadata, spec: { baseURL, secretRef } }) => {
    const secret = snapshot.secrets.get(`${metadata.namespace}/${secretRef?.name}`)
    return baseURL === `http://127.0.0.1:${port}/v1` && secret?.get(secretRef?.key ?? '') === EXAMPLE_KEY
  })
}

/** Throws EnvironmentError. */
function upstreamPortOf(processEnv: NodeJS.ProcessEnv): number {
  const port = Number(processEnv.UPSTREAM_PORT || UPSTREAM_PORT)
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  throw new EnvironmentError('UPSTREAM_PORT: must be a port, 0 to 65535')
}
