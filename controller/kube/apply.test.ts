import { expect, test } from 'vitest'
import { applyStatus } from './apply.ts'
import { type KubeCall, type KubeClient, KubeError } from './types.ts'

const target = { apiVersion: 'test.dev/v1', kind: 'Thing', namespace: 'tests', name: 'a', path: '/things/a' }

function answering(status: number) {
  const calls: KubeCall[] = []
  const client: KubeClient = {
    close: async () => {},
    async *stream() {},
    request: async (call) => {
      calls.push(call)
      if (status !== 200) throw new KubeError('refused', status)
    },
  }
  return { client, calls }
}

test('a status is applied separately, with force', async () => {
  const { client, calls } = answering(200)
  expect(await applyStatus(client, target, { ready: true }, 'manager')).toBe('applied')
  expect(calls).toEqual([
    {
      method: 'PATCH',
      path: '/things/a/status',
      query: { fieldManager: 'manager', force: 'true' },
      contentType: 'application/apply-patch+yaml',
      body: {
        apiVersion: 'test.dev/v1',
        kind: 'Thing',
        metadata: { namespace: 'tests', name: 'a' },
        status: { ready: true },
      },
    },
  ])
})

test('a missing object is not a failure; anything else is', async () => {
  expect(await applyStatus(answering(404).client, target, {}, 'manager')).toBe('gone')
  await expect(applyStatus(answering(409).client, target, {}, 'manager')).rejects.toThrow(KubeError)
  await expect(applyStatus(answering(500).client, target, {}, 'manager')).rejects.toThrow(KubeError)
})
