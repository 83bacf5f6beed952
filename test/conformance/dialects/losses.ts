/** Compares the losses of a conversion with the request, by paths and field by field. */
import { isDeepStrictEqual } from 'node:util'
import type { Features } from '../../../contract/features.ts'
import { isRecord } from '../../../proxy/dialects/core/json/value.ts'
import { GatewayError } from '../../../proxy/errors.ts'
import { type Converted, convert, type DialectName } from './codecs.ts'

type Json = Record<string, unknown>

/** True if the body has a value at this path, in any item of lists. */
export function has(body: unknown, path: string): boolean {
  if (Array.isArray(body)) return body.some((item) => has(item, path))
  if (path === '') return true
  if (!isRecord(body)) return false
  // A key may contain a dot.
  return Object.keys(body).some(
    (key) => (path === key || path.startsWith(`${key}.`)) && has(body[key], path.slice(key.length + 1)),
  )
}

/** Losses that name no field of the body. */
export const misnamed = (body: Json, losses: readonly string[]): string[] =>
  losses.filter((loss) => !has(body, loss))

/** A field of a body, and the body with another value for it or without it. */
export interface Change {
  path: string
  value: unknown
  body: Json
}

/** The body with one field changed, for each field and each change. Only the first of several items with the same path. */
export function changesOf(body: Json): Change[] {
  const seen = new Set<string>()
  return placesIn(body, []).flatMap(({ at, value }) => {
    const path = at.filter((step) => typeof step === 'string').join('.')
    if (seen.has(path)) return []
    seen.add(path)
    return [undefined, ...othersOf(value)].map((other) => ({
      path,
      value,
      body: withValue(body, at, other),
    }))
  })
}

type Step = string | number

function placesIn(value: unknown, at: Step[]): { at: Step[]; value: unknown }[] {
  if (Array.isArray(value)) return value.flatMap((item, i) => placesIn(item, [...at, i]))
  if (!isRecord(value)) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const here = [...at, key]
    return [{ at: here, value: inner }, ...placesIn(inner, here)]
  })
}

function othersOf(value: unknown): unknown[] {
  if (typeof value === 'number') return [value + 1]
  if (typeof value === 'boolean') return [!value]
  return typeof value === 'string' ? [`${value}x`] : []
}

function withValue(body: Json, [step, ...rest]: Step[], value: unknown): Json {
  const copy: Json | unknown[] = Array.isArray(body) ? [...body] : { ...body }
  const target = copy as Json
  const key = String(step)
  if (rest.length > 0) target[key] = withValue(target[key] as Json, rest, value)
  else if (value === undefined) delete target[key]
  else target[key] = value
  return target
}

/**
 * Changes of the body that reach neither the upstream nor the losses. Two different requests may become equal only if one
 * of them has a loss.
 */
export function silentChanges(
  client: DialectName,
  body: Json,
  upstream: DialectName,
  features: Partial<Features> = {},
): { path: string; value: unknown }[] {
  const whole = orRefused(() => convert(client, body, upstream, features))
  if (whole === undefined) return []
  return changesOf(body).flatMap(({ path, value, body: changed }) => {
    const other = orRefused(() => convert(client, changed, upstream, features))
    if (other === undefined || !isDeepStrictEqual(whole.body, other.body)) return []
    const isTold = [...whole.losses, ...other.losses].some((loss) => concerns(loss, path))
    return isTold ? [] : [{ path, value }]
  })
}

/** A loss of a field covers the fields in it, and the reverse. The gateway does not send tools that a choice forbids. */
const concerns = (loss: string, path: string) =>
  path === loss ||
  path.startsWith(`${loss}.`) ||
  loss.startsWith(`${path}.`) ||
  (loss === 'tool_choice' && path.startsWith('tools'))

/** Undefined for a request that is refused. */
function orRefused(run: () => Converted): Converted | undefined {
  try {
    return run()
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}
