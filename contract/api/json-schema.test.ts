import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { KINDS, type Kind } from './index.ts'
import { fileSchema, kindSchema } from './json-schema.ts'

const kinds: Kind[] = Object.values(KINDS)
/** The fields of each spec. */
const FIELDS: Record<string, string[]> = Object.fromEntries(
  Object.entries(KINDS).map(([name, { spec }]) => [name, Object.keys(spec.shape)]),
)
const ofFile = z.fromJSONSchema(fileSchema(kinds))
const of = (kind: Kind) => z.fromJSONSchema(kindSchema(kind))

const head = (kind: string) => ({ apiVersion: 'sluice.dev/v1alpha1', kind, metadata: { name: 'a' } })
const channel = { ...head('Channel'), spec: { type: 'responses', baseURL: 'https://api.example.com/v1' } }

describe('the schema of a kind', () => {
  it('accepts what the kind accepts, without the fields that have defaults', () => {
    expect(of(KINDS.Channel).safeParse(channel).error?.issues).toBeUndefined()
    expect(of(KINDS.Account).safeParse(head('Account')).success).toBe(true)
    expect(of(KINDS.Channel).safeParse({ ...channel, status: { conditions: [] } }).success).toBe(true)
  })

  it.each([
    ['an unknown field', { ...channel, spec: { ...channel.spec, bogus: 1 } }],
    ['an unknown field beside the spec', { ...channel, sepc: {} }],
    ['a word that is not offered', { ...channel, spec: { ...channel.spec, type: 'chat' } }],
    ['a missing spec', head('Channel')],
    ['a missing name', { ...channel, metadata: {} }],
    ['another kind', { ...channel, kind: 'ApiKey' }],
    ['another version', { ...channel, apiVersion: 'sluice.dev/v1' }],
    ['an address of no kind', { ...channel, spec: { ...channel.spec, baseURL: 'api.example.com' } }],
  ])('refuses %s', (_what, document) => {
    expect(of(KINDS.Channel).safeParse(document).success).toBe(false)
  })

  it('accepts an address from the environment', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as users write it.
    const spec = { ...channel.spec, baseURL: '${LOCAL_MODEL_URL:-http://127.0.0.1:11434/v1}' }
    expect(of(KINDS.Channel).safeParse({ ...channel, spec }).success).toBe(true)
  })

  it.each(kinds.map((kind) => [kind.kind, kind] as const))('of %s describes every field', (_name, kind) => {
    const described = z.object({
      properties: z.object({
        spec: z.object({
          properties: z.record(z.string(), z.looseObject({ description: z.string().min(1) })),
        }),
      }),
    })
    const { spec } = described.parse(kindSchema(kind)).properties
    expect(Object.keys(spec.properties)).toEqual(FIELDS[kind.kind])
  })
})

describe('the schema of a file', () => {
  it('accepts every kind, and Secrets', () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { key: 'x' } }
    for (const document of [channel, head('Account'), secret])
      expect(ofFile.safeParse(document).error?.issues).toBeUndefined()
  })

  it('refuses other kinds and values of Secrets that are no text', () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { key: 1 } }
    for (const document of [secret, { ...head('Model'), spec: {} }, { ...channel, spec: { bogus: 1 } }])
      expect(ofFile.safeParse(document).success).toBe(false)
  })
})
