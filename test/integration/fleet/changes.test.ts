/** A change of each kind, in force on every proxy. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { controlPlane } from '../../harness/control-plane.ts'
import { type Fleet, startFleet } from '../../harness/fleet.ts'
import { askAll, digestOf, startReportingUpstream } from '../../harness/fleet-traffic.ts'
import { until } from '../../harness/gateway.ts'
import type { ScriptedUpstream } from '../../harness/upstream.ts'

let fleet: Fleet
let first: ScriptedUpstream
let second: ScriptedUpstream

beforeAll(async () => {
  first = await startReportingUpstream('first')
  second = await startReportingUpstream('second')
  fleet = await startFleet({ controlPlane: await controlPlane() })
  const { kube } = fleet
  await kube.secret('upstream', { key: 'credential-1' })
  await kube.create('Channel', 'main', channel(first))
  await kube.create('ModelRoute', 'm', route('m'))
  await kube.create('ApiKey', 'base', { hashes: [digestOf('sk-base')] })
  await serves('sk-base', 'm', '200 first credential-1 m')
}, 120_000)
afterAll(async () => {
  await fleet?.stop()
  await Promise.all([first.close(), second.close()])
})

const channel = ({ baseURL }: ScriptedUpstream) => ({
  type: 'chat_completion',
  baseURL,
  secretRef: { name: 'upstream' },
})
const route = (model: string, more: object = {}) => ({
  model,
  channels: [{ name: 'main', ...more }],
  free: true,
})

/** Waits until all proxies give this answer at once. */
async function serves(key: string, model: string, summary: string): Promise<void> {
  let last: string[] = []
  await until(
    async () => {
      last = await askAll(fleet.bases, key, model)
      return last.every((each) => each === summary)
    },
    `every proxy to say ${summary}`,
    10_000,
  ).catch((error: unknown) => {
    throw new Error(`the proxies say ${last.join(', ')}`, { cause: error })
  })
}

describe('an ApiKey', () => {
  it('is served once created and refused once deleted', async () => {
    await serves('sk-new', 'm', '401 unauthorized')
    await fleet.kube.create('ApiKey', 'new', { hashes: [digestOf('sk-new')] })
    await serves('sk-new', 'm', '200 first credential-1 m')
    await fleet.kube.remove('ApiKey', 'new')
    await serves('sk-new', 'm', '401 unauthorized')
  })

  it('is refused while it is disabled', async () => {
    await fleet.kube.create('ApiKey', 'switched', { hashes: [digestOf('sk-switched')] })
    await serves('sk-switched', 'm', '200 first credential-1 m')
    await fleet.kube.patch('ApiKey', 'switched', { disabled: true })
    await serves('sk-switched', 'm', '401 unauthorized')
    await fleet.kube.patch('ApiKey', 'switched', { disabled: null })
    await serves('sk-switched', 'm', '200 first credential-1 m')
  })

  it('may use the models that it names', async () => {
    await fleet.kube.create('ApiKey', 'narrow', { hashes: [digestOf('sk-narrow')] })
    await serves('sk-narrow', 'm', '200 first credential-1 m')
    await fleet.kube.patch('ApiKey', 'narrow', { models: ['other*'] })
    await serves('sk-narrow', 'm', '403 model_not_allowed')
  })

  it('has the value that its Secret contains', async () => {
    await fleet.kube.secret('client', { key: 'sk-client-before-0123456789' })
    await fleet.kube.create('ApiKey', 'client', { secretRef: { name: 'client' } })
    await serves('sk-client-before-0123456789', 'm', '200 first credential-1 m')
    await fleet.kube.secret('client', { key: 'sk-client-after-0123456789' })
    await serves('sk-client-after-0123456789', 'm', '200 first credential-1 m')
    await serves('sk-client-before-0123456789', 'm', '401 unauthorized')
  })
})

describe('an Account', () => {
  it('pays once a Credit is applied and is closed when disabled', async () => {
    const { kube } = fleet
    await kube.create('ModelRoute', 'priced', {
      model: 'priced',
      channels: [{ name: 'main' }],
      price: { input: '1', output: '1' },
    })
    await kube.create('Account', 'payer', {})
    await kube.create('ApiKey', 'payer', {
      hashes: [digestOf('sk-payer')],
      accountRef: { name: 'payer' },
    })
    await serves('sk-payer', 'priced', '402 insufficient_balance')
    await kube.create('Credit', 'payer-1', { accountRef: { name: 'payer' }, amount: '5' })
    await serves('sk-payer', 'priced', '200 first credential-1 priced')
    await kube.patch('Account', 'payer', { disabled: true })
    await serves('sk-payer', 'priced', '403 account_disabled')
  })
})

describe('a Channel', () => {
  it('calls its current baseURL', async () => {
    await fleet.kube.patch('Channel', 'main', { baseURL: second.baseURL })
    await serves('sk-base', 'm', '200 second credential-1 m')
    await fleet.kube.patch('Channel', 'main', { baseURL: first.baseURL })
    await serves('sk-base', 'm', '200 first credential-1 m')
  })

  it('sends the credential that its Secret now contains', async () => {
    await fleet.kube.secret('upstream', { key: 'credential-2' })
    await serves('sk-base', 'm', '200 first credential-2 m')
    await fleet.kube.secret('upstream', { key: 'credential-1' })
    await serves('sk-base', 'm', '200 first credential-1 m')
  })
})

describe('a ModelRoute', () => {
  it('serves its model from its creation to its deletion', async () => {
    const [nothing] = await askAll(fleet.bases, 'sk-base', 'fresh')
    expect(nothing).not.toMatch(/^200/)
    await fleet.kube.create('ModelRoute', 'fresh', route('fresh'))
    await serves('sk-base', 'fresh', '200 first credential-1 fresh')
    await fleet.kube.patch('ModelRoute', 'fresh', { channels: [{ name: 'main', model: 'another' }] })
    await serves('sk-base', 'fresh', '200 first credential-1 another')
    await fleet.kube.remove('ModelRoute', 'fresh')
    await serves('sk-base', 'fresh', nothing ?? '')
  })
})
