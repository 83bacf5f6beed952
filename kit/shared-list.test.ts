import { describe, expect, it } from 'vitest'
import { SharedList } from './shared-list.ts'

const ready = { type: 'Ready', status: 'True', generation: 1 }
const accepted = { type: 'Accepted', status: 'True', generation: 1 }

describe('SharedList', () => {
  it('returns the list before if that was equal', () => {
    const lists = new SharedList()
    const first = lists.share([accepted, ready])
    expect(lists.share([{ ...accepted }, { ...ready }])).toBe(first)
  })

  it.each([
    ['another value', { ...ready, status: 'False' }],
    ['another type of value', { ...ready, generation: '1' }],
    ['a field more', { ...ready, message: undefined }],
    ['a field less', { type: 'Ready', status: 'True' }],
    ['another field', { type: 'Ready', status: 'True', observed: 1 }],
  ])('keeps a list with %s', (_, changed) => {
    const lists = new SharedList()
    lists.share([accepted, ready])
    const other = [accepted, changed]
    expect(lists.share(other)).toBe(other)
    expect(lists.share([accepted, ready])).toEqual([accepted, ready])
  })

  it('keeps a list that is longer or shorter', () => {
    const lists = new SharedList()
    lists.share([accepted])
    expect(lists.share([accepted, ready])).toEqual([accepted, ready])
    expect(lists.share([accepted])).toEqual([accepted])
    expect(lists.share([])).toEqual([])
  })
})
