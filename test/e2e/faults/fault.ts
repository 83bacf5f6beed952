/** Faults of an upstream. */
import type { ServerResponse } from 'node:http'
import type { UpstreamFixture } from '../../fixtures/faults/upstream-fixture.ts'
import { written } from '../../harness/sse.ts'

/** Part of every upstream text that no client may see. */
export const CANARY = 'canary-of-the-upstream.example'

/** The call to answer. */
export interface FaultContext {
  res: ServerResponse
  fixture: UpstreamFixture
  /** The request asks for a stream. */
  stream: boolean
}

/**
 * The result that the client must get. `error`: an error status, or a stream that ends with an error event. `answer`: a
 * valid answer with the text TEXT. `either`: one of the two. `calls`: an answer with the two CALLS. `raw`: a call with
 * exactly the model's input.
 */
export type Verdict = 'error' | 'answer' | 'either' | 'calls' | 'raw'

export interface Fault {
  name: string
  /** For JSON requests; absent: the fault does not apply to them. */
  json?: Verdict
  stream?: Verdict
  /** Verdict on the byte lane if it differs: there the gateway does not parse the answer. */
  bytes?: Verdict
  /** The model's input, for the verdict `raw`. */
  raw?: string
  play(context: FaultContext): void | Promise<void>
}

/** Sends frames as a stream, one write each, and leaves it open. */
export async function open(res: ServerResponse, frames: readonly string[]): Promise<void> {
  if (!res.headersSent) res.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const frame of frames) await written(res, frame)
}

/** Sends frames as a complete stream. */
export async function stream(res: ServerResponse, frames: readonly string[]): Promise<void> {
  await open(res, frames)
  res.end()
}

export function json(res: ServerResponse, body: unknown, headers: Record<string, string> = {}): void {
  res.writeHead(200, { 'content-type': 'application/json', ...headers })
  res.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body))
}

/** Sends a good answer, as JSON or as a stream. */
export async function sendAnswer(
  { res, fixture, stream: isStream }: FaultContext,
  answer = {},
): Promise<void> {
  if (!isStream) return json(res, fixture.whole(answer))
  const { begin, body, end } = fixture.frames(answer)
  await stream(res, [...begin, ...body, ...end])
}

/** Sends deltas until the connection is closed. */
export async function sendDeltasForever({ res, fixture }: FaultContext): Promise<void> {
  await open(res, fixture.frames().begin)
  await untilClosed(res, 20, () => res.write(fixture.delta('more ')))
}

/** Repeats `act` until the connection is closed. */
export async function untilClosed(res: ServerResponse, everyMs: number, act: () => void): Promise<void> {
  while (!res.destroyed) {
    act()
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}
