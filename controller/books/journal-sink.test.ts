import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { fileSink, sinkOf } from './journal-sink.ts'

let dir: string
let path: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-journal-'))
  path = join(dir, 'ledger.jsonl')
  onTestFinished(() => rmSync(dir, { recursive: true }))
})
const read = (name = path) => readFileSync(name, 'utf8')

test('lines follow those of an earlier process', async () => {
  const first = fileSink(path)
  await first.write('one\n')
  await first.close()
  const second = fileSink(path)
  await second.write('two\n')
  await second.write('three\n')
  await second.close()
  expect(
    read()
      .split('\n')
      .filter((line) => line !== ''),
  ).toEqual(['one', 'two', 'three'])
})

test('a part of a line that a crash left does not spoil the next line', async () => {
  appendFileSync(path, 'whole\n{"half')
  const sink = fileSink(path)
  await sink.write('next\n')
  await sink.close()
  expect(read()).toBe('whole\n{"half\nnext\n')
})

test('a large file gets a number, and none is removed', async () => {
  const sink = fileSink(path, 10)
  for (const line of ['a'.repeat(20), 'b'.repeat(20), 'c']) await sink.write(`${line}\n`)
  await sink.close()
  const contents = [`${path}.1`, `${path}.2`, path].map((name) => read(name).trim())
  expect(contents).toEqual(['a'.repeat(20), 'b'.repeat(20), 'c'])
  const again = fileSink(path, 3)
  await again.write('d\n')
  await again.close()
  expect([
    read(`${path}.3`)
      .split('\n')
      .filter((line) => line !== ''),
    existsSync(path),
  ]).toEqual([['c', 'd'], false])
})

test.each([
  ['a full disk', '/dev/full', 'ENOSPC'],
  ['a folder that does not exist', '/nonexistent/ledger.jsonl', 'ENOENT'],
])('%s is an error each time', async (_, where, code) => {
  const sink = fileSink(where)
  await expect(sink.write('line\n')).rejects.toMatchObject({ code })
  await expect(sink.write('line\n')).rejects.toMatchObject({ code })
  await sink.close()
})

test('the setting chooses the sink', async () => {
  const print = vi.fn(async () => {})
  expect(sinkOf('off', print)).toBeUndefined()
  await sinkOf('stdout', print)?.write('line\n')
  expect(print).toHaveBeenCalledWith('line\n')
  await sinkOf(`file:${path}`, print)?.write('line\n')
  expect(read()).toBe('line\n')
})
