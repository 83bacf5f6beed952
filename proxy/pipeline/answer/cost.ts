/** Tells the client what its answer costs: in a header, or on request in a comment of the stream. */
import type { IncomingMessage } from 'node:http'
import { formatDollars, type Nanos } from '../../../contract/money.ts'

export const COST_HEADER = 'x-sluice-cost'
const WANTED = 'x-sluice-include-cost'

/** Only on request: otherwise the stream has the upstream's bytes alone. WebSockets have no comments. */
export function wantsCost({ headers }: IncomingMessage): boolean {
  return headers[WANTED] === 'true' && headers.upgrade === undefined
}

/** Whole events with the cost before the last one, where clients still read. Unchanged if the cost is not known. */
export function withCost(events: Buffer, cost: Nanos | undefined): Buffer {
  if (cost === undefined) return events
  const comment = Buffer.from(`: ${COST_HEADER} ${formatDollars(cost)}\n\n`)
  const at = startOfLast(events)
  return Buffer.concat([events.subarray(0, at), comment, events.subarray(at)])
}

function startOfLast(events: Buffer): number {
  let end = events.length
  while (end > 0 && isLineEnd(events[end - 1])) end--
  const before = events.subarray(0, end)
  const ends = ['\n\n', '\r\n\r\n', '\r\r'].map((blank) => {
    const at = before.lastIndexOf(blank)
    return at < 0 ? 0 : at + blank.length
  })
  return Math.max(...ends)
}

const isLineEnd = (byte: number | undefined) => byte === 10 || byte === 13
