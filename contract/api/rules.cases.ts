/**
 * Specs that pass and fail every rule, for rules.test.ts. A rule is identified by the start of its message. The schema
 * accepts every spec here, so that only the rule decides.
 */
import type { KindName } from './index.ts'

export interface RuleCase {
  spec: object
  /** The spec before the update; absent: the resource is created. */
  old?: object
}

interface RuleCases {
  passes: RuleCase[]
  fails: RuleCase[]
}

const created = (...specs: object[]): RuleCase[] => specs.map((spec) => ({ spec }))

/** Cases for amountWithinLedger; `at` builds a spec with this amount. */
function amounts(at: (text: string | undefined) => object, negative: boolean): RuleCases {
  const signed = negative ? ['-9000000', '-0.000000001', '-9000000.000000000'] : []
  const beyond = negative ? ['-9000000.000000001', '-9999999'] : []
  return {
    passes: created(...[undefined, '0', '0.000000001', '9000000', '8999999.999999999', ...signed].map(at)),
    fails: created(...['9000000.000000001', '9000001', '9999999.999999999', ...beyond].map(at)),
  }
}

const apiKey = (allowedIPs: string[]) => ({ allowedIPs })

const channel = (more: object) => ({
  type: 'chat_completion',
  baseURL: 'https://api.example.com/v1',
  ...more,
})

/** `count` entries with distinct names. */
const entries = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, 'v']))

const route = (more: object) => ({ model: 'm', channels: [{ name: 'c' }], ...more })

const credit = (amount: string, more: object = {}) => ({ accountRef: { name: 'a' }, amount, ...more })

/** A price that breaks no other rule, with one field set. */
const priced = (field: string) => (text: string | undefined) =>
  route({ price: { input: '1', output: '1', ...(text !== undefined && { [field]: text }) } })

const priceRules = [
  'input',
  'cachedInput',
  'cacheWrite',
  'cacheWriteLong',
  'output',
  'imageInput',
  'audioInput',
  'audioOutput',
  'reasoning',
  'perRequest',
  'perImage',
].map((field) => [`spec.price.${field} must lie within`, amounts(priced(field), false)])

function limitCases(): Record<string, RuleCases> {
  const models = (...names: string[]) => ({
    limits: { models: Object.fromEntries(names.map((name) => [name, { requestsPerMinute: 1 }])) },
  })
  const queued = (queue: object) => ({ limits: { onLimit: 'Queue', queue } })
  const many = (count: number) => models(...Array.from({ length: count }, (_, i) => `m${i}`))
  return {
    'spec.limits.models may have at most 32': {
      passes: created({}, { limits: {} }, many(0), many(32)),
      fails: created(many(33)),
    },
    'spec.limits.queue needs': {
      passes: created(
        { limits: {} },
        { limits: { onLimit: 'Queue' } },
        { limits: { onLimit: 'Queue', queue: {} } },
      ),
      fails: created({ limits: { queue: {} } }, { limits: { onLimit: 'Reject', queue: { requests: 1 } } }),
    },
    'spec.limits.queue.wait must be': {
      passes: created(queued({}), queued({ wait: '60s' }), queued({ wait: '1m' }), queued({ wait: '500ms' })),
      fails: created(queued({ wait: '61s' }), queued({ wait: '1h' })),
    },
    'spec.limits.models must name models': {
      passes: created(
        { limits: { requestsPerMinute: 1 } },
        models('*', 'a/b:c', 'x'.repeat(256), '*'.repeat(8)),
      ),
      fails: created(models(''), models('x'.repeat(257)), models('fine', '*'.repeat(9))),
    },
  }
}

function budgetCases(): Record<string, RuleCases> {
  const models = (...names: string[]) => ({
    budget: { models: Object.fromEntries(names.map((name) => [name, { amount: '1' }])) },
  })
  const many = (count: number) => models(...Array.from({ length: count }, (_, i) => `m${i}`))
  return {
    'spec.budget needs an amount': {
      passes: created({}, { budget: { amount: '0' } }, models('m'), { budget: { models: {} } }),
      fails: created({ budget: {} }, { budget: { period: 'Day' } }),
    },
    'spec.budget.amount must lie within': amounts(
      (text) => (text === undefined ? {} : { budget: { amount: text, period: 'Day' } }),
      false,
    ),
    'spec.budget.models may have at most 32': {
      passes: created({}, { budget: { amount: '1' } }, many(0), many(32)),
      fails: created(many(33)),
    },
    'spec.budget.models must name models': {
      passes: created({ budget: { amount: '1' } }, models('*', 'a/b:c', 'x'.repeat(256), '*'.repeat(8))),
      fails: created(models(''), models('x'.repeat(257)), models('fine', '*'.repeat(9))),
    },
  }
}

export const RULE_CASES: Record<KindName, Record<string, RuleCases>> = {
  ApiKey: {
    ...limitCases(),
    ...budgetCases(),
    'spec has more than one of secretRef': {
      passes: created(
        {},
        { secretRef: { name: 's' } },
        { secretRefs: [{ name: 's' }] },
        { hashes: ['a'.repeat(64)] },
      ),
      fails: created(
        { secretRef: { name: 's' }, hashes: ['a'.repeat(64)] },
        { secretRef: { name: 's' }, secretRefs: [{ name: 's' }] },
        { secretRefs: [{ name: 's' }], hashes: ['a'.repeat(64)] },
        { secretRef: { name: 's' }, secretRefs: [{ name: 's' }], hashes: ['a'.repeat(64)] },
      ),
    },
    'spec.allowedIPs must be': {
      passes: created(
        {},
        ...[
          [],
          ['192.0.2.7'],
          ['192.0.2.0/24', '2001:db8::/32', '::1'],
          ['192.0.2.7/24', '0.0.0.0/0', '::/0'],
          ['2001:DB8:0:0:0:0:0:1', '::1.2.3.4'],
          ['::ffff:1', '::fffe:1.2.3.4', '1:2:3:4:5:6:7::'],
        ].map(apiKey),
      ),
      fails: created(
        ...[
          'localhost',
          '192.0.2.256',
          '192.0.2.07',
          '192.0.2',
          '192.0.2.7 ',
          '192.0.2.0/33',
          '192.0.2.0/024',
          '192.0.2.0/+8',
          '192.0.2.0/',
          '192.0.2.0/24/24',
          '::/129',
          'fe80::1%eth0',
          'fe80::%eth0/64',
          '::ffff:192.0.2.7',
          '::ffff:c000:207',
          '0:0:0:0:0:ffff:192.0.2.7',
          '0:0:0:0:0:FFFF:c000:207',
          '::ffff:192.0.2.0/120',
          '1:2:3:4:5:6:7:8:9',
          '1::2::3',
          '[::1]',
        ].map((bad) => apiKey(['192.0.2.7', bad])),
      ),
    },
  },
  Account: {
    ...limitCases(),
    ...budgetCases(),
    'spec.overdraft must lie within': amounts(
      (text) => (text === undefined ? {} : { overdraft: text }),
      false,
    ),
  },
  Credit: {
    'spec.amount must lie within': amounts((text) => credit(text ?? '1'), true),
    'a Credit cannot be changed': {
      passes: [
        { spec: credit('1') },
        { spec: credit('1'), old: credit('1') },
        { spec: credit('1', { note: 'n' }), old: credit('1', { note: 'n' }) },
      ],
      fails: [
        { spec: credit('2'), old: credit('1') },
        { spec: credit('1.0'), old: credit('1') },
        { spec: credit('1', { note: 'n' }), old: credit('1') },
        { spec: credit('1'), old: credit('1', { note: 'n' }) },
        { spec: credit('1', { accountRef: { name: 'b' } }), old: credit('1') },
      ],
    },
  },
  Channel: {
    'spec.auth.header must be': {
      passes: created(
        channel({}),
        channel({ auth: { scheme: 'Bearer' } }),
        channel({ auth: { scheme: 'Header', header: 'x-key' } }),
      ),
      fails: created(
        channel({ auth: { scheme: 'Header' } }),
        channel({ auth: { scheme: 'None', header: 'x-key' } }),
      ),
    },
    'the names in spec.headers': {
      passes: created(
        channel({}),
        channel({ headers: {} }),
        channel({ headers: { 'x-a': '', "!#$%&'*+-.^_`|~09azAZ": 'v', ['n'.repeat(128)]: 'v' } }),
      ),
      fails: created(
        channel({ headers: { '': 'v' } }),
        channel({ headers: { 'x a': 'v' } }),
        channel({ headers: { 'x:a': 'v' } }),
        channel({ headers: { 'x-a\n': 'v' } }),
        channel({ headers: { 'x-ä': 'v' } }),
        channel({ headers: { 'x-a': 'v', ['n'.repeat(129)]: 'v' } }),
      ),
    },
    'spec.headers must not contain': {
      passes: created(channel({}), channel({ headers: { 'x-host': 'v', 'content-lengths': 'v' } })),
      fails: created(
        ...['host', 'Host', 'Content-Length', 'TRANSFER-ENCODING', 'connection', 'te', 'accept-encoding'].map(
          (name) => channel({ headers: { 'x-a': 'v', [name]: 'v' } }),
        ),
      ),
    },
    'spec.headers may have at most': {
      passes: created(channel({}), channel({ headers: entries(0) }), channel({ headers: entries(32) })),
      fails: created(channel({ headers: entries(33) })),
    },
    'the names in spec.query': {
      passes: created(
        channel({}),
        channel({ query: { 'api-version': '2026-01-01', ['n'.repeat(128)]: '' } }),
        channel({ query: { ['😀'.repeat(128)]: '' } }),
      ),
      fails: created(
        channel({ query: { '': 'v' } }),
        channel({ query: { ok: 'v', ['n'.repeat(129)]: 'v' } }),
        channel({ query: { ['😀'.repeat(129)]: '' } }),
      ),
    },
    'spec.query may have at most': {
      passes: created(channel({}), channel({ query: entries(32) })),
      fails: created(channel({ query: entries(33) })),
    },
  },
  ModelRoute: {
    'spec.retry.on is now': {
      passes: created(route({}), route({ retry: {} }), route({ retry: { classes: ['transient'] } })),
      fails: created(
        route({ retry: { on: [] } }),
        route({ retry: { on: ['transient'], classes: ['transient'] } }),
      ),
    },
    'spec.listed is only allowed': {
      passes: created(route({}), route({ model: '*', listed: ['a'] }), route({ model: 'a-*', listed: [] })),
      fails: created(route({ listed: [] }), route({ listed: ['m'] })),
    },
    'spec.listed contains a model': {
      passes: created(
        route({ model: 'a-*', listed: ['a-b', 'a-b-c'] }),
        route({ model: '*', listed: ['a'] }),
        route({ model: '\u{1f600}*', listed: ['\u{1f600}b'] }),
      ),
      fails: created(
        route({ model: 'a-*', listed: ['a-'] }),
        route({ model: 'a-*', listed: ['a-b', 'b'] }),
        route({ model: 'a-*', listed: ['A-b'] }),
        route({ model: '\u{1f600}*', listed: ['\u{1f600}'] }),
      ),
    },
    'spec.price has only one of input and output': {
      passes: created(
        route({}),
        route({ free: true }),
        route({ price: { perRequest: '1' } }),
        route({ price: { input: '0', output: '0' } }),
      ),
      fails: created(
        route({ price: { input: '1' } }),
        route({ price: { output: '1', perRequest: '1' } }),
        route({ price: { input: '1', cachedInput: '1' } }),
      ),
    },
    'spec has both price and free': {
      passes: created(
        route({}),
        route({ free: true }),
        route({ free: false, price: { perImage: '1' } }),
        route({ price: { perImage: '1' } }),
      ),
      fails: created(route({ free: true, price: { perImage: '1' } }), route({ free: true, price: {} })),
    },
    'spec.price.images needs': {
      passes: created(
        route({ price: { perImage: '1' } }),
        route({ price: { perImage: '1', images: [{ size: '1x1', amount: '2' }] } }),
      ),
      fails: created(route({ price: { perRequest: '1', images: [{ amount: '2' }] } })),
    },
    'spec.price needs': {
      passes: created(
        route({}),
        route({ free: true }),
        route({ price: { input: '0', output: '0' } }),
        route({ price: { perRequest: '0' } }),
        route({ price: { perImage: '1' } }),
      ),
      fails: created(
        route({ price: {} }),
        route({ price: { cachedInput: '1' } }),
        route({ price: { cacheWrite: '1', cacheWriteLong: '1', multipliers: { fast: '2' } } }),
      ),
    },
    'spec.price.above names': {
      passes: created(
        route({ price: { input: '1', output: '1', above: [{ tokens: 1, input: '2', output: '2' }] } }),
      ),
      fails: created(
        route({
          price: {
            ...{ input: '1', output: '1' },
            above: [
              { tokens: 5, input: '2', output: '2' },
              { tokens: 5, input: '3', output: '3' },
            ],
          },
        }),
      ),
    },
    'spec.price.above needs': {
      passes: created(
        route({ price: { perRequest: '1' } }),
        route({ price: { input: '1', output: '1', above: [{ tokens: 1, input: '2', output: '2' }] } }),
      ),
      fails: created(route({ price: { perRequest: '1', above: [{ tokens: 1, input: '2', output: '2' }] } })),
    },
    ...Object.fromEntries(priceRules),
  },
}
