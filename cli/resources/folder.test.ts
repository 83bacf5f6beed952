import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { folderPlace } from './folder.ts'

const EXISTING = 20
const NEW = 50
let folder: string
let reads: string[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-folder-place-'))
  reads = []
})
afterEach(() => rmSync(folder, { recursive: true }))

const open = () =>
  folderPlace(folder, 'default', (path) => {
    reads.push(path)
    return readFile(path, 'utf8')
  })
const keyFile = (name: string) =>
  `apiVersion: sluice.dev/v1alpha1\nkind: ApiKey\nmetadata: { name: ${name} }\nspec: { models: [m] }\n`

it('reads each file once, however many resources a command makes', async () => {
  for (let n = 0; n < EXISTING; n++) writeFileSync(join(folder, `old-${n}.yaml`), keyFile(`old-${n}`))
  const place = open()
  const names = Array.from({ length: NEW }, (_, n) => `new-${n}`)
  await Promise.all(
    names.map(async (name) => {
      expect(await place.get('ApiKey', name)).toBeUndefined()
      await place.create({ kind: 'ApiKey', name, spec: { models: ['m'] } })
      expect(await place.get('ApiKey', name)).toMatchObject({ metadata: { name }, spec: { models: ['m'] } })
    }),
  )
  expect(reads).toHaveLength(EXISTING)
  expect(await place.list('ApiKey')).toHaveLength(EXISTING + NEW)
  expect(readdirSync(folder)).toHaveLength(EXISTING + NEW)
})

it('changes what it has made itself', async () => {
  const place = open()
  await place.create({ kind: 'ApiKey', name: 'a', spec: { models: ['m'] } })
  await place.patch('ApiKey', 'a', { disabled: true, models: null })
  expect(await open().get('ApiKey', 'a')).toMatchObject({ spec: { disabled: true } })
  expect(await place.get('ApiKey', 'a')).toEqual(await open().get('ApiKey', 'a'))
})

it.each(['known', 'made by the same command', 'only a file of that name'])(
  'refuses to make one that is there: %s',
  async (how) => {
    if (how === 'known') writeFileSync(join(folder, 'x.yaml'), keyFile('a'))
    if (how.startsWith('only')) writeFileSync(join(folder, 'apikey-a.yaml'), keyFile('b'))
    const place = open()
    const make = () => place.create({ kind: 'ApiKey', name: 'a', spec: { models: ['m'] } })
    if (how.startsWith('made')) await make()
    await expect(make()).rejects.toThrow(
      how.startsWith('only') ? 'cannot be written (EEXIST)' : 'exists already',
    )
  },
)
