import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Condition } from '../../contract/api/index.ts'
import type { KubeCall, KubeClient } from '../kube/types.ts'
import type { Announcement } from './announce.ts'
import type { Status } from './board.ts'
import { type Found, StatusWriter } from './writer.ts'

const ID = 'ApiKey/default/alice'
/** A resource without a status: queued last, it shows that the ones before it were processed. */
const MARKER = 'ApiKey/default/marker'
const SINCE = '2026-01-01T00:00:00.000Z'

let wanted: Status | undefined
let found: Found | undefined
let calls: KubeCall[]
let events: Announcement[]
let writer: StatusWriter
/** Status codes that the next calls end with. */
let failures: Error[]
/** Called before an answer is given. */
let onRequest: () => void

const client: KubeClient = {
  async request(call) {
    calls.push(call)
    onRequest()
    const failure = failures.shift()
    if (failure !== undefined) throw failure
    return {}
  },
  async *stream() {},
  async close() {},
}

beforeEach(() => {
  wanted = status()
  found = { uid: 'u1', status: undefined }
  calls = []
  events = []
  failures = []
  onRequest = () => {}
  const log = { info() {}, warn() {}, error() {} }
  const record = (event: Announcement) => events.push(event)
  writer = new StatusWriter({
    client,
    wanted: (id) => (id === MARKER ? status() : wanted),
    found: (id) => (id === MARKER ? { uid: 'm', status: undefined } : found),
    events: { record },
    log,
  })
})

afterEach(() => writer.stop())

function condition(type: string, more: Partial<Condition> = {}): Condition {
  return {
    type,
    status: 'True',
    observedGeneration: 1,
    lastTransitionTime: SINCE,
    reason: type,
    message: 'fine',
    ...more,
  }
}

function status(...changed: Condition[]): Status {
  const types = ['Accepted', 'ResolvedRefs', 'Programmed', 'Ready']
  const conditions = types.map((type) => changed.find((c) => c.type === type) ?? condition(type))
  return { conditions, preview: '...' }
}

const pending = () => {
  const more = { status: 'False' as const, reason: 'Pending', message: 'waiting' }
  return status(condition('Programmed', more), condition('Ready', more))
}

const writes = () => calls.map(({ method, path }) => `${method} ${path}`)

describe('a status', () => {
  it('is applied to the status of the resource', async () => {
    writer.changed([ID])
    await vi.waitFor(() => expect(calls).toHaveLength(1))
    expect(writes()).toEqual(['PATCH /apis/sluice.dev/v1alpha1/namespaces/default/apikeys/alice/status'])
    expect(calls[0]?.body).toEqual({
      apiVersion: 'sluice.dev/v1alpha1',
      kind: 'ApiKey',
      metadata: { namespace: 'default', name: 'alice' },
      status: wanted,
    })
    expect(calls[0]?.query).toEqual({ fieldManager: 'sluice-controller', force: 'true' })
  })

  it('is written once, whether or not the watch has reported it', async () => {
    writer.changed([ID])
    await vi.waitFor(() => expect(calls).toHaveLength(1))
    writer.changed([ID])
    found = { uid: 'u1', status: wanted }
    writer.seen(ID)
    wanted = status(condition('Accepted', { message: 'other' }))
    writer.changed([ID])
    await vi.waitFor(() => expect(calls).toHaveLength(2))
    expect(calls[1]?.body).toMatchObject({ status: wanted })
  })

  it('is written again when it was removed after the watch had reported it, but before the answer arrived', async () => {
    const [before, first] = [found, wanted]
    onRequest = () => {
      found = { uid: 'u1', status: first }
      writer.seen(ID)
    }
    writer.changed([ID])
    await vi.waitFor(() => expect(calls).toHaveLength(1))
    onRequest = () => {}
    await vi.waitFor(() => expect(events).not.toEqual([]))
    found = before
    writer.changed([ID])
    await vi.waitFor(() => expect(calls).toHaveLength(2))
  })

  it('that is already there is not written', async () => {
    found = { uid: 'u1', status: structuredClone(wanted) }
    writer.changed([ID, MARKER])
    await vi.waitFor(() => expect(calls.length).toBeGreaterThan(0))
    await writer.stop()
    expect(writes()).toEqual([expect.stringContaining('/marker/status')])
  })

  it('is written again when another program has changed it', async () => {
    found = { uid: 'u1', status: wanted }
    writer.changed([ID])
    found = { uid: 'u1', status: { ...wanted, preview: 'edited' } }
    writer.seen(ID)
    await vi.waitFor(() => expect(calls).toHaveLength(1))
  })

  it('keeps conditions of others and drops our own obsolete ones', async () => {
    found = { uid: 'u1', status: { ...status(), conditions: [condition('Foreign'), ...status().conditions] } }
    writer.changed([ID])
    found = { uid: 'u1', status: { ...status(), secretName: 'old' } }
    writer.changed([ID])
    await vi.waitFor(() => expect(calls).toHaveLength(1))
  })

  it('is retried when the API server fails', async () => {
    failures = [new Error('no answer')]
    writer.changed([ID])
    await vi.waitFor(() => expect(calls).toHaveLength(2))
  })

  it('of a resource that is gone is not written', async () => {
    found = undefined
    writer.changed([ID])
    found = { uid: 'u1', status: undefined }
    wanted = undefined
    writer.changed([ID])
    wanted = status()
    writer.changed(['ApiKey/default/other'])
    await vi.waitFor(() => expect(calls).toHaveLength(1))
    expect(writes()[0]).toContain('/other/')
  })
})

describe('a transient condition', () => {
  it('is never written if it disappears in time', async () => {
    found = { uid: 'u1', status: status() }
    wanted = pending()
    writer.changed([ID])
    wanted = status(condition('Programmed', { observedGeneration: 2 }))
    writer.changed([ID])
    await vi.waitFor(() => expect(calls).toHaveLength(1))
    expect(calls[0]?.body).toMatchObject({ status: wanted })
  })

  it('is written at once if the API server calls an older generation ready', async () => {
    found = { uid: 'u1', status: { ...status(), observedGeneration: 1 } }
    wanted = { ...pending(), observedGeneration: 2 }
    writer.changed([ID, MARKER])
    await vi.waitFor(() => expect(calls).toHaveLength(2))
    expect(calls[0]?.body).toMatchObject({ metadata: { name: 'alice' }, status: wanted })
  })

  it('is written if it stays', async () => {
    wanted = pending()
    const began = performance.now()
    writer.changed([ID])
    await vi.waitFor(() => expect(calls).toHaveLength(1))
    expect(performance.now() - began).toBeGreaterThan(900)
    expect(calls[0]?.body).toMatchObject({ status: wanted })
  })
})

describe('an event', () => {
  const refused = condition('Accepted', { status: 'False', reason: 'Invalid', message: 'spec.x is wrong' })

  it('reports a fault once', async () => {
    wanted = status(refused)
    writer.changed([ID])
    await vi.waitFor(() => expect(events).toHaveLength(2))
    expect(events[0]).toEqual({
      regarding: {
        apiVersion: 'sluice.dev/v1alpha1',
        kind: 'ApiKey',
        namespace: 'default',
        name: 'alice',
        uid: 'u1',
      },
      type: 'Warning',
      reason: 'Invalid',
      action: 'Judge',
      note: 'spec.x is wrong',
    })
    found = { uid: 'u1', status: wanted }
    wanted = { ...wanted, preview: 'other' }
    writer.changed([ID])
    await vi.waitFor(() => expect(calls).toHaveLength(2))
    expect(events).toHaveLength(2)
  })

  it('warns of a key that expires soon, at each step', async () => {
    for (const message of ['within a day', 'within a day', 'within an hour']) {
      found = { uid: 'u1', status: wanted }
      wanted = { ...status(condition('Accepted', { reason: 'Expiring', message })), turn: calls.length }
      writer.changed([ID])
      await vi.waitFor(() => expect(calls.at(-1)?.body).toMatchObject({ status: wanted }))
    }
    writer.changed([ID])
    await vi.waitFor(() => expect(events).toHaveLength(2))
    expect(events.map(({ type, reason, note }) => `${type} ${reason} ${note}`)).toEqual([
      'Warning Expiring within a day',
      'Warning Expiring within an hour',
    ])
  })

  it('says Programmed only for a ready resource', async () => {
    const missing = {
      status: 'False' as const,
      reason: 'RefNotFound',
      message: 'spec.channels names nothing',
    }
    wanted = status(condition('ResolvedRefs', missing), condition('Ready', missing))
    writer.changed([ID])
    await vi.waitFor(() => expect(events.map(({ reason }) => reason)).toEqual(['RefNotFound']), 5_000)
    found = { uid: 'u1', status: wanted }
    wanted = status()
    writer.changed([ID])
    await vi.waitFor(() => expect(events.map(({ reason }) => reason)).toEqual(['RefNotFound', 'Programmed']))
  })

  it('is not written when a proxy is alive again', async () => {
    const none = { status: 'False' as const, reason: 'NoProxies', message: 'no proxy is alive' }
    found = {
      uid: 'u1',
      status: status(condition('Programmed', { ...none, status: 'Unknown' }), condition('Ready', none)),
    }
    writer.changed([ID])
    await vi.waitFor(() => expect(calls).toHaveLength(1))
    found = { uid: 'u1', status: wanted }
    wanted = { ...status(), preview: 'other' }
    writer.changed([ID])
    await vi.waitFor(() => expect(calls).toHaveLength(2))
    expect(events).toEqual([])
  })

  it('reports that a resource is in force for the first time, or again after a fault', async () => {
    writer.changed([ID])
    await vi.waitFor(() => expect(events.map(({ reason }) => reason)).toEqual(['Programmed']))
    found = { uid: 'u1', status: wanted }
    wanted = status(condition('Programmed', { observedGeneration: 2 }))
    writer.changed([ID])
    await vi.waitFor(() => expect(calls).toHaveLength(2))
    expect(events).toHaveLength(1)
  })
})
