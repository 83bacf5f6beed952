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
  retry:
    ${on}: [transient]
---
apiVersion: sluice.dev/v1alpha1
kind: Channel
metadata: { name: c }
spec: { type: chat_completion, baseURL: "http://127.0.0.1:1/v1" }
`
const run = async (options: Partial<ValidateOptions>) => {
  const out: string[] = []
  const told: string[] = []
  const terminal = {
    env: {},
    width: undefined,
    print: (text: string) => out.push(text),
    tell: (text: string) => told.push(text),
  }
  return {
    code: await validate({ file: [file], namespace: 'default', output: 'table', ...options }, terminal),
    out,
    told,
  }
}
const MESSAGE = 'write "on" in quotes: to kubectl a bare on is the word true'

it('warns of a bare on, which kubectl reads otherwise', async () => {
  writeFileSync(file, route('on'))
  expect(await run({})).toEqual({
    ...{ code: 0, out: [`warning: ${file}:9:5: ${MESSAGE}`], told: ['1 file, 0 problems, 1 warning'] },
  })
  expect((await run({ strict: true })).code).toBe(1)
  const { out } = await run({ output: 'json' })
  expect(JSON.parse(out.join(''))).toEqual({
    ...{ files: 1, problems: [], warnings: [], doubts: [{ file, line: 9, column: 5, message: MESSAGE }] },
  })
})

it('takes an on in quotes', async () => {
  writeFileSync(file, route('"on"'))
  expect(await run({ strict: true })).toEqual({ code: 0, out: [], told: ['1 file, 0 problems, 0 warnings'] })
})
