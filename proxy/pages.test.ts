import { expect, test, vi } from 'vitest'
import { StoreUnavailable } from '../store/contract.ts'
import { createEmbeddedStore } from '../store/embedded/index.ts'
import { proxyPages } from './pages.ts'

const line = (requestId: string, status: number) => JSON.stringify({ requestId, status })

/** The page over a log of `lines`, and the numbers of lines that were read. */
async function log(lines: readonly string[]) {
  const store = createEmbeddedStore({ logCapacity: 10_000 })
  for (const one of lines) await store.state.appendLog(one)
  const recentLog = vi.spyOn(store.state, 'recentLog')
  const known = {
    follower: {
      table: undefined as never,
      applied: { epoch: 1, generation: 1 },
      key: vi.fn(),
      account: vi.fn(),
    },
    health: { ejectedUntil: () => 0, isFull: () => false },
  }
  const page = proxyPages(known, store)['/logs']
  return {
    recentLog,
    ask: (query: Record<string, string>) => page?.(new URLSearchParams(query)),
    reads: () => recentLog.mock.calls.map(([count]) => count),
  }
}

test('of a long log only the end is read if that is enough', async () => {
  const lines = Array.from({ length: 5_000 }, (_, i) => line(`r${i}`, i === 100 ? 502 : 200))
  const { ask, reads } = await log(lines)
  expect(await ask({ limit: '2' })).toEqual({ lines: [line('r4999', 200), line('r4998', 200)] })
  expect(reads()).toEqual([200])
  expect(await ask({ status: '502' })).toEqual({ lines: [line('r100', 502)] })
  expect(reads().slice(1)).toEqual([200, 2_000, 10_000])
})

test('since: older lines are neither shown nor read', async () => {
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
  const lines = Array.from({ length: 1_000 }, (_, i) =>
    JSON.stringify({ requestId: `r${i}`, status: 200, time: at(i) }),
  )
  const { ask, reads } = await log(lines)
  expect(await ask({ since: at(998), limit: '100' })).toEqual({ lines: [lines[999], lines[998]] })
  expect(reads()).toEqual([200])
  expect(await ask({ since: at(700), limit: '1000' })).toEqual({ lines: lines.slice(700).reverse() })
  await expect(ask({ since: 'yesterday' })).rejects.toMatchObject({ status: 400 })
})

test('a short log is read once', async () => {
  const { ask, reads } = await log([line('a', 200), line('b', 404)])
  expect(await ask({ status: '4xx' })).toEqual({ lines: [line('b', 404)] })
  expect(reads()).toEqual([200])
})

test('an unknown line does not hide others', async () => {
  const { ask } = await log([line('a', 200), 'not JSON', '{"requestId": 1}'])
  expect(await ask({})).toEqual({ lines: [line('a', 200)] })
})

test('a store that is away is an error with that message', async () => {
  const { ask, recentLog } = await log([])
  recentLog.mockRejectedValue(new StoreUnavailable('away'))
  await expect(ask({})).rejects.toMatchObject({ status: 503, message: expect.stringContaining('away') })
})
