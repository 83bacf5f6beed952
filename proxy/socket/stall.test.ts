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

test('nothing unsent is no stall, however long', () => {
  const { stalled } = watched()
  vi.advanceTimersByTime(10_000)
  expect(stalled).not.toHaveBeenCalled()
})

test('what stays unsent is one, after its time', () => {
  const { ws, stalled } = watched()
  vi.advanceTimersByTime(150)
  ws.bufferedAmount = 10
  vi.advanceTimersByTime(400)
  expect(stalled).not.toHaveBeenCalled()
  vi.advanceTimersByTime(100)
  expect(stalled).toHaveBeenCalled()
})

test.each<[string, (socket: { bytesWritten: number; _handle: { writeQueueSize: number } }) => void]>([
  ['a part of a message that went', (socket) => void socket._handle.writeQueueSize--],
  ['a message that went', (socket) => void socket.bytesWritten++],
])('%s is progress', (_, go) => {
  const { ws, socket, stalled } = watched()
  ws.bufferedAmount = 10
  for (let n = 0; n < 20; n++) {
    vi.advanceTimersByTime(300)
    go(socket)
  }
  expect(stalled).not.toHaveBeenCalled()
})

test('more that is written behind it is none', () => {
  const { ws, socket, stalled } = watched()
  ws.bufferedAmount = 10
  for (let n = 0; n < 5; n++) {
    vi.advanceTimersByTime(100)
    socket.bytesWritten += 10
    socket.writableLength += 10
  }
  expect(stalled).toHaveBeenCalled()
})

test('after its end nothing is watched', () => {
  const { ws, stalled, stop } = watched()
  ws.bufferedAmount = 10
  stop()
  vi.advanceTimersByTime(1_000)
  expect(stalled).not.toHaveBeenCalled()
})
