import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { secretCheckpoints } from '../../../controller/books/checkpoint-secrets.ts'
import { Checkpoints } from '../../../controller/books/checkpoints.ts'
import { connectKube } from '../../../controller/kube/client.ts'
import type { KubeClient } from '../../../controller/kube/types.ts'
import { controlPlane } from '../../harness/control-plane.ts'
import { checkpointCases } from './cases.ts'

const log = { info() {}, warn() {}, error() {} }
let kube: KubeClient
let createNamespace: () => Promise<string>

beforeAll(async () => {
  const plane = await controlPlane()
  kube = connectKube({ log, kubeconfig: plane.kubeconfig })
  createNamespace = plane.createNamespace
})
afterAll(() => kube.close())

checkpointCases('a checkpoint in Secrets', async () => {
  const namespace = await createNamespace()
  return () => secretCheckpoints(kube, namespace, 'sluice')
})

const mark = (i: number) => ({
  credited: i,
  spent: i,
  entries: i,
  last: `${i}-0`,
  credits: { 'default/c': i },
})

test('20,000 accounts are spread over all Secrets, and come back', async () => {
  const namespace = await createNamespace()
  const checkpoints = new Checkpoints(secretCheckpoints(kube, namespace, 'sluice'), log)
  expect(await checkpoints.load()).toBe(0)
  for (let i = 0; i < 20_000; i++) checkpoints.note(`account-${i}`, mark(i))
  expect(checkpoints.lagSeconds).toBeGreaterThan(0)
  await checkpoints.save(7)
  expect(checkpoints.lagSeconds).toBe(0)
  const { shards } = await secretCheckpoints(kube, namespace, 'sluice').load()
  expect(shards.filter((marks) => Object.keys(marks).length > 40)).toHaveLength(256)
  const again = new Checkpoints(secretCheckpoints(kube, namespace, 'sluice'), log)
  expect(await again.load()).toBe(7)
  for (const i of [0, 1, 9_999, 19_999]) expect(again.mark(`account-${i}`)).toEqual(mark(i))
})

test('a Secret that someone deleted is made again', async () => {
  const namespace = await createNamespace()
  const store = secretCheckpoints(kube, namespace, 'sluice')
  await store.load()
  await store.save(0, { a: mark(1) }, 1)
  await kube.request({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}/secrets/sluice-ledger-00` })
  await store.save(0, { a: mark(2) }, 1).catch(() => store.save(0, { a: mark(2) }, 1))
  expect((await secretCheckpoints(kube, namespace, 'sluice').load()).shards[0]).toEqual({ a: mark(2) })
})

test('a Secret with other content is an error, and stays', async () => {
  const namespace = await createNamespace()
  const store = secretCheckpoints(kube, namespace, 'sluice')
  await store.load()
  await store.save(0, { a: mark(1) }, 1)
  const path = `/api/v1/namespaces/${namespace}/secrets/sluice-ledger-00`
  const data = { accounts: gzipSync('{"a":{"spent":"much"}}').toString('base64') }
  const contentType = 'application/merge-patch+json'
  await kube.request({ method: 'PATCH', path, contentType, body: { data } })
  await expect(secretCheckpoints(kube, namespace, 'sluice').load()).rejects.toThrow('sluice-ledger-00')
})
