/** Who does not read keeps the other side from sending; the gateway holds next to nothing in between. */
import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { httpServer, listen, settledAt } from '../../../proxy/outbound/testing.ts'
import { type RunningGateway, until } from '../../harness/gateway.ts'
import { envelope, OK, openRelay, relay, relayOfTest } from './setup.ts'

const MB = 1_000_000
/** Most that buffers of sockets on both sides take, in bytes. */
const IN_BETWEEN = 30 * MB

/** In bytes. */
function memoryOf({ child }: RunningGateway): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1_024
}

test('200 MB for a client that does not read', async () => {
  const gateway = await relayOfTest()
  const chunk = Buffer.alloc(65_536, 'x')
  let sent = 0
  const upstream = await httpServer((_req, res) => {
    const send = () => {
      while (sent < 200 * MB) {
        sent += chunk.length
        if (!res.write(chunk)) return void res.once('drain', send)
      }
      res.end()
    }
    send()
  })
  const small = await httpServer((_req, res) => void res.end('ok'))
  for (let i = 0; i < 20; i++) await relay(gateway, envelope(small.origin))
  const before = memoryOf(gateway)
  const res = await openRelay(gateway, envelope(upstream.origin))
  await settledAt(() => sent)
  expect(sent).toBeLessThan(IN_BETWEEN)
  expect(memoryOf(gateway) - before).toBeLessThan(60 * MB)
  // Others are served meanwhile, and whoever begins to read gets more.
  expect((await relay(gateway, envelope(small.origin))).status).toBe(200)
  const stalledAt = sent
  let got = 0
  for await (const each of res) {
    got += (each as Buffer).length
    if (got > stalledAt + 10 * MB) break
  }
  expect(sent).toBeGreaterThan(stalledAt)
  await until(() => upstream.sockets.size === 0, 'the upstream to be let go')
})

test('60 MB for an upstream that does not read', async () => {
  const gateway = await relayOfTest()
  let stalled: Socket | undefined
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    stalled = socket.pause()
  })
  const upstream = await listen(server, 'http')
  const body = envelope(upstream.origin, `{"model":"m","text":"${'y'.repeat(60 * MB)}"}`)
  const answer = relay(gateway, body)
  await until(() => stalled, 'the call')
  // What was read to know the request is there anyway; the call adds nothing to it.
  const before = memoryOf(gateway)
  await settledAt(() => memoryOf(gateway))
  expect(memoryOf(gateway) - before).toBeLessThan(20 * MB)
  stalled?.on('data', () => {
    if ((stalled?.bytesRead ?? 0) > 60 * MB) stalled?.end(OK)
  })
  stalled?.resume()
  expect((await answer).status).toBe(200)
})
