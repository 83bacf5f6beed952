import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { mustKubectl } from './kubectl.ts'
import { isFree } from './ports.ts'
import { beginning } from './state.ts'

let dir: string
let cluster: ControlPlane
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-plane-'))
  cluster = await startControlPlane({ dir })
})
afterAll(async () => {
  await cluster.stop()
  rmSync(dir, { recursive: true, force: true })
})

it('keeps its objects when the API server is killed', async () => {
  await mustKubectl(cluster.kubectl, 'create', 'configmap', 'kept', '--from-literal=a=b')
  const { apiserver } = cluster.processes
  const before = apiserver.pid
  apiserver.kill('SIGKILL')
  await apiserver.exited
  expect((await cluster.kubectl('get', 'configmap', 'kept')).status).toBe(1)
  await apiserver.restart()
  expect(apiserver.pid).not.toBe(before)
  expect(await mustKubectl(cluster.kubectl, 'get', 'cm', 'kept', '-o', 'jsonpath={.data.a}')).toBe('b')
})

it('passes input to kubectl, and reports its output', async () => {
  const input = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: piped}\ndata: {a: b}\n'
  expect(await cluster.kubectl('apply', '-f', '-', { input })).toMatchObject({ status: 0, stderr: '' })
  const missing = await cluster.kubectl('get', 'configmap', 'never')
  expect(missing).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('not found') })
})

it('starts again from its folder, and leaves no process when it stops', async () => {
  const pids = Object.values(cluster.processes).map(({ pid }) => pid)
  await cluster.stop()
  expect(pids.map(beginning)).toEqual(pids.map(() => undefined))
  expect(await isFree(cluster.ports.apiserver)).toBe(true)
  cluster = await startControlPlane({ dir, ports: cluster.ports })
  expect((await cluster.kubectl('get', 'configmap', 'kept')).status).toBe(0)
})
