import { expect, test } from 'vitest'
import { type CheckpointStore, Superseded } from './checkpoint-store.ts'
import { Checkpoints } from './checkpoints.ts'
import type { Mark, Marks } from './mark.ts'

const SHARDS = 64
/** Enough for each part to have some. */
const ACCOUNTS = 2_000
const MARK: Mark = { credited: 5, spent: 0, entries: 1, credits: {} }
const log = { info() {}, warn() {}, error() {} }

/** A store whose saves end when `answer` is called, in order. */
function slowStore() {
  const saved: Marks[] = []
  const open: (() => void)[] = []
  const store: CheckpointStore = {
    shards: SHARDS,
    load: async () => ({ epoch: 0, shards: Array.from({ length: SHARDS }, () => ({})) }),
    async save(_shard, marks) {
      await new Promise<void>((resolve) => open.push(resolve))
      saved.push(marks)
    },
  }
  return { store, saved, open }
}

async function withAccounts(store: CheckpointStore, count: number): Promise<Checkpoints> {
  const checkpoints = new Checkpoints(store, log)
  await checkpoints.load()
  for (let n = 0; n < count; n++) checkpoints.note(`account-${n}`, MARK)
  return checkpoints
}

test('a leader that stops saves many parts at once', async () => {
  const { store, saved, open } = slowStore()
  const checkpoints = await withAccounts(store, ACCOUNTS)
  const done = checkpoints.save(1)
  await expect.poll(() => open.length).toBe(16)
  while (saved.length < SHARDS) {
    open.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await done
  expect(Object.keys(Object.assign({}, ...saved))).toHaveLength(ACCOUNTS)
})

test('a save in a hurry leaves nothing to a slow one that has begun', async () => {
  const { store, saved, open } = slowStore()
  const checkpoints = await withAccounts(store, ACCOUNTS)
  const hurry = new AbortController()
  const slow = checkpoints.save(1, hurry.signal)
  await expect.poll(() => open.length).toBe(1)
  const fast = checkpoints.save(1)
  hurry.abort()
  const timer = setInterval(() => open.shift()?.(), 0)
  await Promise.all([slow, fast])
  clearInterval(timer)
  expect(saved).toHaveLength(SHARDS)
})

test('a part that cannot be saved is saved the next time; a later leader ends it', async () => {
  const errors = [new Error('away'), new Superseded()]
  const { store } = slowStore()
  const saves: number[] = []
  const failing = {
    ...store,
    async save(shard: number) {
      saves.push(shard)
      const error = errors.shift()
      if (error !== undefined) throw error
    },
  }
  const checkpoints = await withAccounts(failing, 1)
  await checkpoints.save(1)
  await expect(checkpoints.save(1)).rejects.toThrow(Superseded)
  await checkpoints.save(1)
  await checkpoints.save(1)
  expect(saves).toEqual([saves[0], saves[0], saves[0]])
  expect(checkpoints.lagSeconds).toBe(0)
})
