import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { atEndOfTurn, connectionAccepted } from './turn.ts'

/** Turns that bring connections until the work has run; at most so many. */
async function turnsUntilRun(most: number): Promise<number> {
  let ran = false
  atEndOfTurn(() => {
    ran = true
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
  expect(await turnsUntilRun(100)).toBe(100)
})

test('work that has waited long runs, and the next waits anew', async () => {
  for (let time = 0; time < 3; time++) {
    const waited = await turnsUntilRun(100_000)
    expect(waited).toBeGreaterThan(200)
    expect(waited).toBeLessThan(300)
  }
})

test('work that work adds is of the next turn', async () => {
  const ran: string[] = []
  atEndOfTurn(() => {
    atEndOfTurn(() => ran.push('inner'))
    ran.push('outer')
  })
  await nextTurn()
  expect(ran).toEqual(['outer'])
  await nextTurn()
  expect(ran).toEqual(['outer', 'inner'])
})
