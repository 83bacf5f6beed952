/** The upstream's key, which the caller sends as if it called the upstream itself. It is kept nowhere. */
import { keyHash } from '../../contract/ids.ts'
import { holdsMintedKey } from '../../contract/key-format.ts'
import type { KeyRecord } from '../../contract/table/records.ts'
import { RecordUnreadable, StoreUnavailable } from '../../store/contract.ts'
import { GatewayError } from '../errors.ts'

/** Visible ASCII; longer ones are no keys, they are tokens of megabytes. */
const BEARER = /^Bearer +([!-~]{1,4096}) *$/i

/**
 * The one key in the one Authorization header. `rawHeaders` is Node's flat list of names and values. Throws
 * GatewayError unauthorized.
 */
export function upstreamKey(rawHeaders: readonly string[]): string {
  const values = valuesOf(rawHeaders, 'authorization')
  const key = values.length === 1 ? BEARER.exec(values[0] ?? '')?.[1] : undefined
  if (key === undefined) throw malformed()
  return key
}

function malformed(): GatewayError {
  return new GatewayError(
    'unauthorized',
    'Missing or malformed upstream key. Send it as "Authorization: Bearer <key>".',
  )
}

/** Of the headers only x-api-key, where the gateway's own key is: the other one is the upstream's. */
export function gatewayKeyHeaders(rawHeaders: readonly string[]): string[] {
  return valuesOf(rawHeaders, 'x-api-key').flatMap((value) => ['x-api-key', value])
}

function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name)
}

/**
 * Throws invalid_request for a key of this gateway, also for one that is no longer in force: it must not reach a
 * foreign address, alone or as a part of what was sent. `find` looks a hash up; where the store cannot tell, only the
 * form of the key does. Throws unauthorized for what has more parts than are looked up.
 */
export async function refuseGatewayKey(
  key: string,
  find: (hash: string) => Promise<KeyRecord | undefined>,
): Promise<void> {
  if (holdsMintedKey(key)) throw ownKey()
  const candidates = candidatesIn(key)
  // No upstream has keys of so many parts, and to look them all up would be the caller's to ask for.
  if (candidates.size > MAX_CANDIDATES) throw malformed()
  for (const candidate of candidates) if (await isKnown(find(keyHash(candidate)))) throw ownKey()
}

function ownKey(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'The Authorization header holds a key of this gateway. Send the key of the upstream.',
  )
}

const MAX_CANDIDATES = 16
/** Between the parts of what one may have written in place of a key, such as `key=KEY`, `"KEY"` or `KEY,x`. */
const SEPARATOR = /[^A-Za-z0-9._~+/-]/
/** Between keys that may have separators of their own. */
const COARSE_SEPARATOR = /[,;]/

/**
 * What of the text may be a key by itself: the whole, what stands between commas, what stands behind the first `=` or
 * `:` of that, and what stands between separators of any kind. All in linear time.
 */
function candidatesIn(text: string): Set<string> {
  const coarse = text.split(COARSE_SEPARATOR)
  const values = coarse.map((part) => part.slice(part.search(/[=:]/) + 1))
  const parts = [...coarse, ...values, ...text.split(SEPARATOR)]
  return new Set([text, ...parts.flatMap((part) => [part, bare(part)])].filter((part) => part !== ''))
}

/** Without the signs around it that a key neither begins nor ends with. */
function bare(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && !/[A-Za-z0-9]/.test(text.charAt(start))) start++
  while (end > start && !/[A-Za-z0-9_-]/.test(text.charAt(end - 1))) end--
  return text.slice(start, end)
}

async function isKnown(record: Promise<KeyRecord | undefined>): Promise<boolean> {
  try {
    return (await record) !== undefined
  } catch (error) {
    if (error instanceof StoreUnavailable) return false
    // There is a record, and it does not open.
    if (error instanceof RecordUnreadable) return true
    throw error
  }
}
