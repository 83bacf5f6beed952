import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { GatewayError } from '../errors.ts'
import { sendError } from './error-response.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A request that is still being sent, on a connection that accepts every write. */
function unsent(url: string, headers = {}) {
  const socket = new Socket()
  // It was never connected, so ending it reports an error.
  socket.on('error', () => undefined)
  socket._write = (_chunk, _encoding, done) => done()
  const req = Object.assign(new IncomingMessage(socket), { url, method: 'POST', headers })
  const res = new ServerResponse(req)
  return { socket, req, res }
}

const refused = new GatewayError('unauthorized', 'No.')

test('a client that keeps sending is cut off after two seconds', () => {
  const { socket, req, res } = unsent('/v1/models')
  res.assignSocket(socket)
  sendError(req, res, refused, 'req_1')
  vi.advanceTimersByTime(1_999)
  expect([res.writableEnded, socket.destroyed]).toEqual([false, false])
  vi.advanceTimersByTime(1)
  expect([res.writableEnded, socket.destroyed]).toEqual([true, true])
})

test('after an answer in progress the time starts when that answer ends', () => {
  const { socket, req, res } = unsent('/v1/models')
  sendError(req, res, refused, 'req_1')
  vi.advanceTimersByTime(60_000)
  expect(socket.destroyed).toBe(false)
  res.assignSocket(socket)
  vi.advanceTimersByTime(1_999)
  expect(socket.destroyed).toBe(false)
  vi.advanceTimersByTime(1)
  expect(socket.destroyed).toBe(true)
})

test('a client that has sent its whole request is not waited for', () => {
  const { socket, req, res } = unsent('/v1/models')
  res.assignSocket(socket)
  sendError(req, res, refused, 'req_1')
  req.push(null)
  req.emit('end')
  expect(res.writableEnded).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

test.each([
  ['/v1/messages', {}, undefined],
  ['/api/v1/messages/count_tokens?x', {}, undefined],
  ['/v1/models', { 'anthropic-version': '2023-06-01' }, undefined],
  ['/v1/chat/completions', { 'anthropic-version': '2023-06-01' }, 'unauthorized'],
  ['/api/proxy', { 'anthropic-version': '2023-06-01' }, 'unauthorized'],
])('%s with %j gets an error in the format of its API', (url, headers, code) => {
  const { req, res } = unsent(url, headers)
  const write = vi.spyOn(res, 'write')
  sendError(req, res, refused, 'req_1')
  const body = JSON.parse(String(write.mock.calls[0]?.[0])) as { type?: string; error: { code?: string } }
  // Error bodies of the messages API start with a type.
  expect(body.type).toBe(code === undefined ? 'error' : undefined)
  if (code !== undefined) expect(body.error.code).toBe(code)
})
