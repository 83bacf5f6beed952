import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { atEndOfTurn, connectionAccepted } from './turn.ts'

/** Turns that bring connections until work of so many pieces has run; at most `most`. */
async function turnsUntilRun(most: number, pieces = 1): Promise<number> {
  let ran = false
  atEndOfTurn(() => {
    ran = true
    return pieces
  })
  for (let turns = 0; turns < most; turns++) {
    connectionAccepted()
    await nextTurn()
    if (ran) return turns
  }
  await nextTurn()
  expect(ran).toBe(true)
  return most
}

test('work runs at the end of its turn, in order', async () => {
  const ran: string[] = []
  atEndOfTurn(() => ran.push('a'))
  atEndOfTurn(() => ran.push('b'))
  expect(ran).toEqual([])
  await nextTurn()
  expect(ran).toEqual(['a', 'b'])
})

test('work waits while turns bring connections, and no longer', async () => {
  expect(await turnsUntilRun(1)).toBe(1)
  expect(await turnsUntilRun(3)).toBe(3)
})

test('work waits for as many turns as pieces ran before it, and for four if there were fewer', async () => {
  await turnsUntilRun(1, 100)
  expect(await turnsUntilRun(1_000, 50)).toBe(100)
  expect(await turnsUntilRun(1_000, 1)).toBe(50)
  expect(await turnsUntilRun(1_000)).toBe(4)
  expect(await turnsUntilRun(1_000)).toBe(4)
})

test('work that work adds is of the next turn', async () => {
  const ran: string[] = []
  atEndOfTurn(() => {
    atEndOfTurn(() => ran.push('inner'))
    return ran.push('outer')
  })
  await nextTurn()
  expect(ran).toEqual(['outer'])
  await nextTurn()
  expect(ran).toEqual(['outer', 'inner'])
})
