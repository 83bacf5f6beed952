/** What Node's parser lets pass although it is ambiguous between two proxies, or too much. */
import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../errors.ts'

export interface HeadLimits {
  /** Of the first line and all headers, with their line ends. */
  maxHeaderBytes: number
  maxHeaders: number
}

/** A host with an optional port (RFC 9110, section 7.2); empty where the client knows no name. */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i
/** A path and a query (RFC 9112, section 3.2.1), and what browsers leave unescaped in one; no fragment. */
const TARGET = /^\/[!"$-~]*$/

/** Undefined when the request may be served. */
export function requestProblem(req: IncomingMessage, limits: HeadLimits): GatewayError | undefined {
  const names = req.rawHeaders.filter((_, index) => index % 2 === 0)
  if (names.length > limits.maxHeaders) return headersTooLarge(limits)
  if (headBytes(req) > limits.maxHeaderBytes) return headersTooLarge(limits)
  if (req.httpVersion !== '1.1' && req.httpVersion !== '1.0') return invalid('The request must use HTTP/1.1.')
  if (!TARGET.test(req.url ?? '')) return invalid('The request target must be a path.')
  const hosts = req.rawHeaders.filter((_, index) => names[(index - 1) / 2]?.toLowerCase() === 'host')
  if (hosts.length > 1) return invalid('The request has more than one Host header.')
  if (hosts.length === 0 && req.httpVersion === '1.1') return invalid('The request has no Host header.')
  if (hosts.some((host) => !HOST.test(host))) return invalid('The Host header is not a host.')
  const coding = req.headers['transfer-encoding']
  if (coding === undefined) return undefined
  if (req.httpVersion === '1.0') return invalid('HTTP/1.0 knows no Transfer-Encoding.')
  // Others may precede it; nothing here would undo them.
  if (coding.toLowerCase() !== 'chunked') return invalid('Transfer-Encoding must be chunked.')
  return undefined
}

export function headersTooLarge({ maxHeaderBytes, maxHeaders }: HeadLimits): GatewayError {
  const message = `The headers are larger than ${maxHeaderBytes} bytes, or more than ${maxHeaders}.`
  return new GatewayError('headers_too_large', message)
}

/** As sent, but for spaces that a client has added around values. Node's own count leaves out all between texts. */
function headBytes({ method, url, rawHeaders }: IncomingMessage): number {
  const firstLine = `${method} ${url} HTTP/1.1\r\n`.length
  // Name and value come with ": " and a line end.
  return rawHeaders.reduce((sum, text) => sum + text.length + 2, firstLine + 2)
}

function invalid(message: string): GatewayError {
  return new GatewayError('invalid_request', message)
}
