import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../../../errors.ts'
import type { JsonLimits } from '../request.ts'
import { hasDisguisedKey } from './disguised-keys.ts'
import { findMembers } from './find-members.ts'
import { isQuickToParse, notAnObject } from './limits.ts'
import type { Member } from './scanned-body.ts'
import { scanObject } from './scanner.ts'
import { shapeOf } from './shape.ts'
import { type Fields, isRecord } from './value.ts'

export interface JsonObject {
  value: Fields
  /** In the order of the bytes. */
  members: Member[]
}

/**
 * Parses a request body that must be one JSON object. The gateway acts on the keys in `readKeys`: they may occur once
 * only, and unescaped, so that no upstream can read another value than the gateway did.
 * Throws GatewayError invalid_request.
 */
export function parseJsonObject(body: Buffer, limits: JsonLimits, readKeys: ReadonlySet<string>): JsonObject {
  if (!isUtf8(body)) throw new GatewayError('invalid_request', 'The body is not valid UTF-8.')
  const text = body.toString('utf8')
  const scanned = scannedOf(body, limits) ?? (isQuickToParse(text) ? undefined : scanObject(body, limits))
  const value = parse(text)
  if (!isRecord(value)) throw notAnObject()
  const shape = shapeOf(value, limits)
  const members = scanned ?? findMembers(text, value, { shape, body }) ?? scanObject(body, limits)
  checkKeys(members, readKeys)
  if (hasDisguisedKey(text, shape))
    throw new GatewayError(
      'invalid_request',
      'The keys of the body must not have letters written as escapes.',
    )
  return { value, members }
}

/** The members of a body that was scanned while it arrived. */
function scannedOf(body: Buffer, { scanned }: JsonLimits): Member[] | undefined {
  return scanned?.bytes === body ? scanned.members : undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new GatewayError('invalid_request', `The body is not valid JSON${place(cause)}.`)
  }
}

/** Where the parser stopped, if known. The rest of its message must not be shown: it may quote the body. */
function place(error: unknown): string {
  if (!(error instanceof SyntaxError)) return ''
  if (error.message === 'Unexpected end of JSON input') return ': it is incomplete'
  const position = / in JSON at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(error.message)?.[1]
  return position === undefined ? '' : ` (at character ${position})`
}

function checkKeys(members: Member[], readKeys: ReadonlySet<string>): void {
  const seen = new Set<string>()
  for (const { rawKey } of members) {
    const escaped = rawKey.includes('\\')
    const key = escaped ? String(JSON.parse(`"${rawKey}"`)) : rawKey
    if (!readKeys.has(key)) continue
    if (escaped) throw refusal(key, 'must be written without escapes')
    if (seen.has(key)) throw refusal(key, 'occurs twice in the body')
    seen.add(key)
  }
}

function refusal(key: string, problem: string): GatewayError {
  return new GatewayError('invalid_request', `The key ${key} ${problem}.`, { param: key })
}
