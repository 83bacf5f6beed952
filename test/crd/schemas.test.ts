/** Faults of single fields, judged by a real API server and by folder mode: the same verdict on the same fields. */
import { beforeAll, expect, it } from 'vitest'
import type { KindName } from '../../contract/api/index.ts'
import { controlPlane } from '../harness/control-plane.ts'
import { type Api, apiOf } from './api.ts'
import { judgeInFolder } from './verdicts.ts'

let api: Api
beforeAll(async () => {
  const cluster = await controlPlane()
  api = apiOf(cluster, await cluster.createNamespace())
})

const channel = (more: object) => ({
  type: 'chat_completion',
  baseURL: 'https://api.example.com/v1',
  ...more,
})
const baseURL = (text: string) => channel({ baseURL: text })
const connect = (text: unknown) => channel({ timeouts: { connect: text } })
const route = (more: object) => ({ model: 'm', channels: [{ name: 'c' }], ...more })
const price = (text: unknown) => route({ price: { perRequest: text } })
const credit = (amount: unknown) => ({ accountRef: { name: 'a' }, amount })
const expires = (text: unknown) => ({ expiresAt: text })
const models = (...globs: unknown[]) => ({ models: globs })
const long = (length: number) => 'x'.repeat(length)

const ACCEPTED: [KindName, object][] = [
  ...['1h30m', '299h', '9999m', '99999s', '250ms', '1h1m1s1ms'].map((text): [KindName, object] => [
    'Channel',
    connect(text),
  ]),
  ...['http://127.0.0.1:8082/v1', 'https://[::1]:1/', 'http://svc.ns.svc:80'].map(
    (text): [KindName, object] => ['Channel', baseURL(text)],
  ),
  ...['0', '0.5', '-7.000000001', '9000000', '00.1'].map((text): [KindName, object] => [
    'Credit',
    credit(text),
  ]),
  ...['2027-12-31T23:59:59Z', '2028-02-29T00:00:00.123+02:00', '2027-01-01T00:00:00-11:30'].map(
    (text): [KindName, object] => ['ApiKey', expires(text)],
  ),
  ['ApiKey', models('*', 'a*b*c', long(256), 'ä😀*')],
  ['ApiKey', {}],
  ['Account', {}],
  ['Account', { overdraft: '0', enforcement: 'Unlimited' }],
  ['ModelRoute', route({ model: '*' })],
  ['ModelRoute', route({ model: 'vendor/model:free*' })],
  ['Channel', channel({ headers: { 'x-a': '' }, query: {}, tls: {} })],
  ['ApiKey', { accountRef: null, disabled: null, expiresAt: null, models: null, limits: null }],
  ['ApiKey', { secretRef: { name: 's', key: null } }],
  ['Account', { enforcement: null, overdraft: null, budget: null }],
  ['Channel', channel({ headers: { 'x-a': null, 'bad name': null }, query: { q: null } })],
  ['Channel', channel({ headers: null, timeouts: { connect: null }, tls: { caRef: null } })],
  ['ModelRoute', route({ channels: [{ name: 'c', model: null, weight: null }], price: null })],
]

const REFUSED: [KindName, unknown, ...fields: string[]][] = [
  ...['5', '5 s', '', '0s', '1.5s', '300h', '1s1m', '-1s', '5sec', 'x', '5s\n', 5, true].map(
    (value): [KindName, unknown, string] => ['Channel', connect(value), 'spec.timeouts.connect'],
  ),
  ...[
    'ftp://a.example.com',
    'api.example.com/v1',
    'https://user:password@a.example.com',
    'https://a.example.com/v1?x=1',
    'https://a.example.com/v1#x',
    'https:///v1',
    'https://a b.example.com',
    `https://${long(2048)}`,
  ].map((text): [KindName, unknown, string] => ['Channel', baseURL(text), 'spec.baseURL']),
  ...['1,5', '.5', '5.', '+1', '1e3', '', '0.0000000001', '12345678', ' 1', '$1', 1, 1.5].map(
    (value): [KindName, unknown, string] => ['Credit', credit(value), 'spec.amount'],
  ),
  ...['-1', '1.', 'free', 0].map((value): [KindName, unknown, string] => [
    'ModelRoute',
    price(value),
    'spec.price.perRequest',
  ]),
  ...[
    '2027-02-29T00:00:00Z',
    '2027-13-01T00:00:00Z',
    '2027-01-01',
    '2027-01-01T00:00:00',
    '2027-01-01 00:00:00Z',
    '2027-01-01T24:00:00Z',
    '2027-06-30T23:59:60Z',
    'tomorrow',
    1_800_000_000,
  ].map((value): [KindName, unknown, string] => ['ApiKey', expires(value), 'spec.expiresAt']),
  ['ApiKey', models(''), 'spec.models[0]'],
  ['ApiKey', models('ok', '*'.repeat(9)), 'spec.models[1]'],
  ['ApiKey', models(long(257)), 'spec.models[0]'],
  ['ApiKey', models(...Array.from({ length: 257 }, (_, index) => `m${index}`)), 'spec.models'],
  ['ApiKey', { hashes: ['A'.repeat(64)] }, 'spec.hashes[0]'],
  ['ApiKey', { hashes: [] }, 'spec.hashes'],
  ['ApiKey', { secretRef: {} }, 'spec.secretRef.name'],
  ['ApiKey', { secretRef: { name: 'Not_A_Name' } }, 'spec.secretRef.name'],
  ['ApiKey', { secretRef: { name: 's', key: 'a b' } }, 'spec.secretRef.key'],
  ['ApiKey', { disabled: 'true' }, 'spec.disabled'],
  ['ApiKey', { accountRef: 'acme' }, 'spec.accountRef'],
  ['ApiKey', { limits: { requestsPerMinute: 0 } }, 'spec.limits.requestsPerMinute'],
  ['ApiKey', { limits: { requestsPerMinute: 1.5 } }, 'spec.limits.requestsPerMinute'],
  ['ApiKey', { limits: { requestsPerMinute: '60' } }, 'spec.limits.requestsPerMinute'],
  ['ApiKey', undefined, 'spec'],
  ['ApiKey', null, 'spec'],
  ['ApiKey', { secretRef: { name: null } }, 'spec.secretRef.name'],
  ['ApiKey', models(null), 'spec.models[0]'],
  ['Credit', credit(null), 'spec.amount'],
  ['ModelRoute', route({ channels: null }), 'spec.channels'],
  ['ModelRoute', route({ channels: [null] }), 'spec.channels[0]'],
  ['ApiKey', [], 'spec'],
  ['Account', { enforcement: 'enforced' }, 'spec.enforcement'],
  ['Account', { budget: { amount: '1', timeZone: 'New York' } }, 'spec.budget.timeZone'],
  ['ApiKey', { budget: { amount: '1', softLimit: [0] } }, 'spec.budget.softLimit[0]'],
  ['Account', { lowBalance: ['-1'] }, 'spec.lowBalance[0]'],
  ['Account', { budget: { amount: '1', period: 'Year' } }, 'spec.budget.period'],
  ['Credit', { accountRef: { name: 'a' } }, 'spec.amount'],
  ['Credit', { amount: '1' }, 'spec.accountRef'],
  ['Credit', { accountRef: { name: 'a' }, amount: '1', note: long(1025) }, 'spec.note'],
  ['Channel', { baseURL: 'https://api.example.com' }, 'spec.type'],
  ['Channel', { type: 'chat_completion' }, 'spec.baseURL'],
  ['Channel', channel({ type: 'completions' }), 'spec.type'],
  ['Channel', channel({ profile: 'none' }), 'spec.profile'],
  ['Channel', channel({ auth: { scheme: 'bearer' } }), 'spec.auth.scheme'],
  ['Channel', channel({ headers: { 'x-a': 'ä' } }), 'spec.headers.x-a'],
  ['Channel', channel({ headers: { 'x-a': 1 } }), 'spec.headers.x-a'],
  ['Channel', channel({ headers: ['x-a'] }), 'spec.headers'],
  ['Channel', channel({ maxConcurrentRequests: 0 }), 'spec.maxConcurrentRequests'],
  ['Channel', channel({ tls: { serverName: '' } }), 'spec.tls.serverName'],
  ['Channel', channel({ ejection: { consecutiveFailures: -1 } }), 'spec.ejection.consecutiveFailures'],
  ['ModelRoute', { model: 'm', channels: [] }, 'spec.channels'],
  ['ModelRoute', { model: 'm' }, 'spec.channels'],
  ['ModelRoute', route({ model: 'a*b' }), 'spec.model'],
  ['ModelRoute', route({ model: 'a b' }), 'spec.model'],
  ['ModelRoute', route({ model: '' }), 'spec.model'],
  ...[...'\t\n\v\f\r\u00a0\u1680\u2003\u2028\u2029\u3000\ufeff'].map((space): [KindName, unknown, string] => [
    'ModelRoute',
    route({ model: `a${space}b` }),
    'spec.model',
  ]),
  ['ModelRoute', route({ channels: [{ name: 'c', weight: -1 }] }), 'spec.channels[0].weight'],
  ['ModelRoute', route({ channels: [{ model: 'm' }] }), 'spec.channels[0].name'],
  ['ModelRoute', route({ retry: { attempts: 6 } }), 'spec.retry.attempts'],
  ['ModelRoute', route({ retry: { classes: ['sometimes'] } }), 'spec.retry.classes[0]'],
  ['ModelRoute', route({ affinity: { ttl: '0s' } }), 'spec.affinity.ttl'],
  [
    'ModelRoute',
    route({ price: { perRequest: '1', multipliers: { fast: '-1' } } }),
    'spec.price.multipliers.fast',
  ],
]

const title = (spec: unknown) => (JSON.stringify(spec) ?? 'no spec').slice(0, 120)

it.each(ACCEPTED.map(([kind, spec]) => ({ kind, spec, name: title(spec) })))(
  'both accept $kind $name',
  async ({ kind, spec }) => {
    expect(await api.judge(kind, 'one', spec)).toEqual({ accepted: true, causes: [] })
    expect(judgeInFolder(kind, 'one', spec)).toEqual({ accepted: true, faults: [] })
  },
)

it.each(REFUSED.map(([kind, spec, field]) => ({ kind, spec, field, name: title(spec) })))(
  'both refuse $kind $name',
  async ({ kind, spec, field }) => {
    const server = await api.judge(kind, 'one', spec)
    // A cause without a field only says that rules were not checked.
    const fields = server.causes.map((cause) => cause.field).filter((name) => name !== '<nil>')
    expect([...new Set(fields)]).toEqual([field])
    const folder = judgeInFolder(kind, 'one', spec)
    expect([...new Set(folder.faults.map((fault) => fault.field))]).toEqual([field])
  },
)

it.each([
  ['Channel', channel({ timeout: '5s' }), 'spec.timeout'],
  ['Channel', channel({ tls: { insecure: true } }), 'spec.tls.insecure'],
  ['Channel', channel({ tls: { insecure: null } }), 'spec.tls.insecure'],
  ['ModelRoute', route({ channels: [{ name: 'c', wieght: 1 }] }), 'spec.channels[0].wieght'],
  ['ApiKey', { secretRef: { name: 's', namespace: 'other' } }, 'spec.secretRef.namespace'],
] as const)('both refuse an unknown field of a %s by its name', async (kind, spec, field) => {
  const server = await api.judge(kind, 'one', spec)
  expect(server.causes.map(({ message }) => message)).toEqual([
    expect.stringContaining(`unknown field "${field}"`),
  ])
  expect(judgeInFolder(kind, 'one', spec).faults).toEqual([
    { field, message: expect.stringContaining(`unknown field ${field}`) },
  ])
})

it.each(['a', 'a.b', 'a-1', '1', 'x'.repeat(253)])('both accept the name %s', async (name) => {
  expect((await api.judge('Account', name, {})).accepted).toBe(true)
  expect(judgeInFolder('Account', name, {}).accepted).toBe(true)
})

it.each(['A', 'a_b', '-a', 'a-', 'a..b', 'a.-b', 'a-.b', '.a', 'ä', 'a b', 'x'.repeat(254)])(
  'both refuse the name %s',
  async (name) => {
    expect((await api.judge('Account', name, {})).accepted).toBe(false)
    expect(judgeInFolder('Account', name, {}).accepted).toBe(false)
  },
)
