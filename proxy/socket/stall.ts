/** Detects a client that does not read. */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'

/** How many times within the bound the progress is checked. */
const LOOKS = 4

/** A Node socket knows how many bytes of the current write the kernel has not taken: large messages go in parts. */
type WritingSocket = Socket & { _handle?: { writeQueueSize?: number } | null }

/**
 * Calls `stalled` when for `stallMs`, or up to a quarter longer, there were unsent bytes and none of them were taken,
 * whatever the client sends meanwhile. The returned function stops it.
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
