import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fileCheckpoints } from '../../../controller/books/checkpoint-file.ts'
import { checkpointCases } from './cases.ts'

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-checkpoint-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  return dir
}

checkpointCases('a checkpoint in a file', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-checkpoint-'))
  return () => fileCheckpoints(dir)
})

test('a folder that does not exist is an error that names the file', async () => {
  const store = fileCheckpoints(join(folder(), 'missing'))
  await store.load()
  await expect(store.save(0, {}, 1)).rejects.toThrow('ledger.json')
})

test.each([
  '',
  '{',
  '{"version":2,"epoch":1,"accounts":{}}',
  '{"version":1,"epoch":1,"accounts":{"a":{"spent":"1"}}}',
])('the content %j is refused, and stays', async (content) => {
  const dir = folder()
  writeFileSync(join(dir, 'ledger.json'), content)
  await expect(fileCheckpoints(dir).load()).rejects.toThrow(/ledger\.json cannot be read/)
  await expect(fileCheckpoints(dir).save(0, {}, 9)).rejects.toThrow(/cannot be read/)
  expect(readdirSync(dir)).toEqual(['ledger.json'])
})
