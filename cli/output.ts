/** Standard output for many lines a second: written in the background, so that nobody waits for a log. */
import pino, { type DestinationStream } from 'pino'
import { textLine } from './log-text.ts'

/** Lines are kept until there are this many characters or this time has passed: a write costs more than a line. */
const KEPT_CHARACTERS = 8_192
const KEPT_MS = 25
/** How far a reader of standard output may lag behind before new lines are dropped. */
const MAX_UNREAD_BYTES = 16_777_216

export interface Output {
  /** For the program log. */
  destination: DestinationStream
  /** For the request log. */
  writeLine(line: string): void
  /** Writes what is left, before the process ends. */
  close(): void
}

/** `auto` is text on a terminal and JSON elsewhere. */
export function openOutput(format: 'auto' | 'text' | 'json'): Output {
  const asText = format === 'text' || (format === 'auto' && process.stdout.isTTY)
  const out = pino.destination({ dest: 1, sync: false, maxLength: MAX_UNREAD_BYTES })
  // The reader has gone; the gateway goes on.
  out.on('error', () => undefined)
  let kept = ''
  const flush = () => {
    if (kept !== '') out.write(kept)
    kept = ''
  }
  const timer = setInterval(flush, KEPT_MS)
  timer.unref()
  return {
    destination: asText ? { write: (line) => void out.write(`${textLine(line)}\n`) } : out,
    writeLine(line) {
      kept += `${asText ? textLine(line) : line}\n`
      if (kept.length >= KEPT_CHARACTERS) flush()
    },
    close() {
      clearInterval(timer)
      flush()
      out.flushSync()
    },
  }
}
