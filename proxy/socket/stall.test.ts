import type { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { WebSocket } from 'ws'
import { watchStall } from './stall.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function watched() {
  const ws = { bufferedAmount: 0 }
  const socket = { bytesWritten: 0, writableLength: 0, _handle: { writeQueueSize: 0 } }
  const stalled = vi.fn()
  const stop = watchStall(ws as WebSocket, socket as unknown as Socket, 400, stalled)
  return { ws, socket, stalled, stop }
}

test('a socket with nothing unsent never stalls', () => {
  const { stalled } = watched()
  vi.advanceTimersByTime(10_000)
  expect(stalled).not.toHaveBeenCalled()
})

test('unsent bytes are a stall after the time-out', () => {
  const { ws, stalled } = watched()
  vi.advanceTimersByTime(150)
  ws.bufferedAmount = 10
  vi.advanceTimersByTime(400)
  expect(stalled).not.toHaveBeenCalled()
  vi.advanceTimersByTime(100)
  expect(stalled).toHaveBeenCalled()
})

test.each<[string, (socket: { bytesWritten: number; _handle: { writeQueueSize: number } }) => void]>([
  ['sending a part of a message', (socket) => void socket._handle.writeQueueSize--],
  ['sending a message', (socket) => void socket.bytesWritten++],
])('%s is progress', (_, go) => {
  const { ws, socket, stalled } = watched()
  ws.bufferedAmount = 10
  for (let n = 0; n < 20; n++) {
    vi.advanceTimersByTime(300)
    go(socket)
  }
  expect(stalled).not.toHaveBeenCalled()
})

test('writing more is not progress', () => {
  const { ws, socket, stalled } = watched()
  ws.bufferedAmount = 10
  for (let n = 0; n < 5; n++) {
    vi.advanceTimersByTime(100)
    socket.bytesWritten += 10
    socket.writableLength += 10
  }
  expect(stalled).toHaveBeenCalled()
})

test('a stopped watch reports nothing', () => {
  const { ws, stalled, stop } = watched()
  ws.bufferedAmount = 10
  stop()
  vi.advanceTimersByTime(1_000)
  expect(stalled).not.toHaveBeenCalled()
})
