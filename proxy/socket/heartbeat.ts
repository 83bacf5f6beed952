/** Detects a client that disappeared without closing its connection. */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import type { SocketLimits } from './limits.ts'

/** The returned function stops it. */
export function startHeartbeat(
  ws: WebSocket,
  socket: Socket,
  { pingMs, pongMs }: Pick<SocketLimits, 'pingMs' | 'pongMs'>,
): () => void {
  let received = 0
  let deadline: NodeJS.Timeout | undefined
  const beat = setInterval(() => {
    // A ping waits behind unread messages; stall.ts detects a client that does not read those.
    if (ws.bufferedAmount > 0 || deadline !== undefined) return
    received = socket.bytesRead
    // Also while reading is paused: a reset connection shows only when something is sent.
    ws.ping()
    deadline = setTimeout(() => {
      deadline = undefined
      // A long message is a sign of life before it is complete.
      if (!ws.isPaused && socket.bytesRead === received) ws.terminate()
    }, pongMs)
    deadline.unref()
  }, pingMs)
  beat.unref()
  return () => {
    clearInterval(beat)
    clearTimeout(deadline)
  }
}
