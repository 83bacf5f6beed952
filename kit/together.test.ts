import { setImmediate as endOfTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Together } from './together.ts'

/** Adds work with these names in this turn; returns what has run by now, and at the turn's end. */
async function turn(together: Together, ...names: string[]): Promise<{ atOnce: string[]; byEnd: string[] }> {
  const ran: string[] = []
  for (const name of names) {
    together.add(() => ran.push(name))
    await Promise.resolve()
  }
  const atOnce = [...ran]
  await endOfTurn()
  return { atOnce, byEnd: ran }
}

test('lone work runs at once, turn after turn', async () => {
  const together = new Together()
  for (const name of ['a', 'b', 'c'])
    expect(await turn(together, name)).toEqual({ atOnce: [name], byEnd: [name] })
})

test('what follows the first work of a turn runs at its end, in order', async () => {
  const together = new Together()
  expect(await turn(together, 'a', 'b', 'c')).toEqual({ atOnce: ['a'], byEnd: ['a', 'b', 'c'] })
})

test('after a turn with several, all work of the next one with any waits for its end', async () => {
  const together = new Together()
  await turn(together, 'a', 'b')
  await endOfTurn()
  expect(await turn(together, 'c', 'd', 'e')).toEqual({ atOnce: [], byEnd: ['c', 'd', 'e'] })
  expect(await turn(together, 'f')).toEqual({ atOnce: [], byEnd: ['f'] })
  expect(await turn(together, 'g')).toEqual({ atOnce: ['g'], byEnd: ['g'] })
})

test('work that waiting work adds is of the next turn', async () => {
  const together = new Together()
  await turn(together, 'a', 'b')
  const ran: string[] = []
  together.add(() => {
    for (const name of ['inner', 'second']) together.add(() => ran.push(name))
    ran.push('outer')
  })
  await endOfTurn()
  expect(ran).toEqual(['inner', 'outer'])
  await endOfTurn()
  expect(ran).toEqual(['inner', 'outer', 'second'])
})

test('a turn runs 64 at most, and the rest runs in the turns after it, before what came later', async () => {
  const together = new Together()
  await turn(together, 'a', 'b')
  const ran: string[] = []
  for (let n = 0; n < 150; n++) together.add(() => ran.push(`${n}`))
  await endOfTurn()
  expect(ran).toHaveLength(64)
  together.add(() => ran.push('later'))
  await endOfTurn()
  expect(ran).toHaveLength(128)
  await endOfTurn()
  expect(ran).toEqual([...Array.from({ length: 150 }, (_, n) => `${n}`), 'later'])
  expect(await turn(together, 'c', 'd')).toEqual({ atOnce: [], byEnd: ['c', 'd'] })
})
