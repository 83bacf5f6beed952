/** Lines of a byte stream. */
import { LF } from '../../kit/bytes.ts'

/** More than any object that etcd takes (1.5 MiB by default), with room to spare. */
const MAX_LINE_BYTES = 16 * 1024 * 1024

/**
 * The text of each line, without its end, as soon as the end has arrived; what one chunk completes follows without a
 * pause. A byte of a longer UTF-8 character is never a line feed, so characters may be cut anywhere. Throws on a line
 * above `maxBytes` and when the stream ends within a line.
 */
export async function* linesOf(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes = MAX_LINE_BYTES,
): AsyncGenerator<string, void, undefined> {
  let parts: Uint8Array[] = []
  let length = 0
  for await (const chunk of bytes) {
    let start = 0
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      check(length + end - start, maxBytes)
      parts.push(chunk.subarray(start, end))
      const line = Buffer.concat(parts).toString('utf8')
      parts = []
      length = 0
      start = end + 1
      if (line !== '') yield line
    }
    length += chunk.length - start
    check(length, maxBytes)
    if (start < chunk.length) parts.push(chunk.subarray(start))
  }
  if (length > 0) throw new Error('the stream ended within a line')
}

function check(length: number, maxBytes: number): void {
  if (length > maxBytes) throw new Error(`a line of more than ${maxBytes} bytes`)
}
