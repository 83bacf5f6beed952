/** Incremental compilation gives the same result as a complete one. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { KINDS, type KindName } from '../../contract/api/index.ts'
import { keyHash } from '../../contract/ids.ts'
import {
  type AnyResource,
  type Changes,
  type Compiled,
  type GeneratedKey,
  type InvalidResource,
  isInvalid,
  noChanges,
  SecretData,
} from '../snapshot.ts'
import { Compilation } from './compilation.ts'
import { secretNamesOf } from './credentials.ts'
import { compile, compileSlice } from './index.ts'

const name = fc.constantFrom('a', 'b', 'c', 'constructor')
const namespace = fc.constantFrom('one', 'two')
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const KEY = 'key-of-twenty-letters'
/** Hashes of keys; one of them is also in a Secret. */
const hash = fc.constantFrom('11'.repeat(32), '22'.repeat(32), '33'.repeat(32), keyHash(KEY))

/** Steps are an hour apart: some keys expire, or are about to, between two of them. */
const START = Date.parse('2030-01-01T00:00:00Z')
const HOUR_MS = 3_600_000
const moment = fc
  .integer({ min: -1, max: 30 })
  .map((hours) => new Date(START + hours * HOUR_MS).toISOString())

const specs: Record<KindName, fc.Arbitrary<unknown>> = {
  ApiKey: fc.oneof(
    fc.record({
      hashes: fc.uniqueArray(hash, { minLength: 1, maxLength: 3 }),
      accountRef: maybe(fc.record({ name })),
      disabled: maybe(fc.boolean()),
      expiresAt: maybe(moment),
      limits: maybe(fc.constant({ requestsPerMinute: 1 })),
    }),
    fc.record({
      secretRef: maybe(fc.record({ name })),
      accountRef: maybe(fc.record({ name })),
      expiresAt: maybe(moment),
    }),
    fc.record({
      secretRefs: fc.array(fc.record({ name, notAfter: maybe(moment) }), { minLength: 1, maxLength: 2 }),
      accountRef: maybe(fc.record({ name })),
    }),
  ),
  Account: fc.record({ disabled: maybe(fc.boolean()), parent: maybe(fc.record({ name })) }),
  Credit: fc.record({ accountRef: fc.record({ name }), amount: fc.constantFrom('1', '2') }),
  Channel: fc.record({
    type: fc.constantFrom('chat_completion', 'images'),
    baseURL: fc.constantFrom('http://a', 'http://a:99999'),
    secretRef: maybe(fc.record({ name })),
    disabled: maybe(fc.boolean()),
  }),
  ModelRoute: fc.record({
    model: fc.constantFrom('m', 'n'),
    channels: fc.array(fc.record({ name }), { minLength: 1, maxLength: 2 }),
    free: maybe(fc.boolean()),
  }),
}
const KIND_NAMES = Object.keys(specs) as KindName[]

interface Step {
  resources: {
    kind: KindName
    namespace: string
    name: string
    what: 'gone' | 'invalid' | 'there'
    spec: unknown
    createdAt: number
  }[]
  secrets: { namespace: string; name: string; value: string | undefined }[]
  generated: { namespace: string; name: string; state: GeneratedKey['state'] | undefined }[]
}

const resource = fc.constantFrom(...KIND_NAMES).chain((kind) =>
  fc.record({
    kind: fc.constant(kind),
    namespace,
    name,
    what: fc.oneof(
      { weight: 4, arbitrary: fc.constant('there' as const) },
      { weight: 2, arbitrary: fc.constant('gone' as const) },
      { weight: 1, arbitrary: fc.constant('invalid' as const) },
    ),
    spec: specs[kind],
    createdAt: fc.constantFrom(0, 1_000),
  }),
)
const step: fc.Arbitrary<Step> = fc.record({
  resources: fc.array(resource, { maxLength: 4 }),
  secrets: fc.array(
    fc.record({ namespace, name, value: maybe(fc.constantFrom(KEY, 'another-key-of-letters', '')) }),
    { maxLength: 2 },
  ),
  generated: fc.array(
    fc.record({ namespace, name, state: maybe(fc.constantFrom('made' as const, 'absent' as const)) }),
    { maxLength: 1 },
  ),
})

/** Changes as from a source, which includes the resources that refer to a changed Secret. */
class Source {
  readonly resources = new Map<string, AnyResource | InvalidResource>()
  #generation = 0

  changes({ resources, secrets, generated }: Step): Changes {
    const changed = new Map<string, AnyResource | InvalidResource | undefined>()
    for (const { kind, namespace, name, what, spec, createdAt } of resources) {
      const id = `${kind}/${namespace}/${name}`
      const found = this.#made(kind, { namespace, name, createdAt }, what, spec)
      if (found === undefined) this.resources.delete(id)
      else this.resources.set(id, found)
      changed.set(id, found)
    }
    const keys = new Map(
      generated.map(({ namespace, name, state }) => {
        const id = `${namespace}/${name}`
        const found = this.resources.get(`ApiKey/${id}`)
        if (found !== undefined) changed.set(`ApiKey/${id}`, found)
        return [id, state && { secretName: name, state }]
      }),
    )
    const data = new Map(
      secrets.map(({ namespace, name, value }) => [
        `${namespace}/${name}`,
        value === undefined ? undefined : new SecretData([['key', value]]),
      ]),
    )
    for (const [id, found] of this.resources)
      for (const secret of data.keys()) if (names(found, secret)) changed.set(id, found)
    return { resources: changed, secrets: data, generated: keys }
  }

  #made(
    kind: KindName,
    at: { namespace: string; name: string; createdAt: number },
    what: Step['resources'][number]['what'],
    spec: unknown,
  ): AnyResource | InvalidResource | undefined {
    const metadata = { ...at, generation: ++this.#generation }
    if (what === 'gone') return undefined
    if (what === 'invalid') return { kind, metadata, message: 'wrong' }
    switch (kind) {
      case 'ApiKey':
        return { kind, metadata, spec: KINDS.ApiKey.spec.parse(spec) }
      case 'Account':
        return { kind, metadata, spec: KINDS.Account.spec.parse(spec) }
      case 'Credit':
        return { kind, metadata, spec: KINDS.Credit.spec.parse(spec) }
      case 'Channel':
        return { kind, metadata, spec: KINDS.Channel.spec.parse(spec) }
      case 'ModelRoute':
        return { kind, metadata, spec: KINDS.ModelRoute.spec.parse(spec) }
    }
  }
}

function names(found: AnyResource | InvalidResource, secret: string): boolean {
  if (isInvalid(found) || (found.kind !== 'ApiKey' && found.kind !== 'Channel')) return false
  const { namespace, name } = found.metadata
  // Here, the Secret of a generated key has the name of the ApiKey.
  const generated = { secretName: name, state: 'made' as const }
  const secrets =
    found.kind === 'ApiKey' ? secretNamesOf(found.spec, generated) : [found.spec.secretRef?.name]
  return secrets.some((each) => `${namespace}/${each}` === secret)
}

/** Sorted, because the order of routes and statuses does not matter. */
function plain({ table, keys, accounts, credits, statuses, until }: Compiled) {
  const sorted = <T>(list: readonly T[]) => list.map((item) => JSON.stringify(item)).sort()
  return {
    table,
    until,
    keys: sorted([...keys]),
    accounts: sorted([...accounts]),
    credits: sorted(credits),
    statuses: sorted(statuses),
  }
}

it('after any sequence of changes, with exactly the differences in touched', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const source = new Source()
      const compilation = new Compilation(compileSlice)
      let keys = new Map<string, unknown>()
      let statuses = new Map<string, string>()
      for (const [hour, each] of steps.entries()) {
        const now = START + hour * HOUR_MS
        const { compiled, touched } = compilation.apply(source.changes(each), now)
        const whole = compile(compilation.snapshot(), now)
        expect(plain(compiled)).toEqual(plain(whole))
        for (const [id, record] of touched.keys)
          if (record === undefined) keys.delete(id)
          else keys.set(id, record)
        expect(keys).toEqual(whole.keys)
        keys = new Map(compiled.keys)
        for (const [id, status] of touched.statuses)
          if (status === undefined) statuses.delete(id)
          else statuses.set(id, JSON.stringify(status))
        expect([...statuses.values()].sort()).toEqual(plain(whole).statuses)
        statuses = new Map(statuses)
      }
    }),
  )
})

it('a change of a key compiles no other key', () => {
  const source = new Source()
  const seen: number[] = []
  const compilation = new Compilation((snapshot, now) => {
    seen.push(snapshot.apiKeys.length)
    return compileSlice(snapshot, now)
  })
  const apiKey = (n: number, more: object = {}) => ({
    ...{ kind: 'ApiKey' as const, namespace: 'one', name: `k${n}`, what: 'there' as const, createdAt: 0 },
    spec: { hashes: [keyHash(`${n}`)], ...more },
  })
  const none = { secrets: [], generated: [] }
  compilation.apply(
    source.changes({ resources: Array.from({ length: 50 }, (_, n) => apiKey(n)), ...none }),
    START,
  )
  const { touched } = compilation.apply(
    source.changes({ resources: [apiKey(7, { disabled: true })], ...none }),
    START,
  )
  expect(seen).toEqual([50, 1])
  expect([...touched.keys.keys()]).toEqual([keyHash('7')])
  expect([...touched.statuses.keys()]).toEqual(['ApiKey/one/k7'])
  expect(touched.table).toBe(false)
})

it('what belongs to a sub-account follows the parent', () => {
  const source = new Source()
  const compilation = new Compilation(compileSlice)
  const made = (kind: KindName, name: string, spec: object, what: 'there' | 'gone' = 'there') => ({
    ...{ kind, name, spec, what, namespace: 'one', createdAt: 0 },
  })
  const apply = (...resources: Step['resources']) =>
    compilation.apply(source.changes({ resources, secrets: [], generated: [] }), START)
  apply(
    made('Account', 'root', {}),
    made('Account', 'sub', { parent: { name: 'root' } }),
    made('Credit', 'c', { accountRef: { name: 'sub' }, amount: '1' }),
    made('ApiKey', 'k', { hashes: [keyHash(KEY)], accountRef: { name: 'sub' } }),
  )
  const { touched } = apply(made('Account', 'root', {}, 'gone'))
  expect([...touched.statuses.keys()].sort()).toEqual([
    'Account/one/root',
    'Account/one/sub',
    'ApiKey/one/k',
    'Credit/one/c',
  ])
  expect([...touched.accounts.values()]).toEqual([undefined, undefined])
  expect([...touched.credits.values()]).toEqual([undefined])
})

it('a key is compiled again when its time has come, without a change', () => {
  const source = new Source()
  const compilation = new Compilation(compileSlice)
  const expiresAt = new Date(START + HOUR_MS).toISOString()
  const key = {
    ...{ kind: 'ApiKey' as const, namespace: 'one', name: 'k', what: 'there' as const, createdAt: 0 },
    spec: { hashes: [keyHash(KEY)], expiresAt },
  }
  const first = compilation.apply(source.changes({ resources: [key], secrets: [], generated: [] }), START)
  expect([first.compiled.until, first.compiled.keys.size]).toEqual([START + HOUR_MS, 1])
  const { compiled, touched } = compilation.apply(noChanges(), START + HOUR_MS)
  expect([compiled.until, compiled.keys.size]).toEqual([Number.POSITIVE_INFINITY, 0])
  expect([...touched.keys]).toEqual([[keyHash(KEY), undefined]])
})
