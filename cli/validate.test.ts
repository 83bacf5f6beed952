import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { type ValidateOptions, validate } from './validate.ts'

const folder = mkdtempSync(join(tmpdir(), 'validate-'))
afterAll(() => rmSync(folder, { recursive: true }))

const file = join(folder, 'on.yaml')
const route = (on: string) => `apiVersion: sluice.dev/v1alpha1
kind: ModelRoute
metadata: { name: r }
spec:
  model: m
  free: true
  channels: [{ name: c }]
---
apiVersion: sluice.dev/v1alpha1
kind: Channel
metadata: { name: c }
spec:
  type: chat_completion
  baseURL: "http://127.0.0.1:1/v1"
  headers: { ${on}: "1" }
`
const run = async (options: Partial<ValidateOptions>) => {
  const out: string[] = []
  const warned: string[] = []
  const terminal = {
    env: {},
    width: undefined,
    print: (text: string) => out.push(text),
    warn: (text: string) => warned.push(text),
  }
  return {
    code: await validate({ file: [file], namespace: 'default', output: 'table', ...options }, terminal),
    out,
    warned,
  }
}
const MESSAGE = 'write "on" in quotes: kubectl reads an unquoted on as true'

it('warns of a bare on, which kubectl reads as true', async () => {
  writeFileSync(file, route('on'))
  expect(await run({})).toEqual({
    ...{ code: 0, out: [`warning: ${file}:15:14: ${MESSAGE}`], warned: ['1 file, 0 problems, 1 warning'] },
  })
  expect((await run({ strict: true })).code).toBe(1)
  const { out } = await run({ output: 'json' })
  expect(JSON.parse(out.join(''))).toEqual({
    ...{
      files: 1,
      problems: [],
      warnings: [],
      doubts: [{ file, line: 15, column: 14, message: MESSAGE }],
      notes: [],
    },
  })
})

it('accepts an on in quotes', async () => {
  writeFileSync(file, route('"on"'))
  expect(await run({ strict: true })).toEqual({
    code: 0,
    out: [],
    warned: ['1 file, 0 problems, 0 warnings'],
  })
})

const HEAD = 'apiVersion: sluice.dev/v1alpha1'
const channelAt = (baseURL: string) =>
  `${HEAD}\nkind: Channel\nmetadata: { name: c }\nspec: { type: chat_completion, baseURL: "${baseURL}" }\n`

it.each([
  '/chat/completions',
  '/chat/completions/',
  '/responses',
  '/messages',
  '/embeddings',
  '/images/edits',
])('warns of a base URL that ends in %s', async (path) => {
  writeFileSync(file, channelAt(`https://api.example.com/v1${path}`))
  const { code, out } = await run({})
  expect(code).toBe(0)
  expect(out).toEqual([
    `warning: Channel/c in default: spec.baseURL ends in ${path.replace(/\/$/, '')}, which the gateway adds itself; remove it, as in the base URL of an SDK`,
  ])
  expect((await run({ strict: true })).code).toBe(1)
})

it.each(['https://api.example.com/v1', 'https://api.example.com', 'https://chat.example.com/completions'])(
  'takes the base URL %s',
  async (baseURL) => {
    writeFileSync(file, channelAt(baseURL))
    expect((await run({ strict: true })).code).toBe(0)
  },
)

it('warns of a key that can be guessed, without its value', async () => {
  const key = (value: string) =>
    `${HEAD}\nkind: ApiKey\nmetadata: { name: k }\nspec: { secretRef: { name: s } }\n---\n` +
    `apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData: { key: ${value} }\n`
  writeFileSync(file, key('hunter2'))
  const { out } = await run({})
  expect(out).toEqual([expect.stringMatching(/^warning: ApiKey\/k in default: the key has fewer than 20/)])
  expect(out.join()).not.toContain('hunter2')
  writeFileSync(file, key('sk-long-enough-0123456789'))
  expect((await run({ strict: true })).out).toEqual([])
})

it('accepts a key that a cluster generates, and notes that a folder does not serve it', async () => {
  writeFileSync(file, `${HEAD}\nkind: ApiKey\nmetadata: { name: k }\nspec: {}\n`)
  const { code, out } = await run({ strict: true })
  expect(code).toBe(0)
  expect(out).toEqual([expect.stringMatching(/^note: ApiKey default\/k .*in a folder it is not served$/)])
  expect((await run({ strict: true, file: ['examples/cluster'] })).code).toBe(0)
})
