/** Reads the upstream's key, which the caller sends as it would to the upstream. Nothing stores it. */
import { keyHash } from '../../contract/ids.ts'
import { holdsMintedKey } from '../../contract/key-format.ts'
import type { KeyRecord } from '../../contract/table/records.ts'
import { RecordUnreadable, StoreUnavailable } from '../../store/contract.ts'
import { GatewayError } from '../errors.ts'

/** Visible ASCII. The bound keeps out tokens of megabytes. */
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

/** Only x-api-key, which holds the gateway's key: the Authorization header holds the upstream's. */
export function gatewayKeyHeaders(rawHeaders: readonly string[]): string[] {
  return valuesOf(rawHeaders, 'x-api-key').flatMap((value) => ['x-api-key', value])
}

function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name)
}

/**
 * Throws invalid_request for a key of this gateway, even a revoked one, alone or as a part of the header: it must not
 * reach a foreign address. `find` looks up a hash; while the store is down, only the form of a key gives it away. Throws
 * unauthorized for a header with more parts than are looked up.
 */
export async function refuseGatewayKey(
  key: string,
  find: (hash: string) => Promise<KeyRecord | undefined>,
): Promise<void> {
  if (holdsMintedKey(key)) throw ownKey()
  const candidates = candidatesIn(key)
  // No upstream has keys of so many parts. Without this, a caller could make the gateway look up any number.
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
/** Separates the parts of a text that may contain a key, for example `key=KEY`, `"KEY"` or `KEY,x`. */
const SEPARATOR = /[^A-Za-z0-9._~+/-]/
/** Separates keys that contain separators themselves. */
const COARSE_SEPARATOR = /[,;]/

/**
 * All parts of the text that may be a key: the whole, each part between commas, the end of such a part after its first
 * `=` or `:`, and each part between separators of any kind. Takes linear time.
 */
function candidatesIn(text: string): Set<string> {
  const coarse = text.split(COARSE_SEPARATOR)
  const values = coarse.map((part) => part.slice(part.search(/[=:]/) + 1))
  const parts = [...coarse, ...values, ...text.split(SEPARATOR)]
  return new Set([text, ...parts.flatMap((part) => [part, bare(part)])].filter((part) => part !== ''))
}

/** Without leading and trailing characters that no key begins or ends with. */
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
    // A record exists, and cannot be opened.
    if (error instanceof RecordUnreadable) return true
    throw error
  }
}
