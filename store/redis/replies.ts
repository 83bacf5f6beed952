/** Parts of the replies of Redis. */
import { z } from 'zod'

/** Numbers are sent as text, because Lua and clients would round them. */
export const integer = z.string().transform(Number).pipe(z.int())

/** Null for a key that does not exist. */
export const stored = z.string().nullable()

/** Names with their values, which Redis returns as one list. */
export function* pairs(flat: readonly string[]): Generator<[string, string]> {
  for (let i = 0; i + 1 < flat.length; i += 2) yield [flat[i] ?? '', flat[i + 1] ?? '']
}
