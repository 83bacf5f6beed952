/** An API server that is killed and returns. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { connectKube } from '../../../controller/kube/client.ts'
import { Reflector } from '../../../controller/kube/reflector.ts'
import type { KubeClient } from '../../../controller/kube/types.ts'
import { type ControlPlane, startControlPlane } from '../../../tools/cluster/control-plane.ts'
import { until } from '../../harness/gateway.ts'

const log = { info: () => {}, warn: () => {}, error: () => {} }
const dir = mkdtempSync(join(tmpdir(), 'sluice-outage-'))
const MAPS = '/api/v1/namespaces/default/configmaps'
let plane: ControlPlane | undefined
let client: KubeClient | undefined

beforeAll(async () => {
  plane = await startControlPlane({ dir })
}, 120_000)
afterAll(async () => {
  await client?.close()
  await plane?.stop()
  rmSync(dir, { recursive: true, force: true })
})

test('kill -9 of the API server: nothing is lost or reported twice, and later changes arrive', async () => {
  if (plane === undefined) throw new Error('no control plane')
  const { kubeconfig, processes } = plane
  const kube = connectKube({ log, kubeconfig })
  client = kube
  const put = (name: string, value: string) =>
    kube.request({
      method: 'PATCH',
      path: `${MAPS}/${name}`,
      query: { fieldManager: 'test', force: 'true' },
      contentType: 'application/apply-patch+yaml',
      body: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, labels: { test: 'outage' } },
        data: { value },
      },
      timeoutMs: 30_000,
    })
  await Promise.all(Array.from({ length: 50 }, (_, i) => put(`map-${i}`, 'old')))
  const reported: string[] = []
  const reflector = new Reflector<string>({
    client: kube,
    path: MAPS,
    labelSelector: 'test=outage',
    log,
    keep: (object) => z.object({ value: z.string() }).parse(object.data).value,
    changed: (changes) => {
      for (const change of changes)
        reported.push(`${change.type} ${change.key} ${change.type === 'put' ? change.object : ''}`)
    },
  })
  reflector.start()
  await reflector.synced
  expect(reported.splice(0)).toHaveLength(50)

  processes.apiserver.kill('SIGKILL')
  await processes.apiserver.exited
  await expect(put('map-0', 'not now')).rejects.toMatchObject({ status: 0 })
  expect(reflector.size).toBe(50)
  await processes.apiserver.restart()
  await until(
    () =>
      put('map-1', 'new').then(
        () => true,
        () => false,
      ),
    'a write',
  )
  await kube.request({ method: 'DELETE', path: `${MAPS}/map-2` })
  await until(() => reported.length >= 2, 'the changes', 60_000)
  await put('map-3', 'newer')
  await until(() => reported.length >= 3, 'a later change')
  expect(reported).toHaveLength(3)
  expect(reported.slice(0, 2).sort()).toEqual(['put default/map-1 new', 'removed default/map-2 '])
  expect(reported[2]).toBe('put default/map-3 newer')
  expect(reflector.size).toBe(49)
  await reflector.stop()
}, 180_000)
