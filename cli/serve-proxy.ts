/** A proxy over the store in Redis: the whole of `sluice proxy`, or one of its workers. */
import { type RunningProxy, startProxy } from '../proxy/main.ts'
import {
  collectStartGarbage,
  freeCompilerMemory,
  optimizeEarly,
  quickenStrings,
  tendMemory,
  warmTicks,
  weighSocketBuffers,
} from './engine.ts'
import type { Program } from './process.ts'
import { openRedisStore } from './redis-store.ts'

export interface ServingProxy {
  running: RunningProxy
  /** Drains for at most `graceMs`, then closes the store. */
  stop(graceMs: number): Promise<void>
}

/** Resolves when it listens. `sharedAdminPort`: see startProxy. Rejects with what keeps it from starting. */
export async function serveProxy(
  { env, instance, log, out }: Program,
  sharedAdminPort?: number,
): Promise<ServingProxy> {
  weighSocketBuffers()
  freeCompilerMemory()
  quickenStrings()
  warmTicks()
  collectStartGarbage()
  optimizeEarly()
  const store = openRedisStore(env, instance, log)
  const running = await startProxy({
    store,
    env,
    instance,
    log,
    writeRequestLog: (line) => out.writeLine(line),
    sharedAdminPort,
  }).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  const stopTending = tendMemory(running)
  return {
    running,
    async stop(graceMs) {
      stopTending()
      await running.stop(graceMs)
      await store.close()
    },
  }
}
