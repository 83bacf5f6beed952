import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { hasValidChecksum, isMintedFormat } from '../../contract/key-format.ts'
import { type KubeCall, type KubeClient, KubeError } from '../kube/types.ts'
import { KeyMinter } from './minter.ts'

const alice = { namespace: 'default', name: 'alice', uid: 'u1', secretName: 'alice-key', again: false }
const body = z.object({ data: z.object({ key: z.string() }) })

let calls: KubeCall[]
let failures: Error[]
let events: string[]
let notes: string[]
let minter: KeyMinter

const client: KubeClient = {
  async request(call) {
    calls.push(call)
    const failure = failures.shift()
    if (failure !== undefined) throw failure
    return {}
  },
  async *stream() {},
  async close() {},
}

beforeEach(() => {
  calls = []
  failures = []
  events = []
  notes = []
  const note = (fields: object, message: string) => notes.push(`${JSON.stringify(fields)} ${message}`)
  const record = (event: { type: string; reason: string; note: string }) => {
    events.push(`${event.type} ${event.reason}`)
    notes.push(event.note)
  }
  const log = { info: note, warn: note, error: note }
  minter = new KeyMinter({ client, labels: { team: 'llm' }, events: { record }, log })
})

afterEach(() => minter.stop())

describe('the Secret of an ApiKey', () => {
  it('is created once, with an owner and a key in our format that appears nowhere else', async () => {
    minter.want([alice])
    minter.want([alice])
    await vi.waitFor(() => expect(events).toEqual(['Normal KeyCreated']))
    minter.want([alice])
    await minter.stop()
    expect(calls).toHaveLength(1)
    expect(calls[0]).toMatchObject({ method: 'POST', path: '/api/v1/namespaces/default/secrets' })
    expect(calls[0]?.body).toMatchObject({
      metadata: {
        name: 'alice-key',
        labels: { 'app.kubernetes.io/managed-by': 'sluice', 'sluice.dev/secret': 'true', team: 'llm' },
        ownerReferences: [
          {
            apiVersion: 'sluice.dev/v1alpha1',
            kind: 'ApiKey',
            name: 'alice',
            uid: 'u1',
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
    })
    const key = Buffer.from(body.parse(calls[0]?.body).data.key, 'base64').toString()
    expect(isMintedFormat(key) && hasValidChecksum(key)).toBe(true)
    expect(notes.join()).not.toContain(key)
  })

  it('is left alone if it has another owner', async () => {
    failures = [new KubeError('exists', 409)]
    minter.want([alice])
    await vi.waitFor(() => expect(calls).toHaveLength(1))
    await minter.stop()
    expect(events).toEqual([])
  })

  it('is retried when the API server fails, and reported as replaced if there was one before', async () => {
    failures = [new KubeError('no answer', 0)]
    minter.want([{ ...alice, again: true }])
    await vi.waitFor(() => expect(events).toEqual(['Warning KeyReplaced']))
    expect(calls).toHaveLength(2)
  })

  it('is not created when it is no longer wanted', async () => {
    failures = [new KubeError('no answer', 0)]
    minter.want([alice])
    await vi.waitFor(() => expect(calls).toHaveLength(1))
    minter.want([])
    minter.want([{ ...alice, name: 'bob', secretName: 'bob-key' }])
    await vi.waitFor(() => expect(calls).toHaveLength(2))
    expect(calls[1]?.body).toMatchObject({ metadata: { name: 'bob-key' } })
  })
})
