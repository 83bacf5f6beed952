/** What every keeper of checkpoints does. `create` returns one more access to the same checkpoint each time. */
import { beforeEach, describe, expect, test } from 'vitest'
import { type CheckpointStore, Superseded } from '../../../controller/books/checkpoint-store.ts'
import type { Marks } from '../../../controller/books/mark.ts'

const ONE: Marks = {
  a: { credited: 9_000_000_000_000_000, spent: -5, entries: 3, last: '1-2', credits: { 'default/c': 7 } },
  b: { credited: 0, spent: 0, entries: 0, credits: {} },
}

export function checkpointCases(name: string, world: () => Promise<() => CheckpointStore>): void {
  describe(name, () => {
    let create: () => CheckpointStore
    beforeEach(async () => {
      create = await world()
    })

    test('is empty at first', async () => {
      const store = create()
      const { epoch, shards } = await store.load()
      expect([epoch, shards]).toEqual([0, Array(store.shards).fill({})])
    })

    test('gives back what was saved last, in its part', async () => {
      const store = create()
      await store.load()
      const last = store.shards - 1
      await store.save(last, { c: ONE.a ?? {} } as Marks, 3)
      await store.save(last, ONE, 4)
      const { epoch, shards } = await create().load()
      expect([epoch, shards[last]]).toEqual([4, ONE])
    })

    test('is taken over by a later leader, and an earlier one cannot replace it', async () => {
      const [old, next] = [create(), create()]
      await old.load()
      await old.save(0, ONE, 3)
      expect((await next.load()).epoch).toBe(3)
      await next.save(0, {}, 5)
      await expect(old.save(0, ONE, 3)).rejects.toThrow(Superseded)
      expect((await create().load()).shards[0]).toEqual({})
    })

    test('a leader that did not know of a save repeats its own', async () => {
      const [first, second] = [create(), create()]
      await first.load()
      await second.load()
      await first.save(0, {}, 3)
      await second.save(0, ONE, 4).catch(() => second.save(0, ONE, 4))
      expect((await create().load()).shards[0]).toEqual(ONE)
    })
  })
}
