/** The controller that reads a folder and needs no cluster; controllers elect their leader by a key in Redis. */
import { resolve } from 'node:path'
import { EnvironmentError } from '../../contract/env.ts'
import { sinkOf } from '../../controller/books/journal-sink.ts'
import { startController } from '../../controller/main.ts'
import { stateDirectory } from '../state-dir.ts'
import type { StartController } from './place.ts'

/** Rejects with FolderMissing, and with EnvironmentError for settings that are missing or cannot be used. */
export const startOnFolder: StartController = async ({ env, instance, log, out }, store, processEnv) => {
  if (env.SLUICE_STATE_DIR === undefined)
    throw new EnvironmentError(
      'SLUICE_STATE_DIR: must name a folder that outlives Redis, for the checkpoint of balances. Without it, a Redis that ' +
        'lost its data would get every Credit again. See docs/install.md.',
    )
  const dir = resolve(env.SLUICE_CONFIG_DIR ?? '.')
  const running = await startController({
    store,
    dir,
    namespace: env.SLUICE_NAMESPACE,
    env: processEnv,
    instance,
    leaseMs: env.SLUICE_LEASE_DURATION,
    log,
    journal: sinkOf(env.SLUICE_JOURNAL, (text) => out.write(text)),
    checkpoints: await stateDirectory(env.SLUICE_STATE_DIR),
  })
  // It has read the folder, so it is ready; whether it leads makes no difference.
  return { ...running, notReady: () => undefined, about: { folder: dir, namespace: env.SLUICE_NAMESPACE } }
}
