/** Finds out that a client is gone although its connection was never closed. */
import type { WebSocket } from 'ws'

export interface HeartbeatOptions {
  pingMs: number
  pongMs: number
  /** Bytes that have come so far: a long message is a sign of life before it is complete. */
  bytesRead(): number
  /** What the client sends is not read at the moment. */
  deaf(): boolean
  /** Nobody answers. */
  dead(): void
}

/** Returns the function that ends it. */
export function startHeartbeat(ws: WebSocket, options: HeartbeatOptions): () => void {
  const { pingMs, pongMs, bytesRead, deaf, dead } = options
  let heard = 0
  let deadline: NodeJS.Timeout | undefined
  const beat = setInterval(() => {
    // Behind unread messages a ping waits its turn; whether those are read is judged elsewhere.
    if (ws.bufferedAmount > 0 || deadline !== undefined) return
    heard = bytesRead()
    // Asked even where the answer is not read: a connection that is reset shows only when something is sent.
    ws.ping()
    deadline = setTimeout(() => {
      deadline = undefined
      if (!deaf() && bytesRead() === heard) dead()
    }, pongMs)
    deadline.unref()
  }, pingMs)
  beat.unref()
  return () => {
    clearInterval(beat)
    clearTimeout(deadline)
  }
}
