import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { keyHash } from '../contract/ids.ts'
import type { Store } from '../store/contract.ts'
import { createEmbeddedStore } from '../store/embedded/index.ts'
import { type Controller, startController } from './main.ts'

const KEY = 'sk-test-0123456789-abcdefgh'
const RESOURCES = `
apiVersion: v1
kind: Secret
metadata: { name: client }
stringData: { key: "\${CLIENT_KEY}" }
---
apiVersion: sluice.dev/v1alpha1
kind: ApiKey
metadata: { name: alice }
spec: { secretRef: { name: client }, accountRef: { name: team } }
---
apiVersion: sluice.dev/v1alpha1
kind: Account
metadata: { name: team }
spec: {}
---
apiVersion: sluice.dev/v1alpha1
kind: Credit
metadata: { name: start }
spec: { accountRef: { name: team }, amount: "5" }
---
apiVersion: sluice.dev/v1alpha1
kind: Channel
metadata: { name: local }
spec: { type: chat_completion, baseURL: "http://127.0.0.1:9/v1" }
---
apiVersion: sluice.dev/v1alpha1
kind: ModelRoute
metadata: { name: small }
spec: { model: small, channels: [{ name: local }], price: { input: "1", output: "2" } }
`

let dir: string
let store: Store
let controller: Controller | undefined

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-controller-'))
  store = createEmbeddedStore()
})

afterEach(async () => {
  await controller?.stop()
  controller = undefined
  await store.close()
  await rm(dir, { recursive: true, force: true })
})

async function start(now = Date.now): Promise<Controller> {
  const log = pino({ level: 'silent' })
  const env = { CLIENT_KEY: KEY }
  controller = await startController({ store, dir, namespace: 'default', env, log, now })
  await controller.ready
  return controller
}

describe('the controller', () => {
  it('publishes a folder and reports every resource ready', async () => {
    await writeFile(join(dir, 'all.yaml'), RESOURCES)
    const { statuses, snapshot, problems } = await start()
    expect(problems()).toEqual([])
    expect(snapshot().apiKeys).toHaveLength(1)
    const record = await store.config.key(keyHash(KEY))
    expect(record).toMatchObject({ name: 'alice', preview: '...efgh' })
    expect((await store.ledger.balance(record?.account ?? ''))?.posted).toBe(5_000_000_000)
    const table = await store.config.table()
    expect(table?.table.namespaces.default?.routes.map(({ model }) => model)).toEqual(['small'])
    await store.config.beat({ proxy: 'p', epoch: 1, generation: table?.generation ?? 0 })
    const listed = await statuses()
    expect(listed.map(({ kind, name }) => `${kind}/${name}`)).toEqual([
      'ApiKey/alice',
      'Account/team',
      'Credit/start',
      'Channel/local',
      'ModelRoute/small',
    ])
    for (const { status } of listed)
      expect(status.conditions.find(({ type }) => type === 'Ready')).toMatchObject({ status: 'True' })
  })

  it('publishes an edit, and keeps the last good version when an edit is broken', async () => {
    await writeFile(join(dir, 'all.yaml'), RESOURCES)
    const { problems } = await start()
    await writeFile(join(dir, 'all.yaml'), RESOURCES.replace('model: small', 'model: tiny'))
    const models = async () =>
      (await store.config.table())?.table.namespaces.default?.routes.map((r) => r.model)
    await vi.waitFor(async () => expect(await models()).toEqual(['tiny']))
    await writeFile(join(dir, 'all.yaml'), RESOURCES.replace('model: small', 'model: 7'))
    await vi.waitFor(() => expect(problems()).toMatchObject([{ subject: 'ModelRoute/small' }]))
    expect(await models()).toEqual(['tiny'])
  })

  it('revokes a deleted key', async () => {
    await writeFile(join(dir, 'all.yaml'), RESOURCES)
    await start()
    await writeFile(join(dir, 'all.yaml'), RESOURCES.replace(/---\n[^-]*kind: ApiKey[^-]*/, ''))
    await vi.waitFor(async () => expect(await store.config.key(keyHash(KEY))).toBeUndefined())
  })

  it('revokes a key when it expires, without an edit', async () => {
    const expiresAt = '2040-01-01T00:00:00Z'
    let now = Date.parse(expiresAt) - 1
    await writeFile(
      join(dir, 'all.yaml'),
      RESOURCES.replace('accountRef:', `expiresAt: "${expiresAt}", accountRef:`),
    )
    const { statuses } = await start(() => now)
    expect(await store.config.key(keyHash(KEY))).toMatchObject({ name: 'alice' })
    now++
    await vi.waitFor(async () => expect(await store.config.key(keyHash(KEY))).toBeUndefined(), 5_000)
    const alice = (await statuses()).find(({ kind }) => kind === 'ApiKey')
    for (const type of ['Accepted', 'Ready'])
      expect(alice?.status.conditions.find((condition) => condition.type === type)).toMatchObject({
        status: 'False',
        reason: 'Expired',
      })
  })

  it('revokes one key of several at its notAfter and keeps the other', async () => {
    const notAfter = '2040-01-01T00:00:00Z'
    let now = Date.parse(notAfter) - 1
    const next = `---
apiVersion: v1
kind: Secret
metadata: { name: next }
stringData: { key: "\${CLIENT_KEY}-next" }
`
    const refs = `secretRefs: [{ name: client, notAfter: "${notAfter}" }, { name: next }]`
    await writeFile(join(dir, 'all.yaml'), RESOURCES.replace('secretRef: { name: client }', refs) + next)
    await start(() => now)
    expect(await store.config.key(keyHash(KEY))).toMatchObject({ expiresAt: Date.parse(notAfter) })
    now++
    await vi.waitFor(async () => expect(await store.config.key(keyHash(KEY))).toBeUndefined(), 5_000)
    expect(await store.config.key(keyHash(`${KEY}-next`))).toMatchObject({ name: 'alice' })
  })

  it('refuses a folder that does not exist', async () => {
    dir = join(dir, 'missing')
    await expect(start()).rejects.toThrow('SLUICE_CONFIG_DIR')
  })

  it('is not ready when another controller has taken over', async () => {
    const { config } = store
    store = { ...store, config: { ...config, publish: async () => 'fenced' } }
    await writeFile(join(dir, 'all.yaml'), RESOURCES)
    await expect(start()).rejects.toThrow('another controller')
  })
})
