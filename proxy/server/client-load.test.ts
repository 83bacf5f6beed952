import { expect, test } from 'vitest'
import { ClientLoad } from './client-load.ts'

const refused = expect.objectContaining({ code: 'rate_limit_exceeded', status: 429, retryAfterSeconds: 1 })

test('a client at its bound is refused, others are not', () => {
  const load = new ClientLoad(2)
  const leave = load.enter(() => '192.0.2.1')
  load.enter(() => '192.0.2.1')
  expect(() => load.enter(() => '192.0.2.1')).toThrow(refused)
  load.enter(() => '192.0.2.2')
  leave()
  load.enter(() => '192.0.2.1')
  expect(() => load.enter(() => '192.0.2.1')).toThrow(refused)
})

test('all addresses of a /64 are one client, and so are all unknown addresses', () => {
  const load = new ClientLoad(1)
  load.enter(() => '2001:db8:1:2::1')
  expect(() => load.enter(() => '2001:db8:1:2:ffff:ffff:ffff:ffff')).toThrow(refused)
  load.enter(() => '2001:db8:1:3::1')
  load.enter(() => undefined)
  expect(() => load.enter(() => undefined)).toThrow(refused)
})

test('0 means no bound', () => {
  const load = new ClientLoad(0)
  for (let i = 0; i < 1_000; i++) load.enter(() => '192.0.2.1')
})
