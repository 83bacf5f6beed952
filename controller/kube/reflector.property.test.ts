import fc from 'fast-check'
import { expect, test } from 'vitest'
import { until } from '../../test/harness/gateway.ts'
import { KubeApi, refuse, THINGS } from '../../test/harness/kube-api.ts'
import { connectKube } from './client.ts'
import { Reflector } from './reflector.ts'

/** Runs use real connections; FC_RUNS raises their number within limits. */
const RUNS = Math.min(Number(process.env.FC_RUNS ?? 60), 400)

const log = { info: () => {}, warn: () => {}, error: () => {} }
const name = fc.constantFrom('a', 'b', 'c', 'd')
/** Never deleted, so that it must never be missing. */
const LASTING = 'e'
const code = fc.constantFrom(410, 429, 500, 503, 400, 401, 403, 404)

/** Events at the server, or on the way to it. */
const action: fc.Arbitrary<(api: KubeApi) => void | Promise<void>> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.tuple(fc.oneof(name, fc.constant(LASTING)), fc.nat(9)).map(
      ([key, value]) =>
        (api: KubeApi) =>
          api.put(key, `${value}`),
    ),
  },
  { weight: 3, arbitrary: name.map((key) => (api: KubeApi) => api.remove(key)) },
  { weight: 2, arbitrary: fc.constant(() => new Promise<void>((resolve) => setTimeout(resolve, 2))) },
  fc
    .constantFrom('', '{"type":"ADDED","object":{"meta')
    .map((half) => (api: KubeApi) => api.breakWatches(half)),
  fc.constant((api: KubeApi) => api.endWatches()),
  fc.constant((api: KubeApi) => api.compact()),
  fc.constant((api: KubeApi) => api.bookmark()),
  code.map((status) => (api: KubeApi) => void api.acts.push(refuse(status))),
  fc.constant((api: KubeApi) => void api.acts.push((_request, response) => response.destroy())),
  fc.constantFrom(undefined, 400, 422).map((status) => (api: KubeApi) => {
    api.noStreamingList = status
  }),
  fc.integer({ min: 1, max: 3 }).map((items) => (api: KubeApi) => {
    api.pageItems = items
  }),
)

interface Kept {
  version: number
  value: string
}

test('after any events, the cache equals the server, and each change was delivered once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 40 }), async (actions) => {
      const api = await KubeApi.start()
      const client = connectKube({ log, kubeconfig: api.kubeconfig })
      const told = new Map<string, Kept>()
      const faults: string[] = []
      const reflector = new Reflector<Kept>({
        client,
        path: THINGS,
        log,
        keep: ({ metadata, value }) => ({ version: Number(metadata.resourceVersion), value: String(value) }),
        changed: (changes) => {
          for (const change of changes) {
            const before = told.get(change.key)
            if (change.type === 'removed') {
              if (change.key === `tests/${LASTING}`) faults.push('removed an object that was not deleted')
              if (before !== change.object) faults.push(`removed ${change.key}, which was told otherwise`)
              told.delete(change.key)
              continue
            }
            if (before !== change.old) faults.push(`another old ${change.key} than was told`)
            if (before !== undefined && before.version >= change.object.version)
              faults.push(`${change.key} went from ${before.version} to ${change.object.version}`)
            told.set(change.key, change.object)
          }
        },
        backoff: { firstMs: 1, lastMs: 4 },
      })
      reflector.start()
      for (const act of actions) await act(api)
      api.acts.length = 0
      const expected = () =>
        [...api.things.values()].map(
          ({ metadata, value }) => `${metadata.name} ${metadata.resourceVersion} ${value}`,
        )
      const reported = () =>
        [...told].map(([key, kept]) => `${key.replace('tests/', '')} ${kept.version} ${kept.value}`)
      const same = () => expected().sort().join() === reported().sort().join()
      await reflector.synced
      await until(same, 'the state of the server')
      expect(faults).toEqual([])
      for (const [key, kept] of told) expect(reflector.get(key)).toBe(kept)
      expect(reflector.size).toBe(told.size)
      await reflector.stop()
      await client.close()
      await api.close()
    }),
    { numRuns: RUNS },
  )
}, 120_000)
