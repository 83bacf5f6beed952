import { expect, test } from 'vitest'
import { DIALECTS, ENDPOINTS } from './index.ts'

test('every endpoint has a path of its own, and a dialect of the list', () => {
  const endpoints = Object.values(ENDPOINTS)
  expect(new Set(endpoints.map((e) => e.path)).size).toBe(endpoints.length)
  for (const { dialect, path } of endpoints) {
    expect(DIALECTS[dialect.name]).toBe(dialect)
    expect(path.endsWith(dialect.upstreamPath)).toBe(true)
  }
})
