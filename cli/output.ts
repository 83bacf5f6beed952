/** Standard output for many lines a second. It writes in the background, so that no request waits for its log line. */
import pino, { type DestinationStream } from 'pino'
import { withDeadline } from '../kit/time.ts'
import { textLine } from './log-text.ts'

/** Lines are buffered up to this many characters or this long, because a write costs more than a line. */
const BUFFERED_CHARACTERS = 65_536
const BUFFERED_MS = 25
/** How far a reader of standard output may lag behind before new lines are dropped. */
const MAX_UNREAD_BYTES = 16_777_216
/** How long a text waits until standard output takes it. */
const UNREAD_MS = 5_000

export interface Output {
  /** For the program log. */
  destination: DestinationStream
  /** For the request log. */
  writeLine(line: string): void
  /** Lines of JSON of another process, each but the last with its line break. */
  writeLines(lines: string): void
  /**
   * Resolves when the text is written. Rejects when standard output is not read: the text is dropped, or waits for longer than
   * UNREAD_MS and may still be written.
   */
  write(text: string): Promise<void>
  /** Writes the buffered lines, before the process ends. */
  close(): void
}

const notRead = () => new Error('standard output is not read')

/** `auto` is text on a terminal and JSON elsewhere. */
export function openOutput(format: 'auto' | 'text' | 'json', unreadMs = UNREAD_MS): Output {
  const asText = format === 'text' || (format === 'auto' && process.stdout.isTTY)
  const out = pino.destination({ dest: 1, sync: false, maxLength: MAX_UNREAD_BYTES })
  // Bytes that `out` has got, and those that it has written: its flush calls back at once, whatever it still holds.
  let given = 0
  let written = 0
  const waiting: { until: number; resolve: () => void; reject: (error: Error) => void }[] = []
  const put = (text: string) => {
    given += Buffer.byteLength(text)
    out.write(text)
  }
  out.on('drop', (text: string) => {
    given -= Buffer.byteLength(text)
  })
  out.on('write', (bytes: number) => {
    written += bytes
    while (waiting[0] !== undefined && waiting[0].until <= written) waiting.shift()?.resolve()
  })
  // The reader has closed the pipe. The gateway must keep running.
  out.on('error', (error: Error) => {
    for (const { reject } of waiting.splice(0)) reject(error)
  })
  let buffer = ''
  // Set while lines wait: a timer that runs without any would wake an idle process.
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (buffer !== '') put(buffer)
    buffer = ''
  }
  const add = (lines: string) => {
    buffer += `${lines}\n`
    if (buffer.length >= BUFFERED_CHARACTERS) flush()
    else timer ??= setTimeout(flush, BUFFERED_MS).unref()
  }
  return {
    destination: { write: (line) => put(asText ? `${textLine(line)}\n` : line) },
    writeLine: (line) => add(asText ? textLine(line) : line),
    writeLines: (lines) => add(asText ? lines.split('\n').map(textLine).join('\n') : lines),
    write(text) {
      flush()
      const before = given
      put(text)
      if (given === before) return Promise.reject(notRead())
      const taken = new Promise<void>((resolve, reject) => waiting.push({ until: given, resolve, reject }))
      return withDeadline(taken, unreadMs, notRead)
    },
    close() {
      flush()
      out.flushSync()
    },
  }
}
