import { describe, expect, it } from 'vitest'
import { KINDS, type Kind } from '../../contract/api/index.ts'
import { readSpec } from './spec.ts'

const messages = (kind: Kind, spec: unknown, old?: unknown) =>
  readSpec(kind, spec, old).faults.map(({ message }) => message)

const kinds: Kind[] = Object.values(KINDS)
const { Account, ApiKey, Channel, Credit, ModelRoute } = KINDS

describe('a spec with invalid fields', () => {
  it('is also checked by rules, so that everything can be fixed at once', () => {
    expect(
      messages(Channel, { type: 'messages', baseURL: 'ftp://example.com', auth: { scheme: 'Header' } }),
    ).toEqual([
      'spec.baseURL must be an http or https URL without user, query and fragment, such as https://api.example.com/v1',
      'spec.auth.header must be set for the scheme Header, and only for it',
    ])
    expect(messages(Channel, { baseURL: 'http://h/v1', headers: { Host: 'x' }, tls: 5 })).toEqual([
      'spec.type is missing: The API that the upstream speaks',
      'spec.tls must be a mapping of fields, such as tls: { field: value }',
      expect.stringContaining('spec.headers must not contain headers that the gateway sets itself'),
    ])
  })

  it('is not checked for limits if the text is not an amount', () => {
    expect(messages(Account, { overdraft: 'much' })).toEqual([
      expect.stringMatching(/^spec\.overdraft must be dollars as decimal text/),
    ])
    expect(messages(Account, { overdraft: '9000001' })).toEqual([
      expect.stringContaining('spec.overdraft must lie within'),
    ])
  })

  it.each([
    ['a list', []],
    ['text', 'spec'],
    ['nothing', null],
    ['an absent spec', undefined],
    ['a number in place of a list', { allowedIPs: 5 }],
    ['a mapping in place of a list', { allowedIPs: { all: true } }],
    ['numbers in a list', { allowedIPs: [5, null, {}] }],
  ])('is refused without an exception: %s', (_, spec) => {
    expect(messages(ApiKey, spec).length).toBeGreaterThan(0)
    for (const kind of kinds) expect(() => readSpec(kind, spec, undefined)).not.toThrow()
  })
})

describe('null', () => {
  it('counts as a missing field', () => {
    expect(
      readSpec(ApiKey, { models: null, accountRef: null, secretRef: { name: 's', key: null } }, undefined),
    ).toEqual({
      spec: { secretRef: { name: 's', key: 'key' } },
      faults: [],
    })
    const route = { model: 'm', channels: [{ name: 'c', weight: null }], free: null }
    expect(readSpec(ModelRoute, route, undefined).spec).toEqual({
      model: 'm',
      channels: [{ name: 'c', priority: 0, weight: 1 }],
    })
    const channel = { type: 'messages', baseURL: 'http://h/v1', headers: { 'x-a': null, 'x-b': 'b' } }
    expect(readSpec(Channel, channel, undefined).spec?.headers).toEqual({ 'x-b': 'b' })
  })

  it('is refused for a required field, in a list and for an unknown field', () => {
    expect(messages(Credit, { accountRef: { name: 'a' }, amount: null })).toEqual([
      'spec.amount is missing: Dollars, as decimal text such as "25.00"',
    ])
    expect(messages(ApiKey, { models: [null] })).toEqual([expect.stringContaining('spec.models[0]')])
    expect(messages(ApiKey, { model: null })).toEqual(['unknown field spec.model; did you mean models?'])
    expect(messages(ApiKey, { constructor: null })).toEqual([
      expect.stringContaining('unknown field spec.constructor'),
    ])
  })
})

it.each([undefined, null, {}])('of an Account may be missing: %s', (spec) => {
  expect(readSpec(KINDS.Account, spec, undefined)).toEqual({ spec: { enforcement: 'Enforced' }, faults: [] })
  expect(readSpec(KINDS.ModelRoute, spec, undefined).faults.length).toBeGreaterThan(0)
})

it.each<[object, string]>([
  [{ models: 'gpt-*' }, 'spec.models must be a list, such as models: ["first", "second"]'],
  [{ models: [4] }, 'spec.models[0] must be text, not a number; put it in quotes'],
  [{ models: [['a']] }, 'spec.models[0] must be text, not a list'],
  [{ disabled: 'yes' }, 'spec.disabled must be true or false, without quotes'],
  [{ disabled: 1 }, 'spec.disabled must be true or false, not a number'],
])('%j: the message says what to write', (more, message) => {
  expect(messages(ApiKey, { ...more })).toEqual([message])
})
