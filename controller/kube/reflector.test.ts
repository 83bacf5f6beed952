import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { until } from '../../test/harness/gateway.ts'
import { bookmark, KubeApi, line, refuse, SilentProxy, THINGS } from '../../test/harness/kube-api.ts'
import { connectKube } from './client.ts'
import { type Change, Reflector, type ReflectorOptions } from './reflector.ts'
import type { KubeClient, KubeObject } from './types.ts'

const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() }
let api: KubeApi
let client: KubeClient
const reflectors: { stop(): Promise<void> }[] = []

beforeEach(async () => {
  vi.clearAllMocks()
  api = await KubeApi.start()
  client = connectKube({ log, kubeconfig: api.kubeconfig })
})
afterEach(async () => {
  await Promise.all(reflectors.splice(0).map((reflector) => reflector.stop()))
  await client.close()
  await api.close()
})

/** The reflector, and each batch as text: "+a=1" for a put, "-a" for a removal. */
function reflect(more: Partial<ReflectorOptions<string>> = {}) {
  const batches: string[][] = []
  const reflector = new Reflector<string>({
    client,
    path: THINGS,
    log,
    keep: (object) => String(object.value),
    changed: (changes) => void batches.push(changes.map(textOf)),
    backoff: { firstMs: 1, lastMs: 10 },
    ...more,
  })
  reflectors.push(reflector)
  reflector.start()
  return { reflector, batches, all: () => batches.flat() }
}

function textOf(change: Change<string>): string {
  const name = change.key.replace('tests/', '')
  return change.type === 'put' ? `+${name}=${change.object}` : `-${name}`
}

const watching = () => until(() => api.watches === 1, 'the watch')
const openings = () => api.requests.filter(({ query }) => query.get('watch') === 'true')

test('a streaming list is one batch, and news follow', async () => {
  api.put('a', '1')
  api.put('b', '2')
  const { reflector, batches, all } = reflect({ labelSelector: 'x=y', fieldSelector: 'type!=z' })
  await reflector.synced
  expect(batches).toEqual([['+a=1', '+b=2']])
  expect([...reflector.values()]).toEqual(['1', '2'])
  expect(reflector.get('tests/a')).toBe('1')
  const query = Object.fromEntries(api.requests[0]?.query ?? [])
  expect(query).toMatchObject({
    watch: 'true',
    sendInitialEvents: 'true',
    resourceVersionMatch: 'NotOlderThan',
    allowWatchBookmarks: 'true',
    labelSelector: 'x=y',
    fieldSelector: 'type!=z',
  })
  expect(Number(query.timeoutSeconds)).toBeGreaterThanOrEqual(300)
  expect(Number(query.timeoutSeconds)).toBeLessThanOrEqual(600)
  api.put('a', '3')
  api.remove('b')
  await until(() => all().length === 4, 'the news')
  expect(all().slice(2)).toEqual(['+a=3', '-b'])
  expect(reflector.size).toBe(1)
  expect(reflector.health()).toMatchObject({ synced: true, relists: 0 })
})

test('what one chunk carries is one batch', async () => {
  const { reflector, batches } = reflect()
  await reflector.synced
  await watching()
  const events = ['a', 'b', 'c'].map((name, i) => {
    const metadata = { name, namespace: 'tests', uid: name, resourceVersion: String(201 + i) }
    return line('ADDED', {
      metadata: { ...metadata, creationTimestamp: '2026-01-01T00:00:00Z' },
      value: name,
    })
  })
  api.write(events.join(''))
  await until(() => batches.length > 0, 'the news')
  expect(batches).toEqual([['+a=a', '+b=b', '+c=c']])
})

test.each([400, 422, 500])(
  'a server without streaming lists (%i) is listed in pages, all in one batch',
  async (code) => {
    api.noStreamingList = code
    api.pageItems = 2
    for (let i = 0; i < 5; i++) api.put(`thing-${i}`, String(i))
    const { reflector, batches, all } = reflect()
    await reflector.synced
    expect(batches).toHaveLength(1)
    expect(batches[0]).toHaveLength(5)
    const pages = api.requests.filter(({ query }) => !query.has('watch'))
    expect(pages.map(({ query }) => query.get('limit'))).toEqual(['1000', '1000', '1000'])
    await watching()
    expect(openings().at(-1)?.query.get('resourceVersion')).toBe('105')
    api.put('thing-0', 'new')
    await until(() => all().includes('+thing-0=new'), 'the news')
  },
)

test('a page that has expired starts the list anew', async () => {
  api.noStreamingList = 400
  api.pageItems = 2
  for (let i = 0; i < 5; i++) api.put(`thing-${i}`, String(i))
  let pages = 0
  const expiring: KubeClient = {
    close: () => client.close(),
    stream: (call) => client.stream(call),
    request: (call) => {
      if (++pages === 2) api.acts.push(refuse(410))
      return client.request(call)
    },
  }
  const { reflector, batches } = reflect({ client: expiring })
  await reflector.synced
  expect(batches).toHaveLength(1)
  expect(new Set(batches[0])).toEqual(new Set([0, 1, 2, 3, 4].map((i) => `+thing-${i}=${i}`)))
  expect(pages).toBe(5)
  expect(reflector.health().relists).toBe(0)
})

test('a watch goes on where it was: broken, ended, or cut within a line', async () => {
  const { reflector, all } = reflect()
  await reflector.synced
  const cuts = [
    () => api.breakWatches(),
    () => api.endWatches(),
    () => api.breakWatches('{"type":"MODIFIED","obj'),
    () => {
      api.write('{"type":"MODIFIED","obj')
      api.endWatches()
    },
  ]
  for (const [i, cut] of cuts.entries()) {
    await watching()
    api.put('a', `before ${i}`)
    await until(() => all().includes(`+a=before ${i}`), 'the news')
    cut()
    api.put('a', `after ${i}`)
    await until(() => all().includes(`+a=after ${i}`), 'what happened meanwhile')
  }
  expect(all()).toEqual(cuts.flatMap((_, i) => [`+a=before ${i}`, `+a=after ${i}`]))
  expect(reflector.health().relists).toBe(0)
  expect(openings().filter(({ query }) => query.has('sendInitialEvents'))).toHaveLength(1)
})

test('a bookmark moves the place where the watch goes on', async () => {
  const { reflector } = reflect()
  await reflector.synced
  await watching()
  api.version = 500
  api.bookmark()
  api.endWatches()
  await until(() => openings().length === 2, 'the next watch')
  expect(openings()[1]?.query.get('resourceVersion')).toBe('500')
})

test('after a version that is gone only differences are delivered', async () => {
  for (const name of ['same', 'changed', 'removed']) api.put(name, '1')
  const { reflector, batches } = reflect()
  await reflector.synced
  await watching()
  api.acts.push((request, response) => {
    api.put('changed', '2')
    api.remove('removed')
    api.put('added', '1')
    refuse(410)(request, response)
  })
  api.breakWatches()
  await until(() => batches.length === 2, 'the differences')
  expect(new Set(batches[1])).toEqual(new Set(['-removed', '+changed=2', '+added=1']))
  expect(reflector.health().relists).toBe(1)
})

test('a server that is back and has forgotten the version is listed without another wait', async () => {
  const backoff = { firstMs: 5, lastMs: 600_000 }
  const { reflector } = reflect({ backoff })
  await reflector.synced
  await watching()
  api.acts.push(...Array.from({ length: 6 }, () => refuse(503)), (request, response) => {
    // The next wait in the row of failures would be longer than a test; the first of a new row is short.
    backoff.firstMs = 500
    refuse(410)(request, response)
  })
  api.breakWatches()
  await until(() => reflector.health().relists === 1, 'the list')
})

test('an Expired event makes it list again', async () => {
  api.put('a', '1')
  const { reflector, batches, all } = reflect()
  await reflector.synced
  await watching()
  api.compact()
  await until(() => reflector.health().relists === 1, 'the list')
  expect(batches).toHaveLength(1)
  api.put('a', '2')
  await until(() => all().includes('+a=2'), 'news')
})

test('a server that says when is asked then, and not before', async () => {
  const { reflector } = reflect()
  await reflector.synced
  await watching()
  api.acts.push(refuse(503, { retryAfter: 1 }))
  const from = performance.now()
  api.endWatches()
  await until(() => openings().length === 3, 'the repeat')
  expect(performance.now() - from).toBeGreaterThan(990)
})

test('failures in a row are told once, and the end of them', async () => {
  api.acts.push(...Array.from({ length: 5 }, () => refuse(404)))
  const { reflector } = reflect()
  await reflector.synced
  expect(log.warn).toHaveBeenCalledTimes(1)
  expect(log.warn.mock.calls[0]?.[1]).toContain('CustomResourceDefinitions')
  expect(log.info).toHaveBeenCalledWith({ path: THINGS }, 'the API server responds again')
})

test('a watch that says nothing is replaced, also on a connection that is silently dead', async () => {
  const proxy = await SilentProxy.start(api.port)
  api.writeKubeconfig(proxy.port)
  const through = connectKube({ log, kubeconfig: api.kubeconfig })
  const { reflector, all } = reflect({ client: through, staleAfterMs: 300 })
  await reflector.synced
  proxy.goSilent()
  api.put('a', '1')
  await until(() => all().length === 1, 'the news')
  expect(reflector.health().relists).toBe(0)
  await reflector.stop()
  await through.close()
  await proxy.close()
})

test('a server that went back to an earlier state is listed again', async () => {
  api.put('a', '1')
  const old = [...api.things.values()]
  const { reflector, all } = reflect({ checkEveryMs: 20 })
  await reflector.synced
  api.put('b', '1')
  await until(() => all().length === 2, 'the news')
  api.restore(101, old)
  await until(() => all().length === 3, 'the difference')
  expect(all()).toEqual(['+a=1', '+b=1', '-b'])
})

test('what throws is logged and ends nothing', async () => {
  api.put('bad', '1')
  api.put('good', '1')
  const seen: string[] = []
  const { reflector } = reflect({
    keep: (object: KubeObject) => {
      if (object.value === 'broken' || (object.metadata.name === 'bad' && object.value === '1'))
        throw new Error('cannot be read')
      return String(object.value)
    },
    changed: (changes) => {
      seen.push(...changes.map(textOf))
      throw new Error('not today')
    },
  })
  await reflector.synced
  expect(seen).toEqual(['+good=1'])
  api.put('good', 'broken')
  api.put('bad', '2')
  await until(() => seen.length === 2, 'the news')
  expect(seen).toEqual(['+good=1', '+bad=2'])
  expect(reflector.get('tests/good')).toBe('1')
  expect(log.error).toHaveBeenCalledTimes(4)
})

test('stop ends a start, a list, a page, a watch and a pause, and nothing comes after', async () => {
  const nothing = async (when: () => Promise<unknown>, more: Partial<ReflectorOptions<string>> = {}) => {
    api.requests.length = 0
    const { reflector, batches } = reflect(more)
    await when()
    const before = batches.length
    await reflector.stop()
    await reflector.synced
    const requests = api.requests.length
    await until(() => api.watches === 0, 'the end of the watch')
    api.put('a', `${Math.random()}`)
    await new Promise(setImmediate)
    expect(batches.length).toBe(before)
    expect(api.requests.length).toBe(requests)
  }
  await nothing(async () => {})
  // No answer to the list.
  api.acts.push(() => {})
  await nothing(() => until(() => api.requests.length === 1, 'the list'))
  // In the middle of the first state.
  api.acts.push((_request, response) => void response.write(line('BOOKMARK', bookmark(1))))
  await nothing(() => until(() => api.requests.length === 1, 'the list'))
  api.acts.push(refuse(400), () => {})
  await nothing(() => until(() => api.requests.length === 2, 'the page'))
  await nothing(watching)
  api.acts.push(refuse(403))
  await nothing(() => until(() => log.warn.mock.calls.length > 0, 'the failure'), {
    backoff: { firstMs: 60_000, lastMs: 60_000 },
  })
  const never = new Reflector({ client, path: THINGS, log, keep: String, changed: () => {} })
  await never.stop()
  never.start()
  await new Promise(setImmediate)
  expect(api.watches).toBe(0)
})
