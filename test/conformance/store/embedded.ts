import { createEmbeddedStore } from '../../../store/embedded/index.ts'
import type { StoreUnderTest } from './under-test.ts'

/** An embedded store whose clock moves only when a test moves it. */
export async function createEmbedded(): Promise<StoreUnderTest> {
  let now = Date.UTC(2030, 0, 1)
  const store = createEmbeddedStore({ now: () => now })
  return {
    store,
    advance: async (ms) => {
      now += ms
    },
    dispose: () => store.close(),
  }
}
