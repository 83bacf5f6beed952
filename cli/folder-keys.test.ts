import { expect, it } from 'vitest'
import { Catalogue } from '../controller/source/folder/catalogue.ts'
import { usableKeys } from './folder-keys.ts'

const NOW = Date.parse('2030-01-01T00:00:00Z')
const SECRETS = ['old', 'new']
  .map(
    (name) =>
      `apiVersion: v1\nkind: Secret\nmetadata: { name: ${name} }\nstringData: { key: sk-${name}-0123456789 }\n`,
  )
  .join('---\n')

function keysOf(spec: string): string[] {
  const apiKey = `apiVersion: sluice.dev/v1alpha1\nkind: ApiKey\nmetadata: { name: k }\nspec: ${spec}\n`
  const catalogue = new Catalogue({ namespace: 'default', env: {} })
  const { snapshot, problems } = catalogue.update([{ path: 'a.yaml', text: `${apiKey}---\n${SECRETS}` }], 0)
  expect(problems).toEqual([])
  return usableKeys(snapshot, NOW).map(({ value }) => value)
}

it.each([
  ['{ secretRef: { name: old } }', ['sk-old-0123456789']],
  ['{ secretRef: { name: missing } }', []],
  ['{ secretRef: { name: old }, disabled: true }', []],
  ['{ secretRef: { name: old }, expiresAt: "2029-12-31T00:00:00Z" }', []],
  ['{ secretRefs: [{ name: old, notAfter: "2030-01-02T00:00:00Z" }, { name: new }] }', ['sk-old-0123456789']],
  ['{ secretRefs: [{ name: old, notAfter: "2029-12-31T00:00:00Z" }, { name: new }] }', ['sk-new-0123456789']],
  ['{ secretRefs: [{ name: missing }, { name: new }] }', ['sk-new-0123456789']],
])('of %s: %j', (spec, values) => {
  expect(keysOf(spec)).toEqual(values)
})
