/** A side that does not read stops the other from sending; the gateway buffers almost nothing. */
import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { httpServer, listen, settledAt } from '../../../proxy/outbound/testing.ts'
import { type RunningGateway, until } from '../../harness/gateway.ts'
import { envelope, OK, openRelay, relay, relayOfTest } from './setup.ts'

const MB = 1_000_000
/** Most bytes in the socket buffers of both sides. */
const SOCKET_BUFFERS = 30 * MB

/** In bytes. */
function memoryOf({ child }: RunningGateway): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1_024
}

test('stops an upstream that sends 200 MB to a client that does not read', async () => {
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
  expect(sent).toBeLessThan(SOCKET_BUFFERS)
  expect(memoryOf(gateway) - before).toBeLessThan(60 * MB)
  // Other calls are served meanwhile; once the client reads, it gets more.
  expect((await relay(gateway, envelope(small.origin))).status).toBe(200)
  const stalledAt = sent
  let got = 0
  for await (const each of res) {
    got += (each as Buffer).length
    if (got > stalledAt + 10 * MB) break
  }
  expect(sent).toBeGreaterThan(stalledAt)
  await until(() => upstream.sockets.size === 0, 'the upstream connection to be closed')
})

test('buffers no copy of 60 MB for an upstream that does not read', async () => {
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
  // The gateway holds the request body anyway; the call must not add to it.
  const before = memoryOf(gateway)
  await settledAt(() => memoryOf(gateway))
  expect(memoryOf(gateway) - before).toBeLessThan(20 * MB)
  stalled?.on('data', () => {
    if ((stalled?.bytesRead ?? 0) > 60 * MB) stalled?.end(OK)
  })
  stalled?.resume()
  expect((await answer).status).toBe(200)
})
