/** Detects a client that disappeared without closing its connection. */
import type { WebSocket } from 'ws'

interface HeartbeatOptions {
  pingMs: number
  pongMs: number
  /** Bytes received so far: a long message is a sign of life before it is complete. */
  bytesRead(): number
  /** The gateway does not read from the client at the moment. */
  isPaused(): boolean
  /** The client does not answer. */
  dead(): void
}

/** The returned function stops it. */
export function startHeartbeat(ws: WebSocket, options: HeartbeatOptions): () => void {
  const { pingMs, pongMs, bytesRead, isPaused, dead } = options
  let received = 0
  let deadline: NodeJS.Timeout | undefined
  const beat = setInterval(() => {
    // A ping waits behind unread messages; stall.ts detects a client that does not read those.
    if (ws.bufferedAmount > 0 || deadline !== undefined) return
    received = bytesRead()
    // Also while reading is paused: a reset connection shows only when something is sent.
    ws.ping()
    deadline = setTimeout(() => {
      deadline = undefined
      if (!isPaused() && bytesRead() === received) dead()
    }, pongMs)
    deadline.unref()
  }, pingMs)
  beat.unref()
  return () => {
    clearInterval(beat)
    clearTimeout(deadline)
  }
}
