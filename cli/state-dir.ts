/** The folder that SLUICE_STATE_DIR names. */
import { access, constants, stat } from 'node:fs/promises'
import { EnvironmentError } from '../contract/env.ts'
import { fileCheckpoints } from '../controller/books/checkpoint-file.ts'
import type { CheckpointStore } from '../controller/books/checkpoint-store.ts'

/** The checkpoint in the folder. Rejects with EnvironmentError if this user cannot write there. */
export async function stateDirectory(folder: string): Promise<CheckpointStore> {
  const found = await stat(folder).catch(() => undefined)
  const usable =
    found?.isDirectory() === true &&
    (await access(folder, constants.R_OK | constants.W_OK | constants.X_OK).then(
      () => true,
      () => false,
    ))
  if (!usable)
    throw new EnvironmentError(`SLUICE_STATE_DIR: ${folder} is not a folder that this user may write to`)
  return fileCheckpoints(folder)
}
