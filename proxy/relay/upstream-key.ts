/** The upstream's key, which the caller sends as if it called the upstream itself. It is kept nowhere. */
import { keyHash } from '../../contract/ids.ts'
import { isMintedFormat } from '../../contract/key-format.ts'
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
  if (key === undefined)
    throw new GatewayError(
      'unauthorized',
      'Missing or malformed upstream key. Send it as "Authorization: Bearer <key>".',
    )
  return key
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
 * foreign address. `find` looks a hash up; where the store cannot tell, only the form of the key does.
 */
export async function refuseGatewayKey(
  key: string,
  find: (hash: string) => Promise<KeyRecord | undefined>,
): Promise<void> {
  for (const part of partsOf(key)) {
    if (isMintedFormat(part) || (await isKnown(find(keyHash(part)))))
      throw new GatewayError(
        'invalid_request',
        'The Authorization header holds a key of this gateway. Send the key of the upstream.',
      )
  }
}

/** The key, and what of it may be one between quotes or before a comma. */
function partsOf(key: string): Set<string> {
  const parts = [key, ...key.split(/[,;]/, 1)].map((part) =>
    part.replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9_-]+$/g, ''),
  )
  return new Set([key, ...parts.filter((part) => part !== '')])
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
