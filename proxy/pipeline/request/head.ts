/**
 * The head of an answer while its request is served: its id, and what the stages add. Kept as the flat list of names and
 * values that Node's writeHead takes as it is. With setHeader Node looks up, checks and copies each name again.
 */
import type { ServerResponse } from 'node:http'

const HEAD = Symbol('head')
type Headed = ServerResponse & { [HEAD]?: string[] }

/** Begins the head of an answer with the id of its request. */
export function beginHead(res: ServerResponse, requestId: string): void {
  const headed: Headed = res
  headed[HEAD] = ['x-request-id', requestId, 'request-id', requestId]
}

/** The id that the head began with. */
export function requestIdIn(res: ServerResponse): string | undefined {
  const headed: Headed = res
  return headed[HEAD]?.[1]
}

/** Adds a header, in place of one with this name. Names are in lower case. */
export function addHeader(res: ServerResponse, name: string, value: string): void {
  const headed: Headed = res
  headed[HEAD] ??= []
  const head = headed[HEAD]
  for (let at = 0; at < head.length; at += 2) {
    if (head[at] !== name) continue
    head[at + 1] = value
    return
  }
  head.push(name, value)
}

/** Completes the head with `more`, names and values in turn, and sends it with the first bytes of the body. */
export function writeHead(res: ServerResponse, status: number, more: readonly string[] = []): void {
  const headed: Headed = res
  const head = headed[HEAD]
  res.writeHead(status, head === undefined ? [...more] : head.concat(more))
}
