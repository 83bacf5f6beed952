import { expect, it } from 'vitest'
import { itemId, newAnswerId } from './ids.ts'

it('makes unique answer ids of letters and digits', () => {
  const ids = Array.from({ length: 1000 }, newAnswerId)
  for (const id of ids) expect(id).toMatch(/^[0-9A-Za-z]{24}$/)
  expect(new Set(ids).size).toBe(1000)
  expect(new Set(ids.join('')).size).toBe(62)
})

it('makes the same item id for the same index, and a different one for any other', () => {
  expect(itemId('msg', 'x1', 0)).toBe('msg_x100')
  expect(itemId('fc', 'x1', 12)).toBe('fc_x112')
  const ids = Array.from({ length: 2000 }, (_, index) => itemId('fc', 'Q7', index))
  expect(new Set(ids).size).toBe(2000)
  for (const id of ids) expect(id).toMatch(/^fc_[0-9A-Za-z]+$/)
})
