import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { KINDS } from '../../contract/api/index.ts'
import { type TableRecord, tableRecord } from '../../contract/table/records.ts'
import { emptySnapshot, type ObjectStatus, SecretData, type Snapshot } from '../snapshot.ts'
import { compile } from './index.ts'

/** Few names, so that references match and conflict. */
const name = fc.constantFrom('a', 'b', 'constructor')
const ref = fc.record({ name })
const secretRef = fc.record({ name, key: fc.constantFrom('key', 'ca.crt') })
const price = fc.constantFrom('0', '0.000000001', '1.5', '9999999', '9999999.999999999')
const duration = fc.constantFrom('1s', '250ms', '299h', '1h30m')
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const hashes = fc.uniqueArray(fc.constantFrom('11'.repeat(32), '22'.repeat(32)), { minLength: 1 })

const specs = {
  ApiKey: fc.record({
    accountRef: maybe(ref),
    disabled: maybe(fc.boolean()),
    expiresAt: maybe(fc.constantFrom('2026-01-01T00:00:00Z', '0001-01-01T00:00:00+23:59')),
    models: maybe(fc.array(fc.constantFrom('*', 'a'))),
    limits: maybe(fc.constant({ requestsPerMinute: 1 })),
    secretRef: maybe(secretRef),
    hashes: maybe(hashes),
  }),
  Account: fc.record({
    parent: maybe(ref),
    disabled: maybe(fc.boolean()),
    overdraft: maybe(price),
    enforcement: fc.constantFrom('Enforced' as const, 'Unlimited' as const),
    budget: maybe(fc.record({ amount: price, period: fc.constant('Day' as const) })),
  }),
  Credit: fc.record({ accountRef: ref, amount: fc.oneof(price, fc.constantFrom('-5', '-9999999')) }),
  Channel: fc.record({
    type: fc.constantFrom('chat_completion', 'responses', 'messages', 'embeddings', 'images'),
    baseURL: fc.constantFrom('http://a', 'https://a/b//', 'http://[x', 'http://a:99999', 'http://%'),
    auth: maybe(fc.constantFrom({ scheme: 'None' }, { scheme: 'Header', header: 'x' })),
    secretRef: maybe(secretRef),
    tls: maybe(fc.record({ caRef: maybe(secretRef), clientCertificateRef: maybe(ref) })),
    timeouts: maybe(fc.record({ total: maybe(duration) })),
    disabled: maybe(fc.boolean()),
  }),
  ModelRoute: fc.record({
    model: fc.constantFrom('a', 'b', 'a*', '*'),
    channels: fc.array(fc.record({ name, priority: fc.nat(3) }), { minLength: 1, maxLength: 3 }),
    affinity: maybe(fc.constant({ mode: 'Session' })),
    price: maybe(
      fc.record({
        input: maybe(price),
        output: maybe(price),
        perRequest: maybe(price),
        multipliers: maybe(fc.record({ priority: maybe(fc.constantFrom('1.25', '999.999999999')) })),
      }),
    ),
    free: maybe(fc.boolean()),
    rewriteModel: maybe(fc.boolean()),
  }),
}

const metadata = fc.record({
  namespace: fc.constantFrom('one', 'two'),
  name,
  generation: fc.integer({ min: 1, max: 9 }),
  // Few, so that some resources have the same age.
  createdAt: fc.constantFrom(0, 1_000, 2_000),
})
const secretData = fc
  .dictionary(
    fc.constantFrom('key', 'ca.crt'),
    fc.constantFrom('', 'key-of-twenty-letters', 'ü', 'a\nb', 'short'),
  )
  .map((entries) => new SecretData(Object.entries(entries)))

/** A list of resources with parsed specs and unique names. */
function resources<Spec>(
  spec: fc.Arbitrary<unknown>,
  kind: { kind: string; spec: { parse(value: unknown): Spec } },
) {
  const resource = fc
    .record({ metadata, spec })
    .map((given) => ({ kind: kind.kind, metadata: given.metadata, spec: kind.spec.parse(given.spec) }))
  return fc.uniqueArray(resource, {
    maxLength: 5,
    selector: (item) => `${item.metadata.namespace}/${item.metadata.name}`,
  })
}

const snapshots: fc.Arbitrary<Snapshot> = fc.record({
  apiKeys: resources(specs.ApiKey, KINDS.ApiKey),
  accounts: resources(specs.Account, KINDS.Account),
  credits: resources(specs.Credit, KINDS.Credit),
  channels: resources(specs.Channel, KINDS.Channel),
  modelRoutes: resources(specs.ModelRoute, KINDS.ModelRoute),
  secrets: fc
    .dictionary(fc.constantFrom('one/a', 'one/b', 'two/a'), secretData)
    .map((entries) => new Map(Object.entries(entries))),
  invalid: fc.constant([]),
})

const idOf = ({ kind, metadata: { namespace, name } }: Pick<ObjectStatus, 'kind' | 'metadata'>) =>
  `${kind} ${namespace}/${name}`

const NOW = Date.UTC(2026, 0, 1)

describe('compile', () => {
  it('never throws, follows the record schemas and gives every resource a status', () => {
    fc.assert(
      fc.property(snapshots, (snapshot) => {
        const compiled = compile(snapshot, NOW)
        expect(tableRecord.parse(compiled.table)).toEqual(compiled.table)
        const all = [
          ...snapshot.apiKeys,
          ...snapshot.accounts,
          ...snapshot.credits,
          ...snapshot.channels,
          ...snapshot.modelRoutes,
        ]
        expect(compiled.statuses.length).toBe(all.length)
        for (const { inForce, conditions } of compiled.statuses)
          if (!inForce) expect(conditions.map(({ status }) => status)).toContain('False')
      }),
    )
  })

  it('puts only channels of the table into routes', () => {
    fc.assert(
      fc.property(snapshots, (snapshot) => {
        for (const { routes, channels } of Object.values(compile(snapshot, NOW).table.namespaces))
          for (const { targets } of routes)
            for (const { channel } of targets) expect(Object.hasOwn(channels, channel)).toBe(true)
      }),
    )
  })

  it('does not depend on the order of the snapshot', () => {
    fc.assert(
      fc.property(snapshots, (snapshot) => {
        const reversed: Snapshot = {
          ...snapshot,
          apiKeys: snapshot.apiKeys.toReversed(),
          accounts: snapshot.accounts.toReversed(),
          credits: snapshot.credits.toReversed(),
          channels: snapshot.channels.toReversed(),
          modelRoutes: snapshot.modelRoutes.toReversed(),
        }
        const [a, b] = [compile(snapshot, NOW), compile(reversed, NOW)]
        expect(b.table).toEqual(a.table)
        expect(b.keys).toEqual(a.keys)
        expect(b.accounts).toEqual(a.accounts)
        expect(b.statuses).toEqual(a.statuses)
      }),
    )
  })

  /** Without picturesOnly, which depends on channels that are not in force, too. */
  const plain = ({ namespaces }: TableRecord) =>
    Object.entries(namespaces).map(([name, { routes, channels }]) => ({
      name,
      channels,
      routes: routes.map(({ picturesOnly: _picturesOnly, ...route }) => route),
    }))

  it('gives the others the same result without a resource that is not in force', () => {
    let removed = 0
    fc.assert(
      fc.property(snapshots, (snapshot) => {
        const compiled = compile(snapshot, NOW)
        const bad = compiled.statuses.filter(({ inForce }) => !inForce)
        const gone = new Set(bad.map(idOf))
        removed += gone.size
        const keep = <T extends { kind: string; metadata: ObjectStatus['metadata'] }>(items: T[]) =>
          items.filter(({ kind, metadata: { namespace, name } }) => !gone.has(`${kind} ${namespace}/${name}`))
        const without = compile(
          {
            ...snapshot,
            apiKeys: keep(snapshot.apiKeys),
            accounts: keep(snapshot.accounts),
            credits: keep(snapshot.credits),
            channels: keep(snapshot.channels),
            modelRoutes: keep(snapshot.modelRoutes),
          },
          NOW,
        )
        expect(plain(without.table)).toEqual(plain(compiled.table))
        expect(without.keys).toEqual(compiled.keys)
        expect(without.accounts).toEqual(compiled.accounts)
        expect(without.credits).toEqual(compiled.credits)
      }),
    )
    expect(removed).toBeGreaterThan(0)
  })

  it('changes nothing for a resource that does not parse', () => {
    const invalid = {
      kind: 'ModelRoute' as const,
      metadata: { namespace: 'one', name: 'broken', generation: 1, createdAt: 0 },
      message: 'broken',
    }
    fc.assert(
      fc.property(snapshots, (snapshot) => {
        const [good, bad] = [compile(snapshot, NOW), compile({ ...snapshot, invalid: [invalid] }, NOW)]
        expect({ ...bad, statuses: [] }).toEqual({ ...good, statuses: [] })
        expect(bad.statuses.length).toBe(good.statuses.length + 1)
      }),
    )
  })

  it('gives an empty result for an empty snapshot', () => {
    const compiled = compile(emptySnapshot(), NOW)
    expect(compiled.table.namespaces).toEqual({})
    expect(compiled.statuses).toEqual([])
  })
})
