import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { differencesOf, RequestLines, type Sums } from './books.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-books-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

test('lines of requests are counted once while the log grows, with what they cost', () => {
  const file = join(dir, 'log')
  const line = '{"kind":"request","status":200,"settled":"0.000046"}\n'
  writeFileSync(file, `{"level":"info","msg":"listening"}\n${line}${line.slice(0, 30)}`)
  const lines = new RequestLines(file)
  expect(lines.read()).toEqual({ logged: 1, loggedCost: 46_000 })
  appendFileSync(file, `${line.slice(30)}{"kind":"request","status":503}\n`)
  expect(lines.read()).toEqual({ logged: 3, loggedCost: 92_000 })
  expect(lines.read()).toEqual({ logged: 3, loggedCost: 92_000 })
})

const sums = (requests: number, cost: number): Sums => ({
  logged: requests,
  loggedCost: cost,
  used: requests,
  usedCost: cost,
  spent: cost,
})

test('books agree when every one gained the same requests and the same money', () => {
  expect(differencesOf(sums(5, 50), sums(8, 80), { requests: 3, cost: 30 })).toEqual([])
})

test.each(['logged', 'loggedCost', 'used', 'usedCost', 'spent'] as const)(
  '%s that differs is named',
  (name) => {
    const now = { ...sums(8, 80), [name]: 0 }
    expect(differencesOf(sums(5, 50), now, { requests: 3, cost: 30 })).toEqual([
      expect.stringMatching(new RegExp(`^${name} -\\d+ instead of`)),
    ])
  },
)
