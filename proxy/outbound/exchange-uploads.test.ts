import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { describe, expect, test, vi } from 'vitest'
import { send } from './exchange.ts'
import { faultIn, httpServer, never, PATIENT, poolOf, type TestServer, testRequest } from './testing.ts'

function upload(server: TestServer, { firstByte = 10_000, signal = never } = {}) {
  const body = new PassThrough()
  body.on('error', () => undefined)
  const request = { ...testRequest(server.origin), body }
  return { body, sent: send(poolOf(server), request, { ...PATIENT, firstByte }, signal) }
}

describe('a request whose body is streamed', () => {
  test('has no length, and its answer may come at any time', async () => {
    const server = await httpServer((req, res) => {
      res.write(`${req.headers['transfer-encoding']} ${req.headers['content-length']} `)
      req.pipe(res)
    })
    const { body, sent } = upload(server)
    body.write('one ')
    const response = await sent
    body.end('two')
    expect(String(await response.readAll(1_000))).toBe('chunked undefined one two')
  })

  test('the time-out for the answer starts with its last byte', async () => {
    const from = performance.now()
    const server = await httpServer((req) => void req.resume())
    const { body, sent } = upload(server, { firstByte: 300 })
    const fault = faultIn(sent)
    let over = false
    void fault.then(() => {
      over = true
    })
    for (let i = 0; i < 8; i++) {
      body.write('more')
      await vi.waitFor(() => expect(performance.now() - from).toBeGreaterThan((i + 1) * 100), {
        timeout: 2_000,
      })
      expect(over).toBe(false)
    }
    expect(await fault).toBe('first_byte_timeout')
  })

  test('an early answer is read, and the rest of the body is not sent', async () => {
    let complete: boolean | undefined
    const server = await httpServer((req, res) => {
      req.socket.on('close', () => {
        complete = req.complete
      })
      req.resume()
      res.writeHead(400)
      res.end('no')
    })
    const { body, sent } = upload(server)
    body.write('one')
    const response = await sent
    expect([response.status, String(await response.readAll(100))]).toEqual([400, 'no'])
    await vi.waitFor(() => expect(body.destroyed).toBe(true))
    await vi.waitFor(() => expect(complete).toBe(false))
  })

  test.each(['signal', 'body'])('it is broken off by its %s', async (by) => {
    let req: IncomingMessage | undefined
    const server = await httpServer((got) => {
      req = got.resume()
      got.on('error', () => undefined)
    })
    const control = new AbortController()
    const { body, sent } = upload(server, { signal: control.signal })
    const fault = faultIn(sent)
    body.write('one')
    await vi.waitFor(() => expect(req).toBeDefined())
    if (by === 'signal') control.abort()
    else body.destroy()
    await fault
    await vi.waitFor(() => expect(req?.destroyed).toBe(true))
    expect([req?.complete, body.destroyed]).toEqual([false, true])
  })
})
