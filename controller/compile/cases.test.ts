/** Hand-written expectations for the golden cases: a golden file alone agrees with anything. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { objectId, ownAccountId } from '../../contract/ids.ts'
import type { Compiled, GeneratedKey, Snapshot } from '../snapshot.ts'
import { emptySnapshot, SecretData } from '../snapshot.ts'
import { Catalogue } from '../source/folder/catalogue.ts'
import { compile } from './index.ts'

const NOW = Date.UTC(2026, 0, 1)

function compileCase(name: string, now = NOW): Compiled {
  const text = readFileSync(join(import.meta.dirname, 'testdata', `${name}.in.yaml`), 'utf8')
  const catalogue = new Catalogue({ namespace: 'default', env: {} })
  return compile(catalogue.update([{ path: name, text }], 0).snapshot, now)
}

function statusOf(compiled: Compiled, object: string) {
  const found = compiled.statuses.find(({ kind, metadata }) => `${kind}/${metadata.name}` === object)
  if (found === undefined) throw new Error(`no status of ${object}`)
  return found
}

/** "True Accepted" */
function condition(compiled: Compiled, object: string, type: string): string {
  const found = statusOf(compiled, object).conditions.find((c) => c.type === type)
  return `${found?.status} ${found?.reason}`
}

function message(compiled: Compiled, object: string, type: string): string {
  return statusOf(compiled, object).conditions.find((c) => c.type === type)?.message ?? ''
}

const publishedNames = (compiled: Compiled) => [...compiled.keys.values()].map(({ name }) => name).sort()
const table = (compiled: Compiled) => compiled.table.namespaces.default ?? { routes: [], channels: {} }
const route = (compiled: Compiled, name: string) => table(compiled).routes.find((r) => r.name === name)
const team = objectId('default', 'team')

describe('keys', () => {
  it('become a record under the SHA-256 of the value in the Secret', () => {
    const compiled = compileCase('minimal')
    // printf %s sk-client-0123456789-not-to-be-seen | sha256sum
    const hash = '2e484a48779a699d85893dd0d0c607b6c8be1664c3582cfadf25c6e771da373a'
    expect(compiled.keys.get(hash)).toMatchObject({ name: 'alice', preview: '...seen', account: team })
    expect(statusOf(compiled, 'ApiKey/alice').fields).toEqual({ preview: '...seen', secretName: 'client' })
  })

  it('may be given by several hashes', () => {
    const compiled = compileCase('key-hashes')
    expect(compiled.keys.get('ab'.repeat(32))?.preview).toBe('sha256:abababab')
    expect(compiled.keys.get('cd'.repeat(32))).toMatchObject({
      preview: 'sha256:cdcdcdcd',
      expiresAt: Date.UTC(2027, 0, 1),
      models: ['small', 'big-*'],
      allowedIPs: ['192.0.2.0/24', '2001:db8::1'],
    })
    expect(compiled.keys.get('ef'.repeat(32))?.disabled).toBe(true)
  })

  it('are not published without a value', () => {
    const compiled = compileCase('key-without-value')
    expect(publishedNames(compiled)).toEqual([])
    for (const name of ['absent-entry', 'absent-secret', 'empty-entry', 'neither']) {
      expect(condition(compiled, `ApiKey/${name}`, 'ResolvedRefs')).toBe('False RefNotFound')
      expect(message(compiled, `ApiKey/${name}`, 'ResolvedRefs')).toContain('spec.secretRef')
    }
  })

  it('are visible ASCII; a short one is served with a warning and never shown', () => {
    const compiled = compileCase('key-characters')
    expect(publishedNames(compiled)).toEqual(['short', 'stripped'])
    expect(condition(compiled, 'ApiKey/short', 'Accepted')).toBe('True ShortKey')
    expect(statusOf(compiled, 'ApiKey/short').fields.preview).toBe('...')
    expect(statusOf(compiled, 'ApiKey/stripped').fields.preview).toBe('...abcd')
    expect(condition(compiled, 'ApiKey/umlaut', 'ResolvedRefs')).toBe('False Invalid')
    expect(condition(compiled, 'ApiKey/spaced', 'ResolvedRefs')).toBe('False Invalid')
  })

  it('belong to the oldest ApiKey that has them', () => {
    const compiled = compileCase('key-conflict')
    expect(publishedNames(compiled)).toEqual(['a-old', 'free'])
    for (const name of ['b-old', 'young', 'partly'])
      expect(condition(compiled, `ApiKey/${name}`, 'Accepted')).toBe('False Conflicted')
  })

  it('have their limits as counters', () => {
    const { keys, accounts } = compileCase('key-limits')
    const [minute, day] = [60_000, 86_400_000]
    expect(keys.get('12'.repeat(32))).toMatchObject({
      account: team,
      limits: [
        { id: 'rm', kind: 'requests', most: 60, windowMs: minute },
        { id: 'td', kind: 'tokens', most: 1_000_000, windowMs: day },
        { id: 'c', kind: 'concurrent', most: 3, windowMs: 0 },
      ],
    })
    expect(accounts.get(team)?.limits).toEqual([{ id: 'c', kind: 'concurrent', most: 10, windowMs: 0 }])
    expect(accounts.get(objectId('default', 'sub'))?.parent?.limits).toHaveLength(1)
  })

  it('without an account have one that counts their requests, if they have limits', () => {
    const { keys, accounts } = compileCase('key-limits')
    const own = ownAccountId('default', 'unmetered')
    const { account, limits = [] } = keys.get('34'.repeat(32)) ?? {}
    expect(account).toBe(own)
    expect(accounts.get(own)).toMatchObject({ enforced: false, ofKey: true })
    expect(limits.map(({ kind, most, model }) => [kind, most, model])).toEqual([
      ['requests', 1_000, undefined],
      ['tokens', 5_000, 'gpt-4o*'],
      ['requests', 1, 'exact'],
    ])
    expect(new Set(limits.map(({ id }) => id)).size).toBe(3)
    for (const { id } of limits) expect(id).toMatch(/^[a-z0-9/]+$/)
    expect(keys.get('56'.repeat(32))?.account).toBeUndefined()
    expect(keys.get('78'.repeat(32))?.limits).toEqual([
      { id: 'rm', kind: 'requests', most: 60, windowMs: 60_000 },
      { id: 'c', kind: 'concurrent', most: 1, windowMs: 0, queue: { most: 100, waitMs: 30_000 } },
    ])
  })

  it('have an account of their own if they have budgets and no Account', () => {
    const hashes = ['9'.repeat(64)]
    const metadata = { namespace: 'default', name: 'alice', generation: 1, createdAt: 0 }
    const given = (budget: Snapshot['apiKeys'][number]['spec']['budget']) => ({
      ...emptySnapshot(),
      apiKeys: [{ kind: 'ApiKey', metadata, spec: { hashes, budget } }],
    })
    const { keys, accounts } = compile(given({ amount: '2', period: 'Week' }), NOW)
    const own = ownAccountId('default', 'alice')
    expect(keys.get(hashes[0] ?? '')).toMatchObject({
      account: own,
      budgets: [{ id: 'week', most: 2_000_000_000, period: 'Week', timeZone: 'UTC' }],
    })
    expect(accounts.get(own)).toMatchObject({ enforced: false, ofKey: true })
    const refused = compile(given({ amount: '2', timeZone: 'Mars/Base' }), NOW)
    expect([refused.keys.size, refused.accounts.size]).toEqual([0, 0])
  })

  it('of an account that cannot pay are published without its record', () => {
    const compiled = compileCase('key-account-missing')
    expect(compiled.keys.get('56'.repeat(32))?.account).toBe(objectId('default', 'missing'))
    expect(compiled.keys.get('78'.repeat(32))?.account).toBe(objectId('default', 'limited'))
    expect(compiled.accounts.size).toBe(0)
    expect(condition(compiled, 'ApiKey/absent', 'ResolvedRefs')).toBe('False RefNotFound')
    expect(condition(compiled, 'ApiKey/refused', 'ResolvedRefs')).toBe('False RefNotInForce')
  })

  it('of one namespace are not named in another', () => {
    const snapshot = emptySnapshot()
    for (const [namespace, createdAt] of [
      ['one', 1],
      ['two', 2],
    ] as const) {
      const metadata = { namespace, name: `of-${namespace}`, generation: 1, createdAt }
      snapshot.apiKeys.push({ kind: 'ApiKey', metadata, spec: { secretRef: { name: 's', key: 'key' } } })
      snapshot.secrets.set(`${namespace}/s`, new SecretData([['key', 'one-and-the-same-key-value']]))
    }
    const compiled = compile(snapshot, NOW)
    expect(publishedNames(compiled)).toEqual(['of-one'])
    expect(condition(compiled, 'ApiKey/of-two', 'Accepted')).toBe('False Conflicted')
    expect(message(compiled, 'ApiKey/of-two', 'Accepted')).not.toContain('of-one')
  })
})

describe('a key that expires', () => {
  const END = Date.UTC(2027, 0, 1)
  const HOUR = 3_600_000
  const hash = 'ab'.repeat(32)
  const metadata = { namespace: 'default', name: 'alice', generation: 1, createdAt: 0 }
  const spec = { hashes: [hash], expiresAt: '2027-01-01T00:00:00Z' }
  // The same object throughout, as from the sources.
  const snapshot = { ...emptySnapshot(), apiKeys: [{ kind: 'ApiKey', metadata, spec }] }

  it.each([
    ['long before', END - 24 * HOUR - 1, 'True Accepted', 'the spec is valid', END - 24 * HOUR],
    [
      'a day before',
      END - 24 * HOUR,
      'True Expiring',
      'at 2027-01-01T00:00:00.000Z, within a day',
      END - HOUR,
    ],
    ['just before the last hour', END - HOUR - 1, 'True Expiring', 'within a day', END - HOUR],
    ['an hour before', END - HOUR, 'True Expiring', 'within an hour', END],
    ['a moment before', END - 1, 'True Expiring', 'within an hour', END],
    ['at the end', END, 'False Expired', 'expired at 2027-01-01T00:00:00.000Z', Number.POSITIVE_INFINITY],
    ['before it, the clock having been set back', END - 1, 'True Expiring', 'within an hour', END],
  ])('%s', (_, now, accepted, words, until) => {
    const compiled = compile(snapshot, now)
    expect(condition(compiled, 'ApiKey/alice', 'Accepted')).toBe(accepted)
    expect(message(compiled, 'ApiKey/alice', 'Accepted')).toContain(words)
    expect(compiled.until).toBe(until)
    expect(statusOf(compiled, 'ApiKey/alice').inForce).toBe(now < END)
    expect(compiled.keys.get(hash)?.expiresAt).toBe(now < END ? END : undefined)
  })

  it('leaves its place to a younger one with the same key', () => {
    const heir = {
      kind: 'ApiKey',
      metadata: { ...metadata, name: 'heir', createdAt: 1 },
      spec: { hashes: [hash] },
    }
    const both = { ...snapshot, apiKeys: [...snapshot.apiKeys, heir] }
    expect(condition(compile(both, END - 1), 'ApiKey/heir', 'Accepted')).toBe('False Conflicted')
    expect(condition(compile(both, END), 'ApiKey/heir', 'Accepted')).toBe('True Accepted')
    expect(compile(both, END).keys.get(hash)).toMatchObject({ name: 'heir' })
  })
})

describe('a key in several Secrets', () => {
  const END = Date.UTC(2027, 0, 1)
  const HOUR = 3_600_000
  const metadata = { namespace: 'default', name: 'alice', generation: 1, createdAt: 0 }
  const old = { name: 'old', key: 'key', notAfter: '2027-01-01T00:00:00Z' }
  const fresh = { name: 'fresh', key: 'key' }
  const secrets = new Map(
    ['old', 'fresh'].map((name) => [
      `default/${name}`,
      new SecretData([['key', `sk-0123456789-abcdef-${name}`]]),
    ]),
  )
  const given = (spec: Snapshot['apiKeys'][number]['spec']) => ({
    ...emptySnapshot(),
    apiKeys: [{ kind: 'ApiKey', metadata, spec }],
    secrets,
  })
  const ends = (compiled: Compiled) =>
    [...compiled.keys.values()].map(({ preview, expiresAt }) => `${preview} ${expiresAt}`)

  it('is in force with each, the old one until its notAfter', () => {
    const rotating = given({ secretRefs: [old, fresh] })
    const before = compile(rotating, END - 1)
    expect(ends(before)).toEqual([`...-old ${END}`, '...resh undefined'])
    expect(statusOf(before, 'ApiKey/alice').fields).toEqual({
      preview: '...-old, ...resh',
      secretName: 'old',
    })
    // One of several keys expires as intended, so that there is no warning.
    expect(condition(before, 'ApiKey/alice', 'Accepted')).toBe('True Accepted')
    expect(before.until).toBe(END)
    const after = compile(rotating, END)
    expect(ends(after)).toEqual(['...resh undefined'])
    expect(statusOf(after, 'ApiKey/alice').fields).toMatchObject({ preview: '...resh' })
    expect(condition(after, 'ApiKey/alice', 'Accepted')).toBe('True Accepted')
  })

  it('ignores a Secret whose time is over', () => {
    const gone = { ...given({ secretRefs: [old, fresh] }), secrets: new Map([...secrets].slice(1)) }
    expect(condition(compile(gone, END - 1), 'ApiKey/alice', 'ResolvedRefs')).toBe('False RefNotFound')
    expect(condition(compile(gone, END), 'ApiKey/alice', 'ResolvedRefs')).toBe('True ResolvedRefs')
  })

  it('follows changes in any of them', () => {
    const rotating = given({ secretRefs: [old, fresh] })
    compile(rotating, NOW)
    const renewed = new Map(secrets).set(
      'default/fresh',
      new SecretData([['key', 'sk-0123456789-abcdef-anew']]),
    )
    expect(ends(compile({ ...rotating, secrets: renewed }, NOW))).toEqual([
      `...-old ${END}`,
      '...anew undefined',
    ])
  })

  it('expires with the last of them, or at expiresAt', () => {
    const last = compile(given({ secretRefs: [old] }), END - HOUR)
    expect(condition(last, 'ApiKey/alice', 'Accepted')).toBe('True Expiring')
    const over = compile(given({ secretRefs: [old] }), END)
    expect(condition(over, 'ApiKey/alice', 'Accepted')).toBe('False Expired')
    expect(message(over, 'ApiKey/alice', 'Accepted')).toContain('spec.secretRefs')
    const expiresAt = '2026-12-01T00:00:00Z'
    const sooner = compile(given({ secretRefs: [old, fresh], expiresAt }), NOW)
    expect(ends(sooner)).toEqual([`...-old ${Date.parse(expiresAt)}`, `...resh ${Date.parse(expiresAt)}`])
  })

  it('is a single key if two of them are equal, as long as either lasts', () => {
    const twice = new Map(secrets).set('default/fresh', secrets.get('default/old') ?? new SecretData([]))
    for (const secretRefs of [
      [old, fresh],
      [fresh, old],
    ])
      expect(ends(compile({ ...given({ secretRefs }), secrets: twice }, NOW))).toEqual(['...-old undefined'])
  })
})

describe('accounts and credits', () => {
  it('have overdraft, enforcement and disabled in their records', () => {
    const { accounts } = compileCase('accounts')
    expect([...accounts.values()].map(({ name }) => name).sort()).toEqual([
      ...['allowance', 'plain', 'renewing', 'sub', 'unlimited'],
    ])
    expect(accounts.get(objectId('default', 'plain'))).toMatchObject({
      disabled: true,
      enforced: true,
      overdraft: 2_500_000_000,
    })
    expect(accounts.get(objectId('default', 'unlimited'))).toMatchObject({ enforced: false, overdraft: 0 })
  })

  it('say that they are disabled', () => {
    expect(condition(compileCase('accounts'), 'Account/plain', 'Accepted')).toBe('True Disabled')
  })

  it('have their budgets in their records', () => {
    const { accounts } = compileCase('accounts')
    const renewing = accounts.get(objectId('default', 'renewing'))
    const berlin = { timeZone: 'Europe/Berlin', softLimit: [50, 90] }
    expect(renewing?.budgets).toEqual([
      { id: 'month', most: 10_000_000_000, period: 'Month', ...berlin },
      {
        id: expect.stringMatching(/^day\/[a-f0-9]+$/),
        most: 2_500_000_000,
        period: 'Day',
        model: 'gpt-4o*',
        ...berlin,
      },
    ])
    expect([renewing?.lowBalance, renewing?.byBudget]).toEqual([[500_000_000, 5_000_000_000], undefined])
    const allowance = accounts.get(objectId('default', 'allowance'))
    expect(allowance?.byBudget).toBe(true)
    expect(allowance?.budgets).toMatchObject([{ timeZone: 'UTC', softLimit: [80, 95] }])
  })

  it('with a budget that cannot be counted are not in force', () => {
    const compiled = compileCase('accounts')
    for (const name of ['nowhere', 'too-much']) {
      expect(condition(compiled, `Account/${name}`, 'Accepted')).toBe('False Invalid')
      expect(compiled.accounts.get(objectId('default', name))).toBeUndefined()
    }
    expect(message(compiled, 'Account/nowhere', 'Accepted')).toContain('no time zone Europe/Atlantis')
    expect(message(compiled, 'Account/too-much', 'Accepted')).toContain('the amount of gpt-4o')
  })

  it('of two levels have the parent of a sub-account beside its own allowance', () => {
    const compiled = compileCase('sub-accounts')
    const id = (name: string) => objectId('default', name)
    expect(compiled.accounts.get(id('team'))).toMatchObject({
      ...{ id: id('team'), overdraft: 1_000_000_000, enforced: false },
      parent: { id: id('company'), overdraft: 2_500_000_000 },
    })
    expect(compiled.accounts.get(id('closed-team'))).toMatchObject({ disabled: true })
    expect(compiled.credits.toSorted((a, b) => a.amount - b.amount)).toEqual([
      { id: 'default/team-june', account: id('company'), sub: id('team'), amount: 20_000_000_000 },
      { id: 'default/company-june', account: id('company'), amount: 100_000_000_000 },
    ])
  })

  it.each([
    ['third-level', 'Accepted', 'False Invalid'],
    ['circle-a', 'Accepted', 'False Invalid'],
    ['circle-b', 'Accepted', 'False Invalid'],
    ['own-parent', 'Accepted', 'False Invalid'],
    ['orphan', 'ResolvedRefs', 'False RefNotFound'],
    ['limited-team', 'ResolvedRefs', 'False RefNotInForce'],
  ] as const)('whose parent cannot pay are not in force: %s', (name, type, verdict) => {
    const compiled = compileCase('sub-accounts')
    expect(condition(compiled, `Account/${name}`, type)).toBe(verdict)
    expect(compiled.accounts.get(objectId('default', name))).toBeUndefined()
  })

  it('become plans in nano-dollars, for accounts that are in force', () => {
    const compiled = compileCase('credits')
    expect(compiled.credits.toSorted((a, b) => a.amount - b.amount)).toEqual([
      { id: 'default/debit', account: team, amount: -1 },
      { id: 'default/gift', account: team, amount: 9_000_000_000_000_000 },
    ])
    expect(condition(compiled, 'Credit/lost', 'ResolvedRefs')).toBe('False RefNotFound')
    expect(condition(compiled, 'Credit/refused', 'ResolvedRefs')).toBe('False RefNotInForce')
  })
})

const TEXT = ['chat', 'responses', 'compact', 'messages', 'count_tokens']
const ALL = [...TEXT, 'embeddings', 'images', 'image_edits']
const IMAGES = ['chat', 'responses', 'messages', 'images', 'image_edits']

describe('channels', () => {
  it.each([
    ['chat-bare', 'http://localhost:8000/v1', 'Bearer', ALL],
    ['chat-slash', 'http://localhost:8000/v1', 'Bearer', ALL],
    ['chat-path', 'https://api.example.com/openai/v2', 'Bearer', ALL],
    ['responses', 'https://api.example.com/v1', 'Bearer', ALL],
    ['embeddings', 'https://api.example.com/v1', 'Bearer', ['embeddings']],
    ['images', 'https://api.example.com/v1', 'Bearer', IMAGES],
    ['messages-bare', 'https://api.example.com', 'XApiKey', TEXT],
    ['messages-version', 'https://api.example.com/v1', 'XApiKey', TEXT],
  ])('%s has its defaults', (name, baseURL, scheme, endpoints) => {
    const compiled = compileCase('channel-defaults')
    expect(table(compiled).channels[name]).toMatchObject({
      baseURL,
      auth: { scheme },
      timeoutsMs: { connect: 5_000, firstByte: 300_000, idle: 120_000, total: 600_000 },
      ejection: { consecutiveFailures: 5, intervalMs: 30_000, maxIntervalMs: 300_000 },
    })
    expect(statusOf(compiled, `Channel/${name}`).fields.endpoints).toEqual(endpoints)
    expect(condition(compiled, `Channel/${name}`, 'Accepted')).toBe('True Accepted')
  })

  it('take over every field', () => {
    expect(table(compileCase('channel-full')).channels.full).toEqual({
      name: 'full',
      type: 'chat_completion',
      baseURL: 'https://gateway.example.com/team',
      auth: { scheme: 'Header', header: 'x-token', secret: 'two words-not-to-be-seen' },
      headers: { 'x-team': 'blue' },
      query: { 'api-version': '2026-01-01' },
      profile: 'anthropic',
      // All overridden, but for images, which the profile rules out.
      features: {
        streamUsage: false,
        finishReason: false,
        embeddings: true,
        images: false,
        maxCompletionTokens: true,
        developerRole: true,
        sampling: false,
        reasoning: 'Adaptive',
        efforts: ['low', 'high'],
        reasoningHistory: 'All',
        structuredOutput: false,
        customTools: true,
        webSearch: false,
        systemTurns: true,
        prefill: false,
        cacheMarks: false,
        nullContent: false,
        speed: true,
        compaction: true,
      },
      timeoutsMs: { connect: 1_000, firstByte: 90_000, idle: 250, total: 3_600_000, drain: 30_000 },
      maxConcurrentRequests: 7,
      tls: {
        serverName: 'api.example.com',
        ca: expect.stringMatching(/^An authority,[\s\S]+-----END CERTIFICATE-----$/),
        clientCertificate: {
          cert: expect.stringMatching(/^A certificate,[\s\S]+-----END CERTIFICATE-----$/),
          key: expect.stringMatching(/^Its key,[\s\S]+-----END PRIVATE KEY-----$/),
        },
      },
      ejection: { consecutiveFailures: 0, intervalMs: 10_000, maxIntervalMs: 60_000 },
    })
  })

  it('are left out if their client certificate cannot be used', () => {
    const compiled = compileCase('channel-certificates')
    expect(Object.keys(table(compiled).channels)).toEqual(['good', 'chain'])
    const refused: Record<string, string> = {
      absent: 'refers to the Secret absent, which does not exist',
      'no-key': ': the Secret no-key has no entry tls.key',
      'no-cert': ': the Secret no-cert has no entry tls.crt',
      garbage: ': the entry tls.crt of the Secret garbage has no PEM certificate',
      half: ': the entry tls.crt of the Secret half has no PEM certificate',
      'bad-key': ': the entry tls.key of the Secret bad-key is not a PEM private key without a passphrase',
      'other-key':
        ': the entry tls.key of the Secret other-key does not belong to the certificate in tls.crt',
    }
    for (const [name, reason] of Object.entries(refused)) {
      expect(condition(compiled, `Channel/${name}`, 'ResolvedRefs')).toMatch(/^False /)
      expect(message(compiled, `Channel/${name}`, 'ResolvedRefs')).toContain(
        `spec.tls.clientCertificateRef${reason.startsWith(':') ? '' : ' '}${reason}`,
      )
    }
    const both = message(compiled, 'Channel/both', 'ResolvedRefs')
    expect(both).toContain('spec.tls.caRef: the entry ca.crt of the Secret both has no PEM certificate')
    expect(both).toContain('spec.tls.clientCertificateRef: the entry tls.crt of the Secret both')
  })

  it('are left out if a reference cannot be resolved, and have no credential without secretRef', () => {
    const compiled = compileCase('channel-secrets')
    expect(Object.keys(table(compiled).channels)).toEqual(['no-credential', 'never-sent'])
    expect(table(compiled).channels['no-credential']?.auth).toEqual({ scheme: 'XApiKey' })
    expect(table(compiled).channels['never-sent']?.auth).toEqual({ scheme: 'None' })
    for (const name of ['absent-secret', 'absent-entry'])
      expect(condition(compiled, `Channel/${name}`, 'ResolvedRefs')).toBe('False RefNotFound')
    for (const name of ['no-header-value', 'no-certificate'])
      expect(condition(compiled, `Channel/${name}`, 'ResolvedRefs')).toBe('False Invalid')
    expect(condition(compiled, 'Channel/no-url', 'Accepted')).toBe('False Invalid')
    expect(condition(compiled, 'Channel/disabled', 'Accepted')).toBe('True Disabled')
  })
})

describe('routes', () => {
  it('keep the channels that remain', () => {
    const compiled = compileCase('route-channels')
    expect(route(compiled, 'mixed')?.targets).toEqual([
      {
        channel: 'hosted',
        model: 'upstream-name',
        priority: 3,
        weight: 5,
        profile: 'openai',
        features: expect.objectContaining({ maxCompletionTokens: true, customTools: true }),
      },
      { channel: 'other-api', priority: 4, weight: 1 },
      {
        channel: 'other-api',
        model: 'older',
        priority: 5,
        weight: 1,
        profile: 'anthropic',
        // Overrides of the channel apply with every profile.
        features: expect.objectContaining({
          reasoning: 'Budget',
          sampling: true,
          prefill: true,
          webSearch: false,
          efforts: ['low', 'medium'],
        }),
      },
    ])
    expect(table(compiled).channels['other-api']?.features).toMatchObject({
      reasoning: 'Adaptive',
      sampling: false,
      webSearch: false,
    })
    expect(condition(compiled, 'ModelRoute/mixed', 'ResolvedRefs')).toBe('False RefNotFound')
    expect(message(compiled, 'ModelRoute/mixed', 'ResolvedRefs')).toMatch(/absent.*broken/)
    expect(statusOf(compiled, 'ModelRoute/mixed').fields.endpoints).toEqual(ALL)
  })

  it('report that no channel can serve them', () => {
    const compiled = compileCase('route-channels')
    expect(condition(compiled, 'ModelRoute/all-off', 'Accepted')).toBe('True Disabled')
    expect(statusOf(compiled, 'ModelRoute/all-off').fields.endpoints).toEqual([])
  })

  it('lose a model to an older one', () => {
    const compiled = compileCase('route-conflict')
    expect(table(compiled).routes.map(({ name }) => name)).toEqual(['old', 'wildcard'])
    expect(condition(compiled, 'ModelRoute/young', 'Accepted')).toBe('False Conflicted')
    expect(route(compiled, 'old')?.created).toBe(Date.UTC(2026, 0, 1) / 1000)
  })

  it('have prices in nano-dollars, with the cheaper kinds at the price of input', () => {
    const compiled = compileCase('route-prices')
    const flat = { perRequest: 0, perImage: 0, multipliers: {} }
    expect(route(compiled, 'by-token')?.price).toEqual({
      ...flat,
      input: 1_250_000_000,
      cachedInput: 1_250_000_000,
      cacheWrite: 1_250_000_000,
      cacheWriteLong: 1_250_000_000,
      output: 10_000_000_000,
    })
    expect(route(compiled, 'by-kind')?.price).toMatchObject({
      cachedInput: 300_000_000,
      cacheWrite: 3_750_000_000,
      cacheWriteLong: 3_750_000_000,
    })
    expect(route(compiled, 'by-request')?.price).toMatchObject({
      input: 0,
      perRequest: 10_000_000,
      perImage: 1,
    })
    expect(route(compiled, 'by-tier')?.price?.multipliers).toEqual({
      flex: 500_000_000,
      priority: 1_750_000_000,
    })
  })

  it('without a price are in the table and not Priced', () => {
    const compiled = compileCase('route-prices')
    const withoutText = ['by-image-only', 'images-and-text', 'vectors-by-image']
    for (const name of ['unpriced', 'not-free', ...withoutText]) {
      expect(route(compiled, name)).toMatchObject({ free: false })
      expect(route(compiled, name)?.price).toBeUndefined()
      expect(condition(compiled, `ModelRoute/${name}`, 'Priced')).toBe('False Unpriced')
    }
    for (const name of withoutText)
      expect(message(compiled, `ModelRoute/${name}`, 'Priced')).toBe(
        'enforced accounts cannot use the route: spec.price.perImage alone is only enough if all channels have the ' +
          'type images; add input and output, or perRequest',
      )
    expect(condition(compiled, 'ModelRoute/free', 'Priced')).toBe('True Priced')
    expect(message(compiled, 'ModelRoute/unpriced', 'Priced')).toBe(
      'enforced accounts cannot use the route: set spec.price or spec.free: true; `sluice prices suggest unpriced` ' +
        'prints a price block to put under spec',
    )
  })

  it.each([
    ['images-by-image', { input: 0, output: 0, perImage: 40_000_000 }],
    // A disabled or missing channel serves nothing.
    ['images-beside-off', { perImage: 40_000_000 }],
    ['images-by-token', { input: 5_000_000_000, output: 40_000_000_000, perImage: 0 }],
    ['images-and-text-by-token', { input: 5_000_000_000, perImage: 40_000_000 }],
    ['vectors-by-token', { input: 20_000_000, output: 0 }],
    ['off-by-image', { perImage: 40_000_000 }],
  ])('have a price for images and vectors: %s', (name, price) => {
    const compiled = compileCase('route-prices')
    expect(route(compiled, name)?.price).toMatchObject(price)
    expect(condition(compiled, `ModelRoute/${name}`, 'Priced')).toBe('True Priced')
  })

  it('take over every field', () => {
    const compiled = compileCase('route-settings')
    expect(route(compiled, 'full')).toMatchObject({
      model: 'full-*',
      listed: ['full-a', 'full-b'],
      affinity: { mode: 'Session', ttlMs: 600_000 },
      retry: { attempts: 2, on: ['transient', 'rate_limit'], perTryTimeoutMs: 20_000 },
      conversion: { unsupported: 'Reject' },
      rewriteModel: true,
      maxOutputTokens: 1000,
      contextLength: 200_000,
      display: { name: 'Full', description: 'All of it.', owner: 'example' },
    })
    expect(condition(compiled, 'ModelRoute/full', 'Accepted')).toBe('True Accepted')
    expect(condition(compiled, 'ModelRoute/renamed', 'Accepted')).toBe('True Accepted')
    expect(route(compiled, 'renamed')?.rewriteModel).toBe(true)
    expect(route(compiled, 'renamed')?.retry).toEqual({
      attempts: 3,
      on: expect.not.arrayContaining(['caller_fault']),
    })
  })
})

describe('endpoints', () => {
  const endpoints = (object: string) => statusOf(compileCase('endpoints'), object).fields.endpoints

  it.each([
    ['chat', ALL],
    ['chat-text-only', TEXT],
    ['chat-anthropic', TEXT],
    ['chat-anthropic-vectors', [...TEXT, 'embeddings']],
    // It generates images with a tool, and compacts with a summary.
    ['responses-plain', [...TEXT, 'images', 'image_edits']],
    // The API has no such endpoints, even if the channel enables them.
    ['messages-with-all', TEXT],
    ['vectors', ['embeddings']],
    ['images', IMAGES],
  ])('of a channel depend on its type and features: %s', (name, expected) => {
    expect(endpoints(`Channel/${name}`)).toEqual(expected)
  })

  it.each([
    ['both', ['embeddings', 'images', 'image_edits']],
    ['profile-takes-away', TEXT],
    ['profile-gives', ALL],
    ['channel-knows-better', TEXT],
    ['twice', [...TEXT, 'embeddings']],
    ['images-alone', IMAGES],
    ['images-beside-off', ['images', 'image_edits']],
    ['images-beside-refused', ['images', 'image_edits']],
    ['chat-of-no-weight', ['images', 'image_edits']],
  ])('of a route are those of its channels, with the profile that it sets: %s', (name, expected) => {
    expect(endpoints(`ModelRoute/${name}`)).toEqual(expected)
    expect(condition(compileCase('endpoints'), `ModelRoute/${name}`, 'Accepted')).toBe('True Accepted')
  })
})

describe('documents that do not parse', () => {
  it('get a condition and change nothing else', () => {
    const compiled = compileCase('invalid')
    for (const object of ['Credit/number', 'ApiKey/typo', 'ModelRoute/half-price', 'Channel/protocol']) {
      expect(condition(compiled, object, 'Accepted')).toBe('False Invalid')
      expect(statusOf(compiled, object).inForce).toBe(false)
    }
    expect(Object.keys(table(compiled).channels)).toEqual(['hosted'])
  })
})

describe('a generated key', () => {
  const KEY = 'sk-made-0123456789-abcdefgh'
  function compileWith(state: GeneratedKey['state'] | undefined, data = new SecretData([['key', KEY]])) {
    const metadata = { namespace: 'default', name: 'alice', generation: 1, createdAt: 0 }
    return compile(
      {
        ...emptySnapshot(),
        apiKeys: [{ kind: 'ApiKey', metadata, spec: {} }],
        secrets: new Map([['default/alice-key', data]]),
        ...(state !== undefined && {
          generated: new Map([['default/alice', { secretName: 'alice-key', state }]]),
        }),
      },
      NOW,
    )
  }

  it('is in force once its Secret exists', () => {
    const compiled = compileWith('made')
    expect(publishedNames(compiled)).toEqual(['alice'])
    expect(statusOf(compiled, 'ApiKey/alice').fields).toEqual({
      preview: '...efgh',
      secretName: 'alice-key',
    })
    expect(condition(compiled, 'ApiKey/alice', 'ResolvedRefs')).toBe('True ResolvedRefs')
  })

  it('is pending before', () => {
    const compiled = compileWith('absent')
    expect(publishedNames(compiled)).toEqual([])
    expect(condition(compiled, 'ApiKey/alice', 'ResolvedRefs')).toBe('False Pending')
  })

  it('is never read from a Secret with another owner', () => {
    const compiled = compileWith('foreign')
    expect(publishedNames(compiled)).toEqual([])
    expect(condition(compiled, 'ApiKey/alice', 'ResolvedRefs')).toBe('False Conflicted')
    expect(message(compiled, 'ApiKey/alice', 'ResolvedRefs')).toContain('does not belong to this ApiKey')
    expect(statusOf(compiled, 'ApiKey/alice').fields).toEqual({})
  })

  it('is never expected in folder mode', () => {
    expect(message(compileWith(undefined), 'ApiKey/alice', 'ResolvedRefs')).toContain('spec.secretRef')
  })

  it('that was emptied by hand is not created again', () => {
    const compiled = compileWith('made', new SecretData([]))
    expect(publishedNames(compiled)).toEqual([])
    expect(message(compiled, 'ApiKey/alice', 'ResolvedRefs')).toContain('no entry key')
  })
})

describe('the cached result of a resource', () => {
  it('depends on its Secret, its account and its rivals', () => {
    const metadata = { namespace: 'default', name: 'alice', generation: 1, createdAt: 5 }
    const alice = {
      kind: 'ApiKey',
      metadata,
      spec: { secretRef: { name: 'client', key: 'key' }, accountRef: { name: 'team' } },
    }
    const account = {
      kind: 'Account',
      metadata: { ...metadata, name: 'team' },
      spec: { enforcement: 'Enforced' as const },
    }
    const secret = (key: string) => new Map([['default/client', new SecretData([['key', key]])]])
    const first = { ...emptySnapshot(), apiKeys: [alice], secrets: secret('sk-first-0123456789') }
    const preview = (snapshot: Snapshot) => [...compile(snapshot, NOW).keys.values()].map((r) => r.preview)
    expect(preview(first)).toEqual(['...'])
    expect(preview({ ...first, secrets: secret('sk-other-0123456789-wxyz') })).toEqual(['...wxyz'])
    expect(preview({ ...first, secrets: new Map() })).toEqual([])
    const refs = (snapshot: Snapshot) => condition(compile(snapshot, NOW), 'ApiKey/alice', 'ResolvedRefs')
    expect(refs(first)).toBe('False RefNotFound')
    expect(refs({ ...first, accounts: [account] })).toBe('True ResolvedRefs')
    const rival = { ...alice, metadata: { ...metadata, name: 'older', createdAt: 1 } }
    const both = { ...first, accounts: [account], apiKeys: [alice, rival] }
    expect(condition(compile(both, NOW), 'ApiKey/alice', 'Accepted')).toBe('False Conflicted')
    expect(condition(compile({ ...both, apiKeys: [alice] }, NOW), 'ApiKey/alice', 'Accepted')).toBe(
      'True ShortKey',
    )
  })

  it('keeps the record the same object while nothing changes', () => {
    const snapshot = emptySnapshot()
    const metadata = { namespace: 'default', name: 'alice', generation: 1, createdAt: 5 }
    snapshot.apiKeys.push({ kind: 'ApiKey', metadata, spec: { hashes: ['ab'.repeat(32)] } })
    const records = () => [...compile({ ...snapshot, apiKeys: [...snapshot.apiKeys] }, NOW).keys.values()]
    expect(records()[0]).toBe(records()[0])
  })
})
