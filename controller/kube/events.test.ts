import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { until } from '../../test/harness/gateway.ts'
import { type EventRecord, EventRecorder } from './events.ts'
import { type KubeCall, type KubeClient, KubeError } from './types.ts'

const sent = z.object({ metadata: z.object({ name: z.string() }), note: z.string() })
const MINUTE_MS = 60_000
const regarding = {
  apiVersion: 'sluice.dev/v1alpha1',
  kind: 'ApiKey',
  namespace: 'team',
  name: 'app',
  uid: 'uid-1',
}
const record: EventRecord = {
  regarding,
  type: 'Normal',
  reason: 'KeyCreated',
  action: 'CreateSecret',
  note: 'made',
}

function recorder(fail: (call: KubeCall) => void = () => {}) {
  const calls: KubeCall[] = []
  const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() }
  const client: KubeClient = {
    close: async () => {},
    async *stream() {},
    request: async (call) => {
      calls.push(call)
      await new Promise(setImmediate)
      fail(call)
    },
  }
  const clock = { now: 1_000 }
  const events = new EventRecorder({ client, instance: 'controller-1', log, now: () => clock.now })
  return { events, calls, clock, log }
}

test('an event has its object, reason, action and note', async () => {
  const { events, calls } = recorder()
  events.record(record)
  await until(() => calls.length === 1, 'the event')
  expect(calls[0]).toMatchObject({
    method: 'POST',
    path: '/apis/events.k8s.io/v1/namespaces/team/events',
    body: {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: expect.stringMatching(/^app\.[0-9a-f]{16}$/), namespace: 'team' },
      eventTime: expect.stringMatching(/\.\d{6}Z$/),
      reportingController: 'sluice.dev/controller',
      reportingInstance: 'controller-1',
      type: 'Normal',
      reason: 'KeyCreated',
      action: 'CreateSecret',
      note: 'made',
      regarding,
    },
  })
})

test('a repeat within ten minutes raises the count; later, or with another text, it is another event', async () => {
  const { events, calls, clock } = recorder()
  const next = async () => {
    const { length } = calls
    events.record(record)
    await until(() => calls.length > length, 'the write')
    await new Promise(setImmediate)
    return calls.at(-1)
  }
  const first = await next()
  clock.now += 9 * MINUTE_MS
  expect(await next()).toMatchObject({ method: 'PATCH', body: { series: { count: 2 } } })
  clock.now += 9 * MINUTE_MS
  const third = await next()
  expect(third).toMatchObject({ method: 'PATCH', body: { series: { count: 3 } } })
  expect(third?.contentType).toBe('application/merge-patch+json')
  expect(third?.path).toBe(`${first?.path}/${sent.parse(first?.body).metadata.name}`)
  clock.now += 11 * MINUTE_MS
  expect(await next()).toMatchObject({ method: 'POST' })
  events.record({ ...record, note: 'other' })
  await until(() => calls.length === 5, 'the other event')
  expect(calls[4]).toMatchObject({ method: 'POST', body: { note: 'other' } })
})

test('an object has 25 events at once and then one per five minutes, without delaying others', async () => {
  const { events, calls, clock } = recorder()
  for (let i = 0; i < 40; i++) events.record({ ...record, note: `note ${i}` })
  events.record({ ...record, regarding: { ...regarding, uid: 'uid-2' } })
  await until(() => calls.length === 26, 'the events')
  clock.now += 5 * MINUTE_MS
  events.record({ ...record, note: 'one more' })
  events.record({ ...record, note: 'too many' })
  events.record({ ...record, regarding: { ...regarding, uid: 'uid-2' }, note: 'last' })
  await until(() => calls.length === 28, 'the events')
  expect(calls.slice(26)).toMatchObject([{ body: { note: 'one more' } }, { body: { note: 'last' } }])
})

test('a repeat of an event that the server has removed creates it again', async () => {
  const { events, calls } = recorder(({ method }) => {
    if (method === 'PATCH') throw new KubeError('not found', 404)
  })
  events.record(record)
  await until(() => calls.length === 1, 'the event')
  await new Promise(setImmediate)
  events.record(record)
  await until(() => calls.length === 3, 'the event anew')
  expect(calls.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'POST'])
})

test('a failure is logged and delays nothing; the queue is bounded', async () => {
  const { events, calls, log } = recorder(() => {
    throw new KubeError('forbidden', 403)
  })
  for (let i = 0; i < 1_500; i++) events.record({ ...record, regarding: { ...regarding, uid: `uid-${i}` } })
  await until(() => log.warn.mock.calls.length >= 1_000, 'the failures')
  // The first one is being written when the queue fills.
  expect(calls.length).toBeLessThanOrEqual(1_001)
  await events.stop()
  events.record(record)
  expect(calls.length).toBeLessThanOrEqual(1_001)
})

test('a long name and a long note are cut, the note between characters', async () => {
  const { events, calls } = recorder()
  events.record({
    ...record,
    regarding: { ...regarding, name: 'n'.repeat(253) },
    note: `a${'€'.repeat(600)}`,
  })
  await until(() => calls.length === 1, 'the event')
  const { metadata, note } = sent.parse(calls[0]?.body)
  expect(metadata.name).toHaveLength(253)
  expect(note).toBe(`a${'€'.repeat(341)}`)
  expect(Buffer.byteLength(note)).toBe(1_024)
})
