/** Parses the URL of a relayed request. `policy.ts` checks its destination. */
import { isIP } from 'node:net'
import { unmap } from '../../../contract/address.ts'
import { GatewayError } from '../../errors.ts'

export interface Destination {
  /** Parsed by the WHATWG rules, without a fragment. */
  url: URL
  /** In lower case, without brackets and trailing dot; an IPv4-mapped address is the IPv4 one. */
  hostname: string
  /** The host is an address, so no look-up is needed. */
  isLiteral: boolean
  port: number
}

const MAX_CHARACTERS = 2_048
/** The parser drops tabs and line ends and takes a backslash for a slash: other readers of the URL may not. */
const UNSEEN = /[\s\\\p{Cc}\p{Cs}]/u
const START = /^https?:\/\/([^/?#]+)/i

/** Throws invalid_request with the param `url`. */
export function readUrl(text: string): Destination {
  if (text.length > MAX_CHARACTERS)
    throw invalid(`must not be longer than ${MAX_CHARACTERS.toLocaleString('en')} characters`)
  if (UNSEEN.test(text)) throw invalid('must not have white space, control characters or backslashes')
  const authority = START.exec(text)?.[1]
  if (authority === undefined || !URL.canParse(text)) throw invalid('must be an absolute http or https URL')
  if (authority.includes('@')) throw invalid('must not have a user or password')
  const url = new URL(text)
  url.hash = ''
  // A trailing dot marks a complete name. Names in certificates do not have it.
  if (/[^.]\.$/.test(url.hostname)) url.hostname = url.hostname.slice(0, -1)
  const hostname = unmap(url.hostname.replace(/^\[|\]$/g, ''))
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  return { url, hostname, isLiteral: isIP(hostname) !== 0, port }
}

function invalid(problem: string): GatewayError {
  return new GatewayError('invalid_request', `url ${problem}.`, { param: 'url' })
}
