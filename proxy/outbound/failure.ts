/** Names for failures between the gateway and an upstream, until the whole answer has arrived. */
import { errors } from 'undici'
import type { UpstreamFailure } from '../errors.ts'

/** `detail` of the failures that this room reports. */
export type TransportFault =
  | 'dns'
  | 'connect_refused'
  | 'connect_timeout'
  | 'unreachable'
  | 'tls'
  /** The HTTP proxy cannot be reached, or refused the connection. */
  | 'proxy'
  /** The connection was lost before the answer began. */
  | 'reset'
  /** After the answer began the connection was lost, or the body ended too early or broke. */
  | 'cut_stream'
  | 'first_byte_timeout'
  | 'idle_timeout'
  | 'total_timeout'
  | 'answer_too_large'
  /** The answer has a content-encoding that is unknown, or bytes that do not decode. */
  | 'bad_encoding'
  /** The answer is not HTTP/1.1. */
  | 'bad_http'
  /** The request cannot be written as HTTP, for example because of a line break in a header. */
  | 'bad_request'
  /** The gateway gave up; this proves nothing about the upstream. */
  | 'aborted'
  | 'connection_failed'

/** An attempt that ended without an answer. It contains no host, port or library text. */
export class AttemptFailed extends Error {
  override name = 'AttemptFailed'
  readonly failure: UpstreamFailure
  /** The whole request was written to the upstream, which may work on it and bill it. */
  readonly sent: boolean

  constructor(failure: UpstreamFailure, sent: boolean) {
    super(failure.detail)
    this.failure = failure
    this.sent = sent
  }
}

export function transportFailure(detail: TransportFault): UpstreamFailure {
  return { class: 'transient', detail }
}

/** The HTTP proxy between the gateway and an upstream failed. The message never contains its address. */
export class ProxyFailed extends Error {
  override name = 'ProxyFailed'
}

const BY_CODE: Record<string, TransportFault> = {
  ENOTFOUND: 'dns',
  ECONNREFUSED: 'connect_refused',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  ETIMEDOUT: 'connect_timeout',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  UND_ERR_SOCKET: 'reset',
  EPROTO: 'tls',
  HOSTNAME_MISMATCH: 'tls',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'tls',
  SELF_SIGNED_CERT_IN_CHAIN: 'tls',
  INVALID_CA: 'tls',
  INVALID_PURPOSE: 'tls',
  PATH_LENGTH_EXCEEDED: 'tls',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'cut_stream',
  UND_ERR_HEADERS_OVERFLOW: 'bad_http',
  UND_ERR_INVALID_ARG: 'bad_request',
  UND_ERR_NOT_SUPPORTED: 'bad_request',
}

const BY_PREFIX: readonly (readonly [string, TransportFault])[] = [
  ['EAI_', 'dns'],
  ['ERR_TLS_', 'tls'],
  ['ERR_SSL_', 'tls'],
  ['ERR_OSSL_', 'tls'],
  ['CERT_', 'tls'],
  ['CRL_', 'tls'],
  ['UNABLE_TO_', 'tls'],
  ['ERROR_IN_', 'tls'],
]

/** Maps an error of the HTTP client by its code. Messages contain addresses, so they are never read. */
export function faultOf(error: Error, answerBegun: boolean): TransportFault {
  const fault = namedFault(error)
  return answerBegun && (fault === 'reset' || fault === 'bad_http') ? 'cut_stream' : fault
}

function namedFault(error: Error): TransportFault {
  // Parser errors do not always have a code.
  if (error instanceof errors.HTTPParserError) return 'bad_http'
  if (error instanceof ProxyFailed) return 'proxy'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return BY_CODE[code] ?? BY_PREFIX.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'connection_failed'
}
