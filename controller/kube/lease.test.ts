import { afterEach, expect, test, vi } from 'vitest'
import { until } from '../../test/harness/gateway.ts'
import { Elector, type ElectorOptions } from './lease.ts'
import { type KubeCall, type KubeClient, KubeError } from './types.ts'

const LEASE_MS = 1_000
const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() }

interface Lease {
  metadata: { name: string; resourceVersion: string; annotations?: Record<string, string> }
  spec: {
    holderIdentity?: string
    renewTime?: string
    leaseTransitions?: number
    leaseDurationSeconds?: number
  }
}

/** The Leases of an API server. */
class Leases {
  lease: Lease | undefined
  writes = 0
  #version = 0

  /** A client for one process; `before` and `after` may fail a call before or after its effect. */
  client(
    before: (call: KubeCall) => void = () => {},
    after: (call: KubeCall) => void = () => {},
  ): KubeClient {
    return {
      close: async () => {},
      async *stream() {},
      request: async (call) => {
        await new Promise(setImmediate)
        before(call)
        const answer = this.#answer(call)
        after(call)
        return answer
      },
    }
  }

  #answer({ method = 'GET', body }: KubeCall): Lease {
    const sent = body === undefined ? undefined : (JSON.parse(JSON.stringify(body)) as Lease)
    if (method === 'POST' && this.lease !== undefined) throw new KubeError('exists', 409)
    if (method !== 'POST' && this.lease === undefined) throw new KubeError('not found', 404)
    if (method === 'PUT' && sent?.metadata.resourceVersion !== this.lease?.metadata.resourceVersion)
      throw new KubeError('conflict', 409)
    if (sent !== undefined) this.write(sent)
    if (this.lease === undefined) throw new Error('no lease')
    return structuredClone(this.lease)
  }

  write(lease: Lease): void {
    this.writes++
    this.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(++this.#version) } }
  }

  /** Like another process that takes the Lease by force. */
  steal(): void {
    if (this.lease === undefined) throw new Error('no lease')
    const spec = { ...this.lease.spec, holderIdentity: 'thief', renewTime: '2030-01-01T00:00:00.000000Z' }
    this.write({ ...this.lease, spec })
  }
}

const electors: Elector[] = []
afterEach(async () => {
  await Promise.all(electors.splice(0).map((elector) => elector.release()))
  vi.clearAllMocks()
})

function stand(client: KubeClient, identity: string, more: Partial<ElectorOptions> = {}) {
  const terms: AbortSignal[] = []
  const elector = new Elector({
    client,
    namespace: 'tests',
    name: 'controller',
    identity,
    leaseMs: LEASE_MS,
    log,
    onLeading: (term) => void terms.push(term),
    ...more,
  })
  electors.push(elector)
  const state: { ended?: string; leading: () => boolean; terms: AbortSignal[]; elector: Elector } = {
    leading: () => terms.some((term) => !term.aborted),
    terms,
    elector,
  }
  void elector.run().then((ended) => {
    state.ended = ended
  })
  return state
}

test('one leads and renews; when it stops the other leads at once', async () => {
  const leases = new Leases()
  const a = stand(leases.client(), 'a')
  await until(a.leading, 'a to lead')
  const b = stand(leases.client(), 'b')
  const { writes } = leases
  await until(() => leases.writes > writes + 10, 'renewals beyond the length of the lease')
  expect(b.leading()).toBe(false)
  expect(leases.lease?.spec).toMatchObject({
    holderIdentity: 'a',
    leaseDurationSeconds: 1,
    leaseTransitions: 0,
  })
  expect(leases.lease?.spec.renewTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)

  const from = performance.now()
  await a.elector.release()
  expect(a.ended).toBe('stopped')
  expect(a.leading()).toBe(false)
  await until(b.leading, 'b to lead')
  expect(performance.now() - from).toBeLessThan(LEASE_MS)
  expect(leases.lease?.spec.leaseTransitions).toBe(1)
})

test('a holder that does not renew loses the Lease after its length on the clock of the others', async () => {
  const leases = new Leases()
  // Its renewTime is far in the future, which does not matter.
  const spec = {
    holderIdentity: 'dead',
    renewTime: '2099-01-01T00:00:00.000000Z',
    leaseDurationSeconds: 1,
    leaseTransitions: 7,
  }
  leases.write({ metadata: { name: 'controller', resourceVersion: '', annotations: { kept: 'yes' } }, spec })
  const from = performance.now()
  const a = stand(leases.client(), 'a')
  await until(a.leading, 'a to lead')
  const tookMs = performance.now() - from
  expect(tookMs).toBeGreaterThan(LEASE_MS)
  expect(leases.lease?.spec.leaseTransitions).toBe(8)
  expect(leases.lease?.metadata.annotations).toEqual({ kept: 'yes' })
})

test('a Lease with our name belongs to another process, unless this one wrote it', async () => {
  const leases = new Leases()
  const spec = { holderIdentity: 'a', renewTime: '2026-01-01T00:00:00.000000Z', leaseDurationSeconds: 1 }
  leases.write({ metadata: { name: 'controller', resourceVersion: '' }, spec })
  let clock = 0
  let reads = 0
  const client = leases.client(({ method = 'GET' }) => {
    if (method === 'GET') reads++
  })
  const a = stand(client, 'a', { now: () => clock })
  await until(() => reads > 3, 'some looks')
  expect(a.leading()).toBe(false)
  clock = 1_001
  await until(a.leading, 'a to lead')
})

test('a write whose answer was lost is recognised', async () => {
  const leases = new Leases()
  let lost = 0
  const client = leases.client(undefined, ({ method = 'GET' }) => {
    // The first two writes, and one in the middle, arrive without an answer.
    if (method !== 'GET' && [1, 2, 5].includes(leases.writes) && ++lost > 0)
      throw new KubeError('no answer', 0)
  })
  const a = stand(client, 'a')
  await until(() => leases.writes > 8, 'renewals')
  expect(lost).toBeGreaterThanOrEqual(2)
  expect(a.ended).toBeUndefined()
  expect(a.terms).toHaveLength(1)
  expect(leases.lease?.spec.leaseTransitions).toBe(0)
})

test('a Lease with another holder, or without one, is lost', async () => {
  const leases = new Leases()
  const a = stand(leases.client(), 'a')
  await until(a.leading, 'a to lead')
  leases.steal()
  await until(() => a.ended, 'the end')
  expect(a.ended).toBe('lost')
  expect(a.leading()).toBe(false)
  expect(leases.lease?.spec.holderIdentity).toBe('thief')

  leases.lease = undefined
  const b = stand(leases.client(), 'b')
  await until(b.leading, 'b to lead')
  leases.lease = undefined
  await until(() => b.ended, 'the end')
  expect(b.ended).toBe('lost')
})

test('a leader that cannot renew stops before others may lead', async () => {
  const leases = new Leases()
  let away = false
  const a = stand(
    leases.client(() => {
      if (away) throw new KubeError('no answer', 0)
    }),
    'a',
  )
  await until(a.leading, 'a to lead')
  const b = stand(leases.client(), 'b')
  away = true
  await until(() => a.ended, 'the end')
  expect(a.ended).toBe('lost')
  expect(b.leading()).toBe(false)
  await until(b.leading, 'b to lead')
  expect(log.warn).toHaveBeenCalledTimes(1)
})

test('a leader that was paused stops when it wakes', async () => {
  const leases = new Leases()
  let clock = 0
  const a = stand(leases.client(), 'a', { now: () => clock })
  await until(a.leading, 'a to lead')
  clock = 60_000
  await until(() => a.ended, 'the end')
  expect(a.ended).toBe('lost')
})

test('a leader that stood still renews its Lease if that has not ended', async () => {
  const leases = new Leases()
  let clock = 0
  const a = stand(leases.client(), 'a', { now: () => clock })
  await until(a.leading, 'a to lead')
  for (let stall = 1; stall <= 3; stall++) {
    const { writes } = leases
    clock += LEASE_MS * 0.9
    await until(() => leases.writes > writes || a.ended !== undefined, 'a renewal')
  }
  expect(a.ended).toBeUndefined()
  expect(a.terms).toHaveLength(1)
})

test('of two simultaneous candidates, one leads', async () => {
  const leases = new Leases()
  const both = [stand(leases.client(), 'a'), stand(leases.client(), 'b')]
  await until(() => leases.writes > 5, 'renewals')
  expect(both.filter((each) => each.leading())).toHaveLength(1)
})

test('a candidate that is released before it leads never leads and leaves no holder', async () => {
  const leases = new Leases()
  const stopping: { stop: () => void } = { stop: () => {} }
  const a = stand(
    leases.client(undefined, ({ method }) => {
      if (method === 'POST') stopping.stop()
    }),
    'a',
  )
  stopping.stop = () => void a.elector.release()
  await until(() => a.ended, 'the end')
  expect(a.ended).toBe('stopped')
  expect(a.terms).toEqual([])
  expect(leases.lease?.spec.holderIdentity).toBeUndefined()

  leases.steal()
  const b = stand(leases.client(), 'b')
  await b.elector.release()
  expect(leases.lease?.spec.holderIdentity).toBe('thief')
})
