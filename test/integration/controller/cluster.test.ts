/** The controller against a real API server: it publishes what is applied and reports that in the status. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { keyHash, objectId } from '../../../contract/ids.ts'
import { hasValidChecksum, isMintedFormat } from '../../../contract/key-format.ts'
import type { Store } from '../../../store/contract.ts'
import { createEmbeddedStore } from '../../../store/embedded/index.ts'
import { controlPlane } from '../../harness/control-plane.ts'
import { until } from '../../harness/gateway.ts'
import { createWorld, type World } from './world.ts'

const KEY = 'sk-client-0123456789-abcdefgh'
let world: World
let store: Store

beforeEach(async () => {
  world = await createWorld()
  store = createEmbeddedStore()
})

afterEach(async () => {
  await world.end()
  await store.close()
})

const team = () => objectId(world.namespace, 'team')
const table = async () => (await store.config.table())?.table.namespaces[world.namespace]
const leads = (controller: { leading(): boolean }) =>
  until(() => controller.leading(), 'the controller to lead')

async function applyAll(): Promise<void> {
  await world.secret('client', { key: KEY })
  await world.secret('upstream', { key: 'upstream-one' })
  await world.apply('Account', 'team', {})
  await world.apply('Credit', 'start', { accountRef: { name: 'team' }, amount: '5' })
  await world.apply('Channel', 'local', {
    type: 'chat_completion',
    baseURL: 'http://127.0.0.1:9/v1',
    secretRef: { name: 'upstream' },
  })
  await world.apply('ModelRoute', 'small', { model: 'small', channels: [{ name: 'local' }], free: true })
  await world.apply('ApiKey', 'alice', { secretRef: { name: 'client' }, accountRef: { name: 'team' } })
}

const ALL = [
  ['Account', 'team'],
  ['Credit', 'start'],
  ['Channel', 'local'],
  ['ModelRoute', 'small'],
  ['ApiKey', 'alice'],
] as const

describe('an applied resource', () => {
  it('is published and reported Ready, each kind', async () => {
    world.proxy(store)
    const controller = world.start({ store, instance: 'one' })
    await leads(controller)
    await applyAll()
    for (const [kind, name] of ALL) await world.becomes(kind, name, 'Ready', 'True Ready')
    expect(await store.config.key(keyHash(KEY))).toMatchObject({ name: 'alice', account: team() })
    expect((await store.ledger.balance(team()))?.posted).toBe(5_000_000_000)
    expect((await table())?.channels.local?.auth.secret).toBe('upstream-one')
    expect((await table())?.routes.map(({ model }) => model)).toEqual(['small'])
    expect((await world.get('ApiKey', 'alice')).status).toMatchObject({
      preview: '...efgh',
      secretName: 'client',
    })
    await until(
      async () => (await world.get('Account', 'team')).status.credited === '5',
      'the funds of the account',
    )
    expect((await world.get('Account', 'team')).status).toMatchObject({ balance: '5', spent: '0' })
    expect((await world.get('Credit', 'start')).status.appliedAt).toMatch(/^20/)
    await until(async () => (await world.events('alice')).includes('Normal Programmed'), 'an event')
    expect(controller.notReady()).toBeUndefined()
    expect(await controller.metrics.registry.metrics()).toContain('sluice_controller_leader 1')
  })

  it('is in the store at once, and Programmed once the proxies serve it', async () => {
    world.proxy(store)
    await leads(world.start({ store, instance: 'one' }))
    await applyAll()
    await world.becomes('ModelRoute', 'small', 'Ready', 'True Ready')
    for (let i = 0; i < 10; i++) {
      await world.apply('ModelRoute', 'small', { model: `m${i}`, channels: [{ name: 'local' }], free: true })
      await world.becomes('ModelRoute', 'small', 'Programmed', 'True Programmed')
      expect((await table())?.routes.map(({ model }) => model)).toEqual([`m${i}`])
    }
  })

  it('is published beside broken ones, whose statuses say why they are not', async () => {
    world.proxy(store)
    await leads(world.start({ store, instance: 'one' }))
    await world.apply('Account', 'budgeted', { budget: { amount: '5', timeZone: 'Mars' } })
    await world.apply('ApiKey', 'astray', { secretRef: { name: 'nowhere' } })
    await applyAll()
    await world.becomes('ApiKey', 'alice', 'Ready', 'True Ready')
    await world.becomes('Account', 'budgeted', 'Accepted', 'False Invalid')
    await world.becomes('ApiKey', 'astray', 'ResolvedRefs', 'False RefNotFound')
    await until(async () => (await world.events('astray')).includes('Warning RefNotFound'), 'an event')
  })

  it('is published from each of several watched namespaces', async () => {
    const { createNamespace } = await controlPlane()
    const namespaces = await Promise.all([createNamespace(), createNamespace(), createNamespace()])
    await leads(world.start({ store, instance: 'one', namespaces }))
    await world.apply('ApiKey', 'alice', { hashes: [keyHash(KEY)] })
    await until(() => store.config.key(keyHash(KEY)), 'the key')
  })

  it('is withdrawn when it is deleted', async () => {
    await leads(world.start({ store, instance: 'one' }))
    await applyAll()
    await until(() => store.config.key(keyHash(KEY)), 'the key')
    await world.remove('ApiKey', 'alice')
    await until(async () => (await store.config.key(keyHash(KEY))) === undefined, 'the key to go')
  })
})

describe('a Secret', () => {
  it('when rotated reaches the store', async () => {
    await leads(world.start({ store, instance: 'one' }))
    await applyAll()
    const secret = async () => (await table())?.channels.local?.auth.secret
    await until(async () => (await secret()) === 'upstream-one', 'the first secret')
    await world.secret('upstream', { key: 'upstream-two' })
    await until(async () => (await secret()) === 'upstream-two', 'the second secret')
  })

  it('is created once for an ApiKey that names none, and again after a deletion', async () => {
    world.proxy(store)
    await leads(world.start({ store, instance: 'one' }))
    const path = `/api/v1/namespaces/${world.namespace}/secrets/bob-key`
    const secret = z.object({ metadata: z.object({ uid: z.string() }), data: z.object({ key: z.string() }) })
    const read = async () => {
      const { metadata, data } = secret.parse(await world.kube.request({ path }))
      return { uid: metadata.uid, key: Buffer.from(data.key, 'base64').toString() }
    }
    await world.apply('ApiKey', 'bob', {})
    const ready = await world.becomes('ApiKey', 'bob', 'Ready', 'True Ready')
    const first = await read()
    expect(isMintedFormat(first.key) && hasValidChecksum(first.key)).toBe(true)
    expect(ready.status).toMatchObject({ secretName: 'bob-key', preview: `...${first.key.slice(-4)}` })
    expect(await store.config.key(keyHash(first.key))).toMatchObject({ name: 'bob' })
    await world.apply('ApiKey', 'bob', { disabled: true })
    await world.becomes('ApiKey', 'bob', 'Accepted', 'True Disabled')
    expect(await read()).toEqual(first)
    await world.kube.request({ method: 'DELETE', path })
    const second = await until(async () => {
      const now = await read().catch(() => undefined)
      return now !== undefined && now.uid !== first.uid ? now : undefined
    }, 'another Secret')
    await until(() => store.config.key(keyHash(second.key)), 'the new key')
    expect(await store.config.key(keyHash(first.key))).toBeUndefined()
    await until(async () => (await world.events('bob')).includes('Warning KeyReplaced'), 'an event')
  })

  it('of another owner is not touched', async () => {
    world.proxy(store)
    await leads(world.start({ store, instance: 'one' }))
    await world.secret('carol-key', { key: 'sk-of-carol-0123456789' })
    await world.apply('ApiKey', 'carol', {})
    await world.becomes('ApiKey', 'carol', 'ResolvedRefs', 'False Conflicted')
    expect((await store.config.manifest()).keys.size).toBe(0)
  })
})

describe('a controller that restarts', () => {
  it('writes nothing if nothing changed', async () => {
    const { publish } = store.config
    let publications = 0
    store.config.publish = async (publication) => {
      publications++
      return publish(publication)
    }
    world.proxy(store)
    const first = world.start({ store, instance: 'one' })
    await leads(first)
    await applyAll()
    await world.apply('ApiKey', 'bob', {})
    await world.apply('ApiKey', 'astray', { secretRef: { name: 'nowhere' } })
    for (const [kind, name] of ALL) await world.becomes(kind, name, 'Ready', 'True Ready')
    await world.becomes('ApiKey', 'bob', 'Ready', 'True Ready')
    await world.becomes('ApiKey', 'astray', 'Ready', 'False RefNotFound')
    await until(async () => (await world.get('Account', 'team')).status.credited === '5', 'funds')
    await first.stop()
    const versions = async () => {
      const all = await Promise.all(
        (['ApiKey', 'Account', 'Credit', 'Channel', 'ModelRoute'] as const).map((kind) => world.list(kind)),
      )
      return all.flat().map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
    }
    const before = { versions: await versions(), generation: (await store.config.position()).generation }
    const epoch = (await store.config.position()).epoch
    publications = 0

    const second = world.start({ store, instance: 'two' })
    await leads(second)
    // Written after everything that the restart would write.
    await until(async () => (await store.config.position()).epoch > epoch, 'a new epoch')
    await until(
      async () =>
        /sluice_publications_total\{result="unchanged"\} 1/.test(await second.metrics.registry.metrics()),
      'the first comparison',
    )
    await world.apply('Channel', 'marker', { type: 'chat_completion', baseURL: 'http://127.0.0.1:9/v1' })
    await world.becomes('Channel', 'marker', 'Ready', 'True Ready')
    const after = (await versions()).filter((version) => !version.startsWith('marker '))
    expect(after).toEqual(before.versions)
    expect(publications).toBe(1)
    expect((await store.config.position()).generation).toBeGreaterThan(before.generation)
  })
})

describe('two controllers', () => {
  it('take turns: the standby leads at once when the leader stops', async () => {
    const one = world.start({ store, instance: 'one' })
    await leads(one)
    const two = world.start({ store, instance: 'two' })
    await until(() => two.notReady() === undefined, 'the second to stand by')
    expect(two.leading()).toBe(false)
    await applyAll()
    await until(() => store.config.key(keyHash(KEY)), 'the key')
    await one.stop()
    await leads(two)
    await world.remove('ApiKey', 'alice')
    await until(async () => (await store.config.key(keyHash(KEY))) === undefined, 'the key to go')
  })

  it('never both publish: the superseded leader exits', async () => {
    const one = world.start({ store, instance: 'one' })
    await leads(one)
    await applyAll()
    await until(() => store.config.key(keyHash(KEY)), 'the key')
    // As if another leader had been elected while this one was paused.
    await store.config.newEpoch()
    expect(await one.ended).toContain('taken over')
    await world.remove('ApiKey', 'alice')
    await one.stop()
    expect(await store.config.key(keyHash(KEY))).toBeDefined()
  })
})
