/** The checkpoint in a file. A crash leaves the old content or the new, never a part. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { replaceFile } from '../../kit/replace-file.ts'
import { type CheckpointStore, Superseded } from './checkpoint-store.ts'
import { marks } from './mark.ts'

const content = z.object({ version: z.literal(1), epoch: z.int().min(0), accounts: marks })

/** `folder` must exist. */
export function fileCheckpoints(folder: string): CheckpointStore {
  const path = join(folder, 'ledger.json')
  const read = async () => {
    try {
      return content.parse(JSON.parse(await readFile(path, 'utf8')))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { epoch: 0, accounts: {} }
      throw new Error(`the checkpoint ${path} cannot be read`, { cause: error })
    }
  }
  return {
    shards: 1,
    async load() {
      const { epoch, accounts } = await read()
      return { epoch, shards: [accounts] }
    },
    async save(_shard, accounts, epoch) {
      if ((await read()).epoch > epoch) throw new Superseded()
      // A leader that was replaced may write at the same time: each epoch has a draft of its own.
      await replaceFile(path, `${path}.${epoch}.new`, `${JSON.stringify({ version: 1, epoch, accounts })}\n`)
    },
  }
}
