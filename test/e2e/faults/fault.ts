/** What a fault of an upstream is to the bench. */
import type { ServerResponse } from 'node:http'
import type { UpstreamFixture } from '../../fixtures/faults/upstream-fixture.ts'
import { written } from '../../harness/sse.ts'

/** Stands in every text of an upstream that no client may see. */
export const CANARY = 'canary-of-the-upstream.example'

/** An answer in the making. */
export interface Stage {
  res: ServerResponse
  fixture: UpstreamFixture
  /** The request asks for a stream. */
  stream: boolean
}

/**
 * What a client must get. `error`: a status of failure, or a stream that ends with an error event. `answer`: the whole
 * text TEXT, well-formed. `either`: one of the two, well-formed. `calls`: as `answer`, with the two CALLS. `raw`: a call
 * whose input is, to the letter, what the model wrote.
 */
export type Verdict = 'error' | 'answer' | 'either' | 'calls' | 'raw'

export interface Fault {
  name: string
  /** For a request without stream; absent: the fault has no such form. */
  json?: Verdict
  stream?: Verdict
  /** Where bytes pass, when it is another one: what an upstream says in a client's own dialect is not read. */
  bytes?: Verdict
  /** What the model wrote, for the verdict `raw`. */
  raw?: string
  play(stage: Stage): void | Promise<void>
}

/** Sends frames as a stream, each in a write of its own, and leaves it open. */
export async function open(res: ServerResponse, frames: readonly string[]): Promise<void> {
  if (!res.headersSent) res.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const frame of frames) await written(res, frame)
}

/** Sends frames as a stream, and ends it. */
export async function stream(res: ServerResponse, frames: readonly string[]): Promise<void> {
  await open(res, frames)
  res.end()
}

export function json(res: ServerResponse, body: unknown, headers: Record<string, string> = {}): void {
  res.writeHead(200, { 'content-type': 'application/json', ...headers })
  res.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body))
}

/** Says all frames, or the whole answer, as the request asks. */
export async function say({ res, fixture, stream: asked }: Stage, said = {}): Promise<void> {
  if (!asked) return json(res, fixture.whole(said))
  const { begin, body, end } = fixture.frames(said)
  await stream(res, [...begin, ...body, ...end])
}

/** A stream without end. */
export async function deltasForever({ res, fixture }: Stage): Promise<void> {
  await open(res, fixture.frames().begin)
  await untilClosed(res, 20, () => res.write(fixture.delta('more ')))
}

/** Waits until the connection is closed, doing something over and over. */
export async function untilClosed(res: ServerResponse, everyMs: number, act: () => void): Promise<void> {
  while (!res.destroyed) {
    act()
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}
