/** Every example parses under the schemas and keeps their rules, and its references lead somewhere. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { API_VERSION, KINDS } from '../contract/api/index.ts'

const FOLDERS = ['quickstart', 'hosted-chat', 'messages-api', 'local-model', 'compose/config']
const SCHEMAS = join(import.meta.dirname, '../docs/schemas')

const resource = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.strictObject({ name: z.string() }),
  spec: z.record(z.string(), z.unknown()).optional(),
  stringData: z.record(z.string(), z.string()).optional(),
})

const references = z.object({
  accountRef: z.object({ name: z.string() }).optional(),
  secretRef: z.object({ name: z.string() }).optional(),
  channels: z.array(z.object({ name: z.string() })).default([]),
})

/** The defaults of `${NAME:-default}`, and some text for `${NAME}`: the schemas see a value, as they do at work. */
const fillIn = (text: string) => text.replace(/\$\{\w+(?::-([^}]*))?\}/g, (_, value) => value ?? 'from-env')

function read(folder: string) {
  const path = join(import.meta.dirname, folder)
  return readdirSync(path).flatMap((file) =>
    parseAllDocuments(fillIn(readFileSync(join(path, file), 'utf8'))).map((document) => {
      expect(document.errors).toEqual([])
      return resource.parse(document.toJS())
    }),
  )
}

describe.each(FOLDERS)('examples/%s', (folder) => {
  const resources = read(folder)
  const names = new Set(resources.map(({ kind, metadata }) => `${kind}/${metadata.name}`))
  const ours = resources.filter(({ kind }) => kind !== 'Secret')

  test('has a key, a channel and a route', () => {
    const kinds = ours.map(({ kind }) => kind)
    expect(kinds).toEqual(expect.arrayContaining(['ApiKey', 'Channel', 'ModelRoute']))
  })

  test.each(ours.map((one) => [`${one.kind}/${one.metadata.name}`, one] as const))(
    '%s is valid',
    (_name, one) => {
      expect(one.apiVersion).toBe(API_VERSION)
      const kind = Object.values(KINDS).find((known) => known.kind === one.kind)
      expect(kind?.spec.safeParse(one.spec).error?.issues).toBeUndefined()
      expect(kind).toBeDefined()
    },
  )

  test('satisfies the schema for editors as it is written', () => {
    const schema = z.fromJSONSchema(JSON.parse(readFileSync(join(SCHEMAS, 'resources.json'), 'utf8')))
    const path = join(import.meta.dirname, folder)
    for (const file of readdirSync(path))
      for (const document of parseAllDocuments(readFileSync(join(path, file), 'utf8')))
        expect(schema.safeParse(document.toJS()).error?.issues).toBeUndefined()
  })

  test('names only objects that exist', () => {
    const named = ours.flatMap(({ spec }) => {
      const { accountRef, secretRef, channels } = references.parse(spec)
      return [
        ...(accountRef === undefined ? [] : [`Account/${accountRef.name}`]),
        ...(secretRef === undefined ? [] : [`Secret/${secretRef.name}`]),
        ...channels.map(({ name }) => `Channel/${name}`),
      ]
    })
    expect(named.filter((name) => !names.has(name))).toEqual([])
  })
})
