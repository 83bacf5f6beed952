/** Scripted chat streams. */
import type { ServerResponse } from 'node:http'
import { expect } from 'vitest'
import { eventData } from './http.ts'
import type { Script } from './upstream.ts'

export const DONE = 'data: [DONE]\n\n'

/** Answers with these pieces, one write each. */
export const sse = (pieces: readonly (string | Buffer)[], headers: Record<string, string> = {}): Script => {
  return async (_call, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream', ...headers })
    for (const piece of pieces) await written(res, piece)
    res.end()
  }
}

/** Resolves when the bytes are flushed, so that the next write does not join them. */
export function written(res: ServerResponse, bytes: string | Buffer): Promise<void> {
  return new Promise((resolve) => res.write(bytes, () => resolve()))
}

export const chunked = (text: Buffer, size: number) =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.subarray(i * size, (i + 1) * size))

/** Ways to split the bytes of a stream. */
export const CHUNKINGS: [string, (text: Buffer) => Buffer[]][] = [
  ['one write', (text) => [text]],
  ['7-byte writes', (text) => chunked(text, 7)],
  [
    'one write per event',
    (text) =>
      text
        .toString('latin1')
        .split(/(?<=\n\n)/)
        .map((event) => Buffer.from(event, 'latin1')),
  ],
]

/** Asserts that an answer consists of `events` and a final error event. */
export function expectBroken(
  text: string,
  events: readonly string[],
  error: object = { type: 'server_error', code: 'upstream_error' },
) {
  const last = eventData(text).at(-1) ?? ''
  expect(JSON.parse(last)).toEqual({ error: { message: expect.any(String), param: null, ...error } })
  expect(text).toBe(`${events.join('')}data: ${last}\n\n`)
}
