/** Each kind accepts a spec with every field set, and refuses misspelt fields, wrong types and values out of range. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { KINDS, type Kind, type KindName } from './index.ts'

const FULL: Record<KindName, object> = {
  ApiKey: {
    accountRef: { name: 'research' },
    disabled: false,
    expiresAt: '2027-12-31T23:59:59+01:00',
    models: ['gpt-*', '*'],
    allowedIPs: ['192.0.2.0/24'],
    limits: { requestsPerMinute: 60, tokensPerMinute: 100_000, concurrentRequests: 4 },
    budget: { amount: '5', softLimit: [50], models: { 'gpt-4o*': { amount: '1', period: 'Day' } } },
    secretRef: { name: 'alice', key: 'token' },
    secretRefs: [{ name: 'alice', key: 'token', notAfter: '2027-12-31T23:59:59Z' }],
    hashes: ['0'.repeat(64)],
  },
  Account: {
    parent: { name: 'company' },
    disabled: true,
    overdraft: '10.50',
    enforcement: 'Unlimited',
    limits: { requestsPerMinute: 1, tokensPerMinute: 1, concurrentRequests: 1 },
    budget: { amount: '100', period: 'Month', timeZone: 'Europe/Berlin' },
    lowBalance: ['10', '0.5'],
    metrics: true,
  },
  Credit: { accountRef: { name: 'research' }, amount: '-25.00', note: 'a correction' },
  Channel: {
    type: 'messages',
    baseURL: 'http://[::1]:8080/v1',
    auth: { scheme: 'Header', header: 'x-key' },
    secretRef: { name: 'provider', key: 'key' },
    headers: { 'x-team': 'research' },
    query: { 'api-version': '2026-01-01' },
    profile: 'anthropic',
    features: {
      streamUsage: false,
      embeddings: true,
      images: false,
      maxCompletionTokens: true,
      developerRole: true,
      sampling: false,
      reasoning: 'Budget',
      efforts: ['none', 'xhigh'],
      reasoningHistory: 'All',
      structuredOutput: true,
      customTools: true,
      webSearch: true,
      systemTurns: true,
      prefill: true,
      cacheMarks: true,
      nullContent: false,
      speed: true,
    },
    timeouts: { connect: '5s', firstByte: '1m', idle: '250ms', total: '1h30m', drain: '10s' },
    onDisconnect: 'Drain',
    maxConcurrentRequests: 8,
    tls: {
      caRef: { name: 'ca', key: 'ca.crt' },
      clientCertificateRef: { name: 'client' },
      serverName: 'upstream.internal',
    },
    ejection: { consecutiveFailures: 0, interval: '30s', maxInterval: '300s' },
    errorMessages: 'Generic',
    disabled: false,
  },
  ModelRoute: {
    model: 'team/*',
    channels: [{ name: 'one', model: 'x-*', priority: 0, weight: 0, profile: 'openai' }],
    affinity: { mode: 'Session', ttl: '24h' },
    listed: ['team/a', 'team/b'],
    retry: { attempts: 5, classes: ['transient', 'rate_limit'], perTryTimeout: '30s' },
    conversion: { unsupported: 'Reject' },
    rewriteModel: true,
    maxOutputTokens: 4096,
    outputLimit: 'Held',
    contextLength: 128_000,
    price: {
      input: '3',
      cachedInput: '0.3',
      cacheWrite: '3.75',
      cacheWriteLong: '6',
      output: '15',
      imageInput: '4',
      audioInput: '40',
      audioOutput: '80',
      reasoning: '10',
      perCall: { webSearch: '0.01', fileSearch: '0.0025', codeInterpreter: '0.03' },
      above: [{ tokens: 200_000, input: '6', output: '22.5' }],
      perRequest: '0.000000001',
      perImage: '0.04',
      multipliers: { flex: '0.5', scale: '1', priority: '1.75', fast: '6', ultrafast: '12' },
    },
    free: false,
    display: { name: 'Team model', description: 'For tests.', owner: 'us' },
  },
}

/** The smallest spec of each kind, and the same with its defaults. */
const MINIMAL: Record<KindName, { spec: object; filled: object }> = {
  ApiKey: { spec: { secretRef: { name: 's' } }, filled: { secretRef: { name: 's', key: 'key' } } },
  Account: { spec: {}, filled: { enforcement: 'Enforced' } },
  Credit: {
    spec: { accountRef: { name: 'a' }, amount: '1' },
    filled: { accountRef: { name: 'a' }, amount: '1' },
  },
  Channel: {
    spec: { type: 'responses', baseURL: 'https://a.example', tls: { caRef: { name: 'ca' } } },
    filled: {
      type: 'responses',
      baseURL: 'https://a.example',
      tls: { caRef: { name: 'ca', key: 'ca.crt' } },
    },
  },
  ModelRoute: {
    spec: { model: 'm', channels: [{ name: 'c' }], affinity: {}, retry: {}, conversion: {} },
    filled: {
      model: 'm',
      channels: [{ name: 'c', priority: 0, weight: 1 }],
      affinity: { mode: 'None', ttl: '1h' },
      retry: { attempts: 3 },
      conversion: { unsupported: 'Drop' },
    },
  },
}

/** Changes to the full spec (null removes a field) that the schema must refuse. */
const BAD: Record<KindName, Record<string, object>> = {
  ApiKey: {
    'a boolean as text': { disabled: 'true' },
    'an invalid object name': { accountRef: { name: 'Not_A_Name' } },
    'an unknown field inside': { secretRef: { name: 's', kye: 'k' } },
    'a limit of zero': { limits: { requestsPerMinute: 0 } },
    'a limit that is not an integer': { limits: { tokensPerMinute: 1.5 } },
    'an instant without a zone': { expiresAt: '2027-12-31T23:59:59' },
    'a day that does not exist': { expiresAt: '2027-02-29T00:00:00Z' },
    'nine stars in a glob': { models: ['*a*a*a*a*a*a*a*a*'] },
    'an empty glob': { models: [''] },
    'too many globs': { models: Array.from({ length: 257 }, () => '*') },
    'a digest in capitals': { hashes: ['A'.repeat(64)] },
    'no digest at all': { hashes: [] },
    'a short digest': { hashes: ['0'.repeat(63)] },
  },
  Account: {
    'a number for dollars': { overdraft: 10 },
    'a negative overdraft': { overdraft: '-1' },
    'ten decimals': { overdraft: '0.0000000001' },
    'an unknown word': { enforcement: 'Never' },
    'a budget of a model without an amount': { budget: { models: { m: { period: 'Day' } } } },
    'a budget of a year': { budget: { amount: '1', period: 'Year' } },
    'a budget in a time zone with a blank': { budget: { amount: '1', timeZone: 'New York' } },
    'a soft limit of 0': { budget: { amount: '1', softLimit: [0] } },
    'a soft limit above 100': { budget: { amount: '1', softLimit: [101] } },
    'a low balance below zero': { lowBalance: ['-1'] },
    'a text for an object': { parent: 'company' },
  },
  Credit: {
    'a number for dollars': { amount: 25 },
    'an exponent': { amount: '1e3' },
    'no amount': { amount: null },
    'no account': { accountRef: null },
    'a long note': { note: 'n'.repeat(1025) },
  },
  Channel: {
    'an unknown type': { type: 'chat' },
    'no type': { type: null },
    'another scheme': { baseURL: 'ftp://a.example' },
    'a query in the URL': { baseURL: 'https://a.example/v1?x=1' },
    'a password in the URL': { baseURL: 'https://u:p@a.example/v1' },
    'a header value with a line break': { headers: { 'x-a': 'a\nb' } },
    'a header value that is a number': { headers: { 'x-a': 1 } },
    'a duration without a unit': { timeouts: { idle: '30' } },
    'a duration that is too long for a timer': { timeouts: { idle: '999h' } },
    'no room for requests': { maxConcurrentRequests: 0 },
    'a negative count': { ejection: { consecutiveFailures: -1 } },
    'an unknown profile': { profile: 'best' },
    'an unknown feature': { features: { vision: true } },
    'a feature that is a word': { features: { sampling: 'yes' } },
    'an unknown kind of reasoning': { features: { reasoning: 'effort' } },
    'an unknown level': { features: { efforts: ['low', 'extreme'] } },
    'no level': { features: { efforts: [] } },
    'an unknown reasoning history': { features: { reasoningHistory: 'Last' } },
  },
  ModelRoute: {
    'no channel': { channels: [] },
    'too many channels': { channels: Array.from({ length: 33 }, (_, i) => ({ name: `c${i}` })) },
    'a star in the middle': { model: 'a*b' },
    'a space in the model': { model: 'a b' },
    'an empty model': { model: '' },
    'no attempt': { retry: { attempts: 0 } },
    'six attempts': { retry: { attempts: 6 } },
    'a class that never helps': { retry: { classes: ['caller_fault'] } },
    'a negative price': { price: { perImage: '-1' } },
    'a price that is a number': { price: { perImage: 1 } },
    'an unknown tier': { price: { multipliers: { slow: '1' } } },
    'a factor of a thousand': { price: { multipliers: { fast: '1000' } } },
    'a weight below zero': { channels: [{ name: 'c', weight: -1 }] },
  },
}

const kinds: Kind[] = Object.values(KINDS)
const of = <Value>(table: Record<KindName, Value>, kind: Kind) =>
  new Map(Object.entries(table)).get(kind.kind)

describe.each(kinds)('schema of $kind', (kind) => {
  const full = of(FULL, kind) ?? {}
  const minimal = of(MINIMAL, kind)

  it('accepts every field', () => {
    expect(kind.spec.parse(full)).toEqual(full)
    const { properties } = z
      .object({ properties: z.record(z.string(), z.unknown()) })
      .parse(z.toJSONSchema(kind.spec))
    expect(Object.keys(full).sort()).toEqual(Object.keys(properties).sort())
  })

  it('fills in the defaults', () => {
    expect(kind.spec.parse(minimal?.spec)).toEqual(minimal?.filled)
  })

  it('refuses an unknown field', () => {
    expect(kind.spec.safeParse({ ...full, unknownField: 1 }).error?.issues).toMatchObject([
      { code: 'unrecognized_keys', keys: ['unknownField'] },
    ])
  })

  it.each(['spec', 1, null, []])('refuses %j instead of a spec', (value) => {
    expect(kind.spec.safeParse(value).success).toBe(false)
  })

  it.each(Object.entries(of(BAD, kind) ?? {}))('refuses %s', (_, change) => {
    const spec = Object.fromEntries(
      Object.entries({ ...full, ...change }).filter(([, value]) => value !== null),
    )
    const { error } = kind.spec.safeParse(spec)
    expect(new Set(error?.issues.map((issue) => issue.path[0]))).toEqual(new Set(Object.keys(change)))
  })

  it('has a status with conditions and its own fields', () => {
    const condition = {
      type: 'Ready',
      status: 'Unknown',
      observedGeneration: 3,
      lastTransitionTime: '2026-11-21T00:00:00Z',
      reason: 'Pending',
      message: 'Waiting for the controller',
    }
    expect(kind.status.safeParse({ conditions: [condition] }).success).toBe(true)
    expect(kind.status.safeParse({}).success).toBe(true)
    expect(kind.status.safeParse({ conditions: [{ ...condition, status: true }] }).success).toBe(false)
    expect(kind.status.safeParse({ conditions: [{ ...condition, reason: 'two words' }] }).success).toBe(false)
    expect(kind.status.safeParse({ unknownField: 1 }).success).toBe(false)
  })
})
