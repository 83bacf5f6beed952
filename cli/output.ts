/** Standard output for many lines a second. It writes in the background, so that no request waits for its log line. */
import pino, { type DestinationStream } from 'pino'
import { textLine } from './log-text.ts'

/** Lines are buffered up to this many characters or this long, because a write costs more than a line. */
const BUFFERED_CHARACTERS = 8_192
const BUFFERED_MS = 25
/** How far a reader of standard output may lag behind before new lines are dropped. */
const MAX_UNREAD_BYTES = 16_777_216

export interface Output {
  /** For the program log. */
  destination: DestinationStream
  /** For the request log. */
  writeLine(line: string): void
  /** Lines of JSON of another process, each but the last with its line break. */
  writeLines(lines: string): void
  /** Resolves when the text is written; rejects when it is dropped, because standard output is not read. */
  write(text: string): Promise<void>
  /** Writes the buffered lines, before the process ends. */
  close(): void
}

/** `auto` is text on a terminal and JSON elsewhere. */
export function openOutput(format: 'auto' | 'text' | 'json'): Output {
  const asText = format === 'text' || (format === 'auto' && process.stdout.isTTY)
  const out = pino.destination({ dest: 1, sync: false, maxLength: MAX_UNREAD_BYTES })
  // The reader has closed the pipe. The gateway must keep running.
  out.on('error', () => undefined)
  let buffer = ''
  const flush = () => {
    if (buffer !== '') out.write(buffer)
    buffer = ''
  }
  const timer = setInterval(flush, BUFFERED_MS)
  timer.unref()
  return {
    destination: asText ? { write: (line) => void out.write(`${textLine(line)}\n`) } : out,
    writeLine(line) {
      buffer += `${asText ? textLine(line) : line}\n`
      if (buffer.length >= BUFFERED_CHARACTERS) flush()
    },
    writeLines(lines) {
      buffer += `${asText ? lines.split('\n').map(textLine).join('\n') : lines}\n`
      if (buffer.length >= BUFFERED_CHARACTERS) flush()
    },
    write(text) {
      return new Promise((resolve, reject) => {
        const drop = () => reject(new Error('standard output is not read'))
        out.once('drop', drop)
        flush()
        out.write(text)
        out.off('drop', drop)
        out.flush((error) => (error ? reject(error) : resolve()))
      })
    },
    close() {
      clearInterval(timer)
      flush()
      out.flushSync()
    },
  }
}
