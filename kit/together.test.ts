import { expect, test, vi } from 'vitest'
import { Together } from './together.ts'

test('work of one turn runs in its order before the next turn', async () => {
  const together = new Together()
  const ran: string[] = []
  setImmediate(() => ran.push('before'))
  together.add(() => ran.push('a'))
  await Promise.resolve()
  together.add(() => ran.push('b'))
  setImmediate(() => ran.push('after'))
  expect(ran).toEqual([])
  await vi.waitFor(() => expect(ran).toEqual(['before', 'a', 'b', 'after']))
})

test('work that is added by other work runs in the next turn', async () => {
  const together = new Together()
  const ran: string[] = []
  together.add(() => {
    together.add(() => ran.push('inner'))
    ran.push('outer')
  })
  setImmediate(() => ran.push('turn'))
  await vi.waitFor(() => expect(ran).toEqual(['outer', 'turn', 'inner']))
  together.add(() => ran.push('later'))
  await vi.waitFor(() => expect(ran.at(-1)).toBe('later'))
})
