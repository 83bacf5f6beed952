import { expect, test } from 'vitest'
import { PerClient } from './per-client.ts'

test('each client has a count of its own, and leaves once', () => {
  const clients = new PerClient()
  const leave = clients.enter('a')
  clients.enter('a')
  clients.enter('b')
  expect([clients.of('a'), clients.of('b'), clients.of('c')]).toEqual([2, 1, 0])
  leave()
  leave()
  expect([clients.of('a'), clients.of('b')]).toEqual([1, 1])
})
