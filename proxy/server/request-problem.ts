/** Refuses requests that Node's parser lets pass although two proxies may read them differently, or they are too large. */
import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../errors.ts'

export interface HeadLimits {
  /** Bound on the first line and all headers, with their line ends. */
  maxHeaderBytes: number
  maxHeaders: number
}

/** A host with an optional port (RFC 9110, section 7.2); empty if the client has no name. */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i
/** A path and a query (RFC 9112, section 3.2.1), with the characters that browsers leave unescaped; no fragment. */
const TARGET = /^\/[!"$-~]*$/

/** Undefined when the request may be served. */
export function requestProblem(req: IncomingMessage, limits: HeadLimits): GatewayError | undefined {
  const { rawHeaders } = req
  if (rawHeaders.length / 2 > limits.maxHeaders) return headersTooLarge(limits)
  if (headBytes(req) > limits.maxHeaderBytes) return headersTooLarge(limits)
  if (req.httpVersion !== '1.1' && req.httpVersion !== '1.0') return invalid('The request must use HTTP/1.1.')
  if (!TARGET.test(req.url ?? '')) return invalid('The request target must be a path.')
  const hosts = hostsOf(rawHeaders)
  if (hosts.length > 1) return invalid('The request has more than one Host header.')
  if (hosts.length === 0 && req.httpVersion === '1.1') return invalid('The request has no Host header.')
  if (hosts.some((host) => !HOST.test(host))) return invalid('The Host header is not a host.')
  const coding = req.headers['transfer-encoding']
  if (coding === undefined) return undefined
  if (req.httpVersion === '1.0') return invalid('HTTP/1.0 has no Transfer-Encoding.')
  // Other codings may precede it, and the gateway would not undo them.
  if (coding.toLowerCase() !== 'chunked') return invalid('Transfer-Encoding must be chunked.')
  return undefined
}

function hostsOf(rawHeaders: readonly string[]): string[] {
  const hosts: string[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') hosts.push(rawHeaders[i + 1] ?? '')
  }
  return hosts
}

export function headersTooLarge({ maxHeaderBytes, maxHeaders }: HeadLimits): GatewayError {
  const message = `The request has more than ${maxHeaderBytes} bytes of headers, or more than ${maxHeaders} headers.`
  return new GatewayError('headers_too_large', message)
}

/** The size as sent, without spaces around values. Node's own count leaves out all separators. */
function headBytes({ method, url, rawHeaders }: IncomingMessage): number {
  const firstLine = `${method} ${url} HTTP/1.1\r\n`.length
  // Name and value come with ": " and a line end.
  return rawHeaders.reduce((sum, text) => sum + text.length + 2, firstLine + 2)
}

function invalid(message: string): GatewayError {
  return new GatewayError('invalid_request', message)
}
