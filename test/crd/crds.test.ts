/** The CRDs in the API server and kubectl. */
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { GROUP, KINDS, VERSION } from '../../contract/api/index.ts'
import { CRD_NAMES } from '../../tools/cluster/crds.ts'
import { mustKubectl } from '../../tools/cluster/kubectl.ts'
import { controlPlane, type TestControlPlane } from '../harness/control-plane.ts'
import { ROOT } from '../harness/program.ts'
import { type Api, apiOf } from './api.ts'

let cluster: TestControlPlane
let namespace: string
let api: Api
const kubectl = (...args: string[]) => mustKubectl(cluster.kubectl, '-n', namespace, ...args)

const ready = (status: string, reason: string) => ({
  type: 'Ready',
  status,
  reason,
  message: 'A sentence.',
  lastTransitionTime: '2026-01-01T00:00:00Z',
})
const channel = { type: 'chat_completion', baseURL: 'https://api.example.com/v1' }

beforeAll(async () => {
  cluster = await controlPlane()
  namespace = await cluster.createNamespace()
  api = apiOf(cluster, namespace)
  await api.create('Account', 'acme', {})
  await api.create('ApiKey', 'alice', {
    accountRef: { name: 'acme' },
    expiresAt: '2027-12-31T23:59:59Z',
  })
  await api.create('ApiKey', 'bob', { accountRef: { name: 'other' } })
  await api.create('Channel', 'east', channel)
  await api.create('ModelRoute', 'small', { model: 'vendor/small', channels: [{ name: 'east' }] })
  await api.create('Credit', 'welcome', { accountRef: { name: 'acme' }, amount: '25.00' })
  await api.patch('Account', 'acme', { status: { balance: '24.5', spent: '0.5' } }, 'status')
  await api.patch(
    'ApiKey',
    'alice',
    { status: { preview: 'sk-…wxyz', conditions: [ready('True', 'Ready')] } },
    'status',
  )
})

/** Header and rows of a kubectl table, split at two spaces; an empty cell is lost. */
async function table(...args: string[]): Promise<string[][]> {
  const text = await kubectl('get', ...args)
  return text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/))
}

describe('the definitions', () => {
  it('apply without a warning', async () => {
    const outcome = await cluster.kubectl(
      ...['apply', '--server-side', '--force-conflicts', '--dry-run=server', '-f', `${ROOT}/crds`],
    )
    expect(outcome.stderr).toBe('')
    expect(outcome.stdout.trim().split('\n')).toHaveLength(CRD_NAMES.length)
  })

  it('accept the example for a cluster without a warning', async () => {
    const empty = await cluster.createNamespace()
    const outcome = await cluster.kubectl('-n', empty, 'apply', '-f', `${ROOT}/examples/cluster`)
    expect(outcome.stderr).toBe('')
    expect(outcome.stdout).toMatch(/^channel.sluice.dev\/example created\n[\s\S]*credit.*created\n$/)
  })

  it('are established, with accepted names and a structural schema', async () => {
    const output = await kubectl('get', 'crd', ...CRD_NAMES, '-o', 'json')
    const list = z.object({
      items: z.array(
        z.looseObject({
          status: z.looseObject({
            conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })),
          }),
        }),
      ),
    })
    const conditions = list
      .parse(JSON.parse(output))
      .items.map(({ status }) => Object.fromEntries(status.conditions.map((c) => [c.type, c.status])))
    expect(conditions).toEqual(CRD_NAMES.map(() => ({ Established: 'True', NamesAccepted: 'True' })))
  })

  it('describe every field to kubectl explain', async () => {
    const text = await kubectl('explain', 'apikey.spec.accountRef')
    expect(text).toContain('Account that pays for requests with this key.')

    const { components } = documents.parse(await api.get(`/openapi/v3/apis/${GROUP}/${VERSION}`))
    for (const { kind } of Object.values(KINDS)) {
      const found = components.schemas[`dev.sluice.${VERSION}.${kind}`]
      expect(found?.properties).toHaveProperty('spec')
      expect(undescribed(kind, found ?? {})).toEqual([])
    }
  })
})

interface Described {
  description?: string | undefined
  properties?: Record<string, Described> | undefined
  items?: Described | undefined
}
const described: z.ZodType<Described> = z.lazy(() =>
  z.object({
    description: z.string().optional(),
    properties: z.record(z.string(), described).optional(),
    items: described.optional(),
  }),
)
const documents = z.object({ components: z.object({ schemas: z.record(z.string(), described) }) })

/** Paths of fields without a description. */
function undescribed(path: string, { properties = {}, items }: Described): string[] {
  return [
    ...Object.entries(properties).flatMap(([name, field]) => [
      ...(field.description ? [] : name === 'metadata' ? [] : [`${path}.${name}`]),
      ...undescribed(`${path}.${name}`, field),
    ]),
    ...(items === undefined ? [] : undescribed(`${path}[]`, items)),
  ]
}

describe('kubectl get', () => {
  it('shows a new resource as not ready yet', async () => {
    expect(await table('mr')).toEqual([
      ['NAME', 'MODEL', 'READY', 'REASON', 'AGE'],
      ['small', 'vendor/small', 'Unknown', 'Pending', expect.any(String)],
    ])
  })

  it('shows keys by their short name, and more columns with -o wide', async () => {
    const [header, alice] = await table('ak', '-o', 'wide')
    expect(header).toEqual(['NAME', 'ACCOUNT', 'KEY', 'EXPIRES', 'READY', 'REASON', 'AGE'])
    expect(alice?.slice(0, -1)).toEqual([
      'alice',
      'acme',
      'sk-…wxyz',
      '2027-12-31T23:59:59Z',
      'True',
      'Ready',
    ])
  })

  it.each([
    ['acct', ['NAME', 'BALANCE', 'SPENT', 'READY', 'REASON', 'AGE'], ['acme', '24.5', '0.5']],
    ['slch', ['NAME', 'TYPE', 'HEALTHY', 'READY', 'REASON', 'AGE'], ['east', 'chat_completion']],
    [
      'slcr',
      ['NAME', 'ACCOUNT', 'AMOUNT', 'APPLIED', 'READY', 'REASON', 'AGE'],
      ['welcome', 'acme', '25.00'],
    ],
  ])('knows %s', async (shortName, header, start) => {
    const [first, row] = await table(shortName)
    expect(first).toEqual(header)
    expect(row?.slice(0, start.length)).toEqual(start)
  })

  it('shows all kinds as sluice', async () => {
    const names = (await kubectl('get', 'sluice', '-o', 'name')).trim().split('\n').sort()
    expect(names).toEqual([
      'account.sluice.dev/acme',
      'apikey.sluice.dev/alice',
      'apikey.sluice.dev/bob',
      'channel.sluice.dev/east',
      'credit.sluice.dev/welcome',
      'modelroute.sluice.dev/small',
    ])
  })

  it.each([
    ['ak', 'spec.accountRef.name=acme', ['alice']],
    ['slcr', 'spec.accountRef.name=other', []],
    ['acct', 'spec.parent.name=acme', []],
    ['slch', 'spec.type=chat_completion', ['east']],
    ['mr', 'spec.model=vendor/small', ['small']],
  ])('selects %s by %s', async (shortName, selector, expected) => {
    const names = await kubectl(
      ...['get', shortName, '--field-selector', selector, '-o', 'jsonpath={.items[*].metadata.name}'],
    )
    expect(names.split(' ').filter(Boolean)).toEqual(expected)
  })
})

describe('a stored resource', () => {
  it('fills in the spec of an Account without one', async () => {
    const bare = { apiVersion: `${GROUP}/${VERSION}`, kind: 'Account', metadata: { name: 'bare' } }
    await mustKubectl(cluster.kubectl, '-n', namespace, 'apply', '-f', '-', { input: JSON.stringify(bare) })
    expect((await api.read('Account', 'bare')).spec).toEqual({ enforcement: 'Enforced' })
  })

  it('gets its defaults', async () => {
    expect((await api.read('Account', 'acme')).spec).toEqual({ enforcement: 'Enforced' })
    expect((await api.read('ModelRoute', 'small')).spec).toEqual({
      model: 'vendor/small',
      channels: [{ name: 'east', priority: 0, weight: 1 }],
    })
    const key = await api.create('ApiKey', 'defaulted', { secretRef: { name: 's' } })
    expect(key.spec).toEqual({ secretRef: { name: 's', key: 'key' } })
  })

  it('is not ready before the controller reports it, whatever status was written', async () => {
    const pending = {
      conditions: [
        {
          type: 'Ready',
          status: 'Unknown',
          reason: 'Pending',
          message: 'Waiting for the controller',
          lastTransitionTime: '1970-01-01T00:00:00Z',
        },
      ],
    }
    expect((await api.read('Channel', 'east')).status).toEqual(pending)
    const sent = await api.patch('Channel', 'east', { status: { conditions: [ready('True', 'Ready')] } })
    expect(sent.status).toEqual(pending)
  })

  it('has a generation that only a change of its spec raises', async () => {
    const before = (await api.create('Channel', 'generations', channel)).metadata.generation
    const labelled = await api.patch('Channel', 'generations', { metadata: { labels: { a: 'b' } } })
    expect(labelled.metadata.generation).toBe(before)
    const judged = await api.patch(
      'Channel',
      'generations',
      { status: { conditions: [ready('True', 'Ready')] } },
      'status',
    )
    expect(judged.metadata.generation).toBe(before)
    const changed = await api.patch('Channel', 'generations', { spec: { disabled: true } })
    expect(changed.metadata.generation).toBe(before + 1)
    expect(changed.status).toEqual(judged.status)
  })

  it('keeps one condition of each type', async () => {
    await api.create('Channel', 'conditions', channel)
    const twice = { status: { conditions: [ready('True', 'Ready'), ready('False', 'Invalid')] } }
    await expect(api.patch('Channel', 'conditions', twice, 'status')).rejects.toThrow(/Duplicate value/)
  })
})
