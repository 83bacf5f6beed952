import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Compilation } from '../../compile/compilation.ts'
import { compileSlice } from '../../compile/index.ts'
import { type KubeCall, type KubeClient, KubeError } from '../../kube/types.ts'
import type { Snapshot } from '../../snapshot.ts'
import { ClusterSource } from './cluster.ts'

const CREATED = '2026-01-01T00:00:00Z'

interface Stored {
  metadata: { name: string; namespace: string; uid: string; resourceVersion: string; generation: number }
  [field: string]: unknown
}

interface More {
  generation?: number
  owner?: { kind: string; name: string; uid: string }
  deleting?: boolean
}

/** An API server in memory: collections by path, with watches that get every change. */
class FakeServer implements KubeClient {
  readonly collections = new Map<string, Map<string, Stored>>()
  readonly requests: KubeCall[] = []
  readonly streams: KubeCall[] = []
  readonly watches = new Map<string, Set<(event: object) => void>>()
  /** Objects that cannot be read one by one. */
  readonly refused = new Set<string>()
  /** Collections that do not answer. */
  readonly away = new Set<string>()
  #version = 1

  put(path: string, name: string, fields: object, more: More = {}): void {
    const collection = this.collections.get(path) ?? new Map<string, Stored>()
    this.collections.set(path, collection)
    const old = collection.get(name)
    const object: Stored = {
      metadata: {
        ...{ name, namespace: 'default', uid: old?.metadata.uid ?? `uid-${name}` },
        resourceVersion: String(++this.#version),
        generation: more.generation ?? (old?.metadata.generation ?? 0) + 1,
        ...{ creationTimestamp: CREATED, managedFields: [{ manager: 'kubectl' }] },
        ...(more.owner !== undefined && { ownerReferences: [{ ...more.owner, controller: true }] }),
        ...(more.deleting && { deletionTimestamp: CREATED }),
      },
      ...fields,
    }
    collection.set(name, object)
    for (const tell of this.watches.get(path) ?? [])
      tell({ type: old === undefined ? 'ADDED' : 'MODIFIED', object })
  }

  remove(path: string, name: string): void {
    const object = this.collections.get(path)?.get(name)
    this.collections.get(path)?.delete(name)
    for (const tell of this.watches.get(path) ?? []) tell({ type: 'DELETED', object })
  }

  async request(call: KubeCall): Promise<unknown> {
    this.requests.push(call)
    const [, collection = '', name = ''] = /^(.*)\/([^/]+)$/.exec(call.path) ?? []
    const found = this.collections.get(collection.replace('/namespaces/default', ''))?.get(name)
    if (found === undefined) throw new KubeError('not found', 404)
    if (this.refused.has(name)) throw new KubeError('forbidden', 403)
    return found
  }

  async *stream(call: KubeCall): AsyncIterable<unknown> {
    const { path, signal } = call
    this.streams.push(call)
    if (this.away.has(path)) throw new KubeError('no answer', 0)
    const events: object[] = []
    let wake = () => {}
    const tell = (event: object) => {
      events.push(event)
      wake()
    }
    const listeners = this.watches.get(path) ?? new Set()
    this.watches.set(path, listeners.add(tell))
    for (const object of this.collections.get(path)?.values() ?? []) tell({ type: 'ADDED', object })
    const annotations = { 'k8s.io/initial-events-end': 'true' }
    tell({ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(this.#version), annotations } } })
    signal?.addEventListener('abort', () => wake())
    try {
      while (signal?.aborted !== true) {
        const event = events.shift()
        if (event !== undefined) yield event
        else
          await new Promise<void>((resolve) => {
            wake = resolve
            if (signal?.aborted === true) resolve()
          })
      }
    } finally {
      listeners.delete(tell)
    }
  }

  async close(): Promise<void> {}
}

const path = (plural: string) => `/apis/sluice.dev/v1alpha1/${plural}`
const SECRETS = '/api/v1/secrets'
const base64 = (text: string) => Buffer.from(text).toString('base64')

let server: FakeServer
let source: ClusterSource
let snapshots: Snapshot[]
let compilation: Compilation
let seen: string[]
let logged: string[]

beforeEach(() => {
  server = new FakeServer()
  snapshots = []
  compilation = new Compilation(compileSlice)
  seen = []
  logged = []
  const note = (fields: object, message: string) => logged.push(`${JSON.stringify(fields)} ${message}`)
  source = new ClusterSource({
    client: server,
    namespaces: [],
    secretLabels: { 'sluice.dev/secret': 'true', team: 'llm' },
    log: { info: note, warn: note, error: note },
    onChanges: (changes) => {
      compilation.apply(changes, Date.now())
      snapshots.push(copyOf(compilation.snapshot()))
    },
    onSeen: (id) => seen.push(id),
  })
})

afterEach(() => source.stop())

const last = () => snapshots.at(-1)
/** The next changes modify its maps. */
const copyOf = (snapshot: Snapshot): Snapshot => ({
  ...snapshot,
  secrets: new Map(snapshot.secrets),
  generated: new Map(snapshot.generated),
})
const key = (name: string) => last()?.secrets.get(`default/${name}`)?.get('key')
const apiKey = (name: string) => ({ kind: 'ApiKey', name, uid: `uid-${name}` })
const keyRef = (name: string) => ({ spec: { secretRef: { name } } })

describe('the first snapshot', () => {
  it('requests the Secrets with the configured labels, and all resources', async () => {
    await source.start()
    const selectors = server.streams.map(({ path, query }) => `${path} ${query?.labelSelector ?? 'all'}`)
    expect([...new Set(selectors)].sort()).toEqual(
      [
        `${SECRETS} sluice.dev/secret=true,team=llm`,
        ...['accounts', 'apikeys', 'channels', 'credits', 'modelroutes'].map((kind) => `${path(kind)} all`),
      ].sort(),
    )
  })

  it('has every kind and only Secrets that resources refer to', async () => {
    server.put(SECRETS, 'client', { data: { key: base64('sk-client\n') } })
    server.put(SECRETS, 'private', { data: { password: base64('hunter2') } })
    server.put(path('apikeys'), 'alice', keyRef('client'))
    server.put(path('accounts'), 'team', { spec: {} })
    server.put(path('credits'), 'start', { spec: { accountRef: { name: 'team' }, amount: '5' } })
    server.put(path('channels'), 'local', { spec: { type: 'messages', baseURL: 'http://127.0.0.1:9' } })
    server.put(path('modelroutes'), 'small', {
      spec: { model: 'm', channels: [{ name: 'local' }], free: true },
    })
    await source.start()
    expect(snapshots).toHaveLength(1)
    expect(last()?.apiKeys).toEqual([
      {
        kind: 'ApiKey',
        metadata: {
          namespace: 'default',
          name: 'alice',
          uid: 'uid-alice',
          generation: 1,
          createdAt: Date.parse(CREATED),
        },
        spec: { secretRef: { name: 'client', key: 'key' } },
      },
    ])
    expect(last()?.accounts[0]?.spec).toEqual({ enforcement: 'Enforced' })
    expect([last()?.credits.length, last()?.channels.length, last()?.modelRoutes.length]).toEqual([1, 1, 1])
    expect([...(last()?.secrets.keys() ?? [])]).toEqual(['default/client'])
    expect(key('client')).toBe('sk-client')
    expect(JSON.stringify(last()?.secrets.get('default/client'))).not.toContain('sk-client')
    expect(server.requests).toEqual([])
  })

  it('waits for every kind', async () => {
    server.put(path('accounts'), 'team', { spec: {} })
    server.away.add(path('channels'))
    const started = source.start()
    await vi.waitFor(() => expect(source.health().filter(({ synced }) => synced)).toHaveLength(4))
    expect(snapshots).toEqual([])
    server.away.clear()
    await started
    expect(snapshots).toHaveLength(1)
  })

  it('reports parse errors with the messages of folder mode', async () => {
    server.put(path('modelroutes'), 'wrong', { spec: { model: 7, channels: [] } })
    await source.start()
    expect(last()?.modelRoutes).toEqual([])
    expect(last()?.invalid).toMatchObject([
      {
        kind: 'ModelRoute',
        metadata: { name: 'wrong' },
        message: expect.stringContaining('spec.model must be text, not a number; put it in quotes'),
      },
    ])
  })
})

describe('a change', () => {
  it('of a spec gives a snapshot with the same objects for the rest', async () => {
    server.put(path('accounts'), 'team', { spec: {} })
    server.put(path('accounts'), 'other', { spec: {} })
    await source.start()
    server.put(path('accounts'), 'team', { spec: { disabled: true } })
    await vi.waitFor(() => expect(snapshots).toHaveLength(2))
    const byName = (snapshot: Snapshot | undefined, name: string) =>
      snapshot?.accounts.find(({ metadata }) => metadata.name === name)
    expect(byName(last(), 'team')?.spec.disabled).toBe(true)
    expect(byName(last(), 'other')).toBe(byName(snapshots[0], 'other'))
  })

  it('of a status gives no snapshot, but calls onSeen', async () => {
    server.put(path('accounts'), 'team', { spec: {} })
    await source.start()
    const status = { credited: '7', spent: '0.5' }
    server.put(path('accounts'), 'team', { spec: {}, status }, { generation: 1 })
    await vi.waitFor(() => expect(seen).toEqual(['Account/default/team']))
    expect(source.found('Account/default/team')).toMatchObject({ uid: 'uid-team', status })
    expect(source.recorded().account('default/team')).toEqual({ credited: 7e9, spent: 5e8 })
    server.put(path('accounts'), 'team', { spec: {}, status: { ...status, newer: 1 } }, { generation: 1 })
    await vi.waitFor(() => expect(seen).toHaveLength(2))
    expect(source.recorded().account('default/team')).toEqual({ credited: 7e9, spent: 5e8 })
    server.put(path('accounts'), 'marker', { spec: {} })
    await vi.waitFor(() => expect(snapshots).toHaveLength(2))
    expect(last()?.accounts).toHaveLength(2)
  })

  it('removes deleted and invalid resources', async () => {
    server.put(path('accounts'), 'team', { spec: {} })
    server.put(path('accounts'), 'other', { spec: {} })
    await source.start()
    server.remove(path('accounts'), 'team')
    server.put(path('accounts'), 'other', { spec: { overdraft: 'much' } })
    await vi.waitFor(() => expect(last()?.accounts).toEqual([]))
    expect(last()?.invalid).toHaveLength(1)
  })

  it('that deletes a resource, or marks it as deleting, calls onSeen', async () => {
    server.put(path('accounts'), 'team', { spec: {} })
    await source.start()
    expect(source.found('Account/default/team')?.deleting).toBe(false)
    server.put(path('accounts'), 'team', { spec: {} }, { deleting: true })
    await vi.waitFor(() => expect(source.found('Account/default/team')?.deleting).toBe(true))
    server.remove(path('accounts'), 'team')
    await vi.waitFor(() => expect(source.found('Account/default/team')).toBeUndefined())
    await vi.waitFor(() => expect(seen).toEqual(['Account/default/team', 'Account/default/team']))
  })

  it('is noticed if an object was re-created with the same name', async () => {
    server.put(path('accounts'), 'team', { spec: {} })
    await source.start()
    server.collections.clear()
    server.put(path('accounts'), 'team', { spec: { disabled: true } }, { generation: 1 })
    const object = server.collections.get(path('accounts'))?.get('team')
    if (object === undefined) throw new Error('not stored')
    object.metadata.uid = 'another'
    object.metadata.resourceVersion = '900'
    for (const tell of server.watches.get(path('accounts')) ?? []) tell({ type: 'MODIFIED', object })
    await vi.waitFor(() => expect(last()?.accounts[0]?.spec.disabled).toBe(true))
  })
})

describe('a missing object', () => {
  const health = () => source.health().find(({ kind }) => kind === 'Account')

  /** Ends the watch of Accounts for good, so that all of them are listed again. */
  async function listAgain(during: () => void): Promise<void> {
    const watches = server.watches.get(path('accounts')) ?? new Set()
    const [watch] = watches
    watches.clear()
    during()
    watch?.({ type: 'ERROR', object: { code: 410, message: 'too old' } })
    await vi.waitFor(() => expect(watches.size).toBe(1))
    await vi.waitFor(() => expect(health()?.lastEventAgeMs).toBeLessThan(1_000))
  }

  it('from a complete list was deleted', async () => {
    server.put(path('accounts'), 'team', { spec: {} })
    await source.start()
    await listAgain(() => server.remove(path('accounts'), 'team'))
    await vi.waitFor(() => expect(snapshots).toHaveLength(2))
    expect(last()?.accounts).toEqual([])
  })

  it('is kept while its kind cannot be listed, and other kinds change', async () => {
    server.put(path('accounts'), 'team', { spec: {} })
    await source.start()
    const watches = server.watches.get(path('accounts')) ?? new Set()
    const [watch] = watches
    server.away.add(path('accounts'))
    server.collections.delete(path('accounts'))
    watch?.({ type: 'ERROR', object: { code: 410, message: 'too old' } })
    await vi.waitFor(() => expect(watches.size).toBe(0))
    server.put(path('credits'), 'start', { spec: { accountRef: { name: 'team' }, amount: '5' } })
    await vi.waitFor(() => expect(last()?.credits).toHaveLength(1))
    expect(last()?.accounts).toHaveLength(1)
    server.away.clear()
    await vi.waitFor(() => expect(last()?.accounts).toEqual([]), 5_000)
  })

  it('was deleted if the watch says so, also after a list without changes', async () => {
    server.put(path('accounts'), 'team', { spec: {} })
    await source.start()
    await listAgain(() => {})
    server.remove(path('accounts'), 'team')
    await vi.waitFor(() => expect(snapshots).toHaveLength(2))
    expect(last()?.accounts).toEqual([])
  })
})

describe('a Secret', () => {
  it('that was created before the resource that refers to it is read', async () => {
    server.put(SECRETS, 'client', { data: { key: base64('sk-client') } })
    await source.start()
    server.put(path('apikeys'), 'alice', keyRef('client'))
    await vi.waitFor(() => expect(key('client')).toBe('sk-client'))
    // It is in the first snapshot with the resource, so that no condition says that it is missing.
    expect(snapshots).toHaveLength(2)
    expect(server.requests.map((call) => call.path)).toEqual(['/api/v1/namespaces/default/secrets/client'])
  })

  it('that cannot be read leaves resources that refer to it unchanged, and others change', async () => {
    server.put(SECRETS, 'client', { data: { key: base64('sk-client') } })
    server.put(SECRETS, 'other', { data: { key: base64('sk-other') } })
    server.put(path('apikeys'), 'alice', keyRef('client'))
    await source.start()
    server.refused.add('other')
    server.put(path('apikeys'), 'alice', keyRef('other'))
    server.put(path('apikeys'), 'new', keyRef('other'))
    await vi.waitFor(() => expect(last()?.apiKeys).toHaveLength(2))
    const refOf = (name: string) =>
      last()?.apiKeys.find(({ metadata }) => metadata.name === name)?.spec.secretRef?.name
    expect(refOf('alice')).toBe('client')
    expect(key('client')).toBe('sk-client')
    expect(key('other')).toBeUndefined()
    server.put(path('accounts'), 'team', { spec: {} })
    await vi.waitFor(() => expect(last()?.accounts).toHaveLength(1))
    expect(refOf('alice')).toBe('client')
    server.refused.clear()
    await vi.waitFor(() => expect(refOf('alice')).toBe('other'))
    expect(key('other')).toBe('sk-other')
    expect(key('client')).toBeUndefined()
  })

  it('that cannot be read at first is read later', async () => {
    server.put(SECRETS, 'client', { data: { key: base64('sk-client') } })
    await source.start()
    server.refused.add('client')
    server.put(path('apikeys'), 'alice', keyRef('client'))
    await vi.waitFor(() => expect(last()?.apiKeys).toHaveLength(1))
    expect(key('client')).toBeUndefined()
    server.refused.clear()
    await vi.waitFor(() => expect(key('client')).toBe('sk-client'), 3_000)
  })

  it('is followed: rotated, and deleted', async () => {
    server.put(SECRETS, 'client', { data: { key: base64('one') } })
    server.put(path('apikeys'), 'alice', keyRef('client'))
    await source.start()
    server.put(SECRETS, 'client', { data: { key: base64('two') } })
    await vi.waitFor(() => expect(key('client')).toBe('two'))
    server.remove(SECRETS, 'client')
    await vi.waitFor(() => expect(last()?.secrets.size).toBe(0))
  })

  it('without a reference gives no snapshot', async () => {
    await source.start()
    server.put(SECRETS, 'private', { data: { password: base64('hunter2') } })
    server.put(path('accounts'), 'marker', { spec: {} })
    await vi.waitFor(() => expect(snapshots).toHaveLength(2))
    expect(last()?.secrets.size).toBe(0)
  })

  it('that is invalid does not affect others', async () => {
    server.put(SECRETS, 'odd', { data: { key: 7 } })
    server.put(SECRETS, 'client', { data: { key: base64('sk-client') } })
    server.put(path('apikeys'), 'alice', keyRef('client'))
    await source.start()
    expect(key('client')).toBe('sk-client')
  })

  it('of a generated key is used only by its owner', async () => {
    server.put(path('apikeys'), 'mine', { spec: {} })
    server.put(path('apikeys'), 'theirs', { spec: {} })
    server.put(path('apikeys'), 'new', { spec: {} })
    server.put(SECRETS, 'mine-key', { data: { key: base64('sk-mine') } }, { owner: apiKey('mine') })
    server.put(SECRETS, 'theirs-key', { data: { key: base64('sk-theirs') } }, { owner: apiKey('other') })
    await source.start()
    expect(Object.fromEntries(last()?.generated ?? [])).toEqual({
      'default/mine': { secretName: 'mine-key', state: 'made' },
      'default/theirs': { secretName: 'theirs-key', state: 'foreign' },
      'default/new': { secretName: 'new-key', state: 'absent' },
    })
    expect(key('mine-key')).toBe('sk-mine')
  })

  it('of an earlier ApiKey with the same name is about to be deleted and causes no condition', async () => {
    server.put(path('apikeys'), 'mine', { spec: {} })
    const owner = { ...apiKey('mine'), uid: 'uid-before' }
    server.put(SECRETS, 'mine-key', { data: { key: base64('sk-before') } }, { owner })
    await source.start()
    expect(last()?.generated?.get('default/mine')?.state).toBe('absent')
  })
})

describe('a flood of changes', () => {
  it('gives few snapshots, and the last one has everything', async () => {
    await source.start()
    for (let i = 0; i < 200; i++) server.put(path('accounts'), `a${i}`, { spec: {} })
    await vi.waitFor(() => expect(last()?.accounts).toHaveLength(200))
    expect(snapshots.length).toBeLessThan(20)
  })
})
