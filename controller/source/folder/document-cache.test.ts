import { expect, it } from 'vitest'
import { DocumentCache } from './document-cache.ts'
import { readDocuments } from './documents.ts'

it('parses a file again only when its text has changed, and forgets deleted files', () => {
  const parsed: string[] = []
  const cache = new DocumentCache((path, text) => {
    parsed.push(path)
    return readDocuments(path, text)
  })
  const values = (files: Record<string, string>) => {
    parsed.length = 0
    const read = cache.read(Object.entries(files).map(([path, text]) => ({ path, text })))
    return [...read.values()].flatMap(({ documents }) => documents.map(({ value }) => value))
  }
  expect(values({ a: 'x: 1', b: 'x: 2' })).toEqual([{ x: 1 }, { x: 2 }])
  expect(parsed).toEqual(['a', 'b'])
  expect(values({ a: 'x: 1', b: 'x: 3' })).toEqual([{ x: 1 }, { x: 3 }])
  expect(parsed).toEqual(['b'])
  // The same text at another path has other positions.
  expect(values({ b: 'x: 1' })).toEqual([{ x: 1 }])
  expect(parsed).toEqual(['b'])
  expect(values({ a: 'x: 1', b: 'x: 1' })).toHaveLength(2)
  expect(parsed).toEqual(['a'])
  expect(cache.read([{ path: 'a', unreadable: 'EACCES' }]).size).toBe(0)
})
