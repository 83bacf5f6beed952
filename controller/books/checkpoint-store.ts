/** Where checkpoints are kept: outside the store that they secure. */
import type { Marks } from './mark.ts'

export interface CheckpointStore {
  /** Number of parts; each is read and written as a whole. */
  readonly shards: number
  /** All that was ever saved, and the epoch of the leader that saved last. Rejects when it cannot be read. */
  load(): Promise<{ epoch: number; shards: readonly Marks[] }>
  /** Replaces one part. Rejects with Superseded if the leader of a later epoch has saved it. */
  save(shard: number, marks: Marks, epoch: number): Promise<void>
}

/** A later leader keeps the checkpoint. */
export class Superseded extends Error {
  override name = 'Superseded'
  override message = 'another controller has taken over the checkpoint'
}
