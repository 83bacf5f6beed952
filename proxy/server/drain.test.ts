import { once } from 'node:events'
import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { drain } from './drain.ts'
import { trackUnused } from './unused-connections.ts'

test('a drain ends when the bills are settled, not when the connections are closed', async () => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  let inFlight = 1
  let drained = false
  const closed = once(server, 'close')
  const draining = drain({
    server,
    unused: trackUnused(server),
    sockets: { leave: () => undefined, terminate: () => undefined },
    graceMs: 60_000,
    breakOff: () => undefined,
    inFlight: () => inFlight,
  }).then(() => {
    drained = true
  })
  await closed
  await new Promise(setImmediate)
  expect(drained).toBe(false)
  inFlight = 0
  await draining
  expect(drained).toBe(true)
})
