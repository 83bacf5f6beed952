/** Finds out that a client leaves unread what was sent. */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'

/** How often the silence that ends a connection is looked at. */
const LOOKS = 4

/** A socket of Node knows how much of the write under way the kernel has not taken: large messages go in parts. */
type WritingSocket = Socket & { _handle?: { writeQueueSize?: number } | null }

/**
 * Calls `stalled` when for `stallMs`, or up to a quarter longer, there was something unsent and none of it went: what
 * the client sends meanwhile is no excuse. Returns the function that ends it.
 */
export function watchStall(ws: WebSocket, socket: WritingSocket, stallMs: number, stalled: () => void) {
  let sent = 0
  let queued = 0
  let still = 0
  const looking = setInterval(() => {
    const before = { sent, queued }
    sent = socket.bytesWritten - socket.writableLength
    queued = socket._handle?.writeQueueSize ?? 0
    if (ws.bufferedAmount === 0) still = 0
    else if (still === 0 || sent !== before.sent || queued !== before.queued) still = 1
    else if (++still > LOOKS) stalled()
  }, stallMs / LOOKS)
  looking.unref()
  return () => clearInterval(looking)
}
