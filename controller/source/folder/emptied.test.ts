import { expect, it } from 'vitest'
import { EMPTY_FOR_MS, EmptiedFiles } from './emptied.ts'

const START = 1_000

function folder() {
  const emptied = new EmptiedFiles()
  return (text: string, nowMs: number) => emptied.settle([{ path: 'a', text }], nowMs)
}
const says = (text: string) => [{ path: 'a', text }]

it('a file that is truncated and filled again is never empty', () => {
  const read = folder()
  read('old', START)
  expect(read('', START + 10)).toEqual({ files: says('old'), lookAgainInMs: EMPTY_FOR_MS })
  expect(read(' \n', START + 60)).toEqual({ files: says('old'), lookAgainInMs: EMPTY_FOR_MS - 50 })
  expect(read('new', START + 70)).toEqual({ files: says('new') })
  // The time starts again.
  expect(read('', START + 500).files).toEqual(says('new'))
})

it('a file that stays empty counts as empty, from then on at once', () => {
  const read = folder()
  read('old', START)
  read('', START)
  expect(read('', START + EMPTY_FOR_MS - 1).files).toEqual(says('old'))
  expect(read('', START + EMPTY_FOR_MS)).toEqual({ files: says('') })
  expect(read('\n', START + EMPTY_FOR_MS + 1)).toEqual({ files: says('\n') })
})

it('a new or restored file has no text to keep', () => {
  const emptied = new EmptiedFiles()
  expect(emptied.settle(says(''), START)).toEqual({ files: says('') })
  emptied.settle(says('old'), START)
  emptied.settle([], START)
  expect(emptied.settle(says(''), START)).toEqual({ files: says('') })
})

it('a file that cannot be read for a while keeps its text', () => {
  const emptied = new EmptiedFiles()
  emptied.settle(says('old'), START)
  const unreadable = [{ path: 'a', unreadable: 'EACCES' }]
  expect(emptied.settle(unreadable, START)).toEqual({ files: unreadable })
  expect(emptied.settle(says(''), START).files).toEqual(says('old'))
})
