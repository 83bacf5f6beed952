/**
 * Field types that several kinds share: plain zod that JSON Schema can express, because the CRDs are generated from it.
 * Each pattern has an error message that follows the field's name, both from the API server and in folder mode.
 */
import { z } from 'zod'
import { DURATION } from '../duration.ts'
import { DECIMAL, MAX_DOLLARS } from '../money.ts'
import type { Rule } from './kind.ts'

/** A DNS subdomain (RFC 1123), as the names of Kubernetes resources are. */
const DNS_NAME = /^[a-z0-9]+(-+[a-z0-9]+)*(\.[a-z0-9]+(-+[a-z0-9]+)*)*$/
/** An HTTP field name (RFC 9110, section 5.1). */
export const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/
const VISIBLE_ASCII = /^[\x20-\x7e]*$/

export const objectName = () =>
  z
    .string()
    .regex(
      DNS_NAME,
      'must be lower-case letters, digits, - and ., with a letter or digit at both ends, such as team-a',
    )
    .max(253)

/** A reference to another resource in the same namespace. */
export const reference = (kind: string) =>
  z.strictObject({ name: objectName().meta({ description: `Name of the ${kind}, in the same namespace.` }) })

/** One entry of a Secret in the same namespace; `defaultKey` is the entry read when `key` is absent. */
export const secretEntry = (defaultKey: string) =>
  z.strictObject({
    name: objectName().meta({ description: 'Name of the Secret, in the same namespace.' }),
    key: z
      .string()
      .regex(/^[-._a-zA-Z0-9]+$/, 'must be letters, digits, -, _ and . only')
      .max(253)
      .default(defaultKey)
      .meta({ description: `Entry of the Secret that contains the value.` }),
  })

export const duration = () =>
  z
    .string()
    .min(2)
    .max(32)
    .regex(
      DURATION,
      'must be a duration of whole numbers above zero with the units h, m, s, ms in this order, below 300h, such as 30s or 1h30m',
    )

/** A time as in RFC 3339. */
export const instant = () =>
  z.iso.datetime({
    offset: true,
    error: 'must be a time as in RFC 3339, with seconds and a time zone, such as 2027-12-31T23:59:59Z',
  })

const PRICE = /^[0-9]{1,7}(\.[0-9]{1,9})?$/

/** Decimal dollars, not negative. */
export const price = () =>
  z
    .string()
    .regex(
      PRICE,
      'must be dollars as decimal text, not negative, with at most 7 digits before the point and 9 after it, such as "0.25"',
    )
    .max(17)

/** Decimal dollars of either sign. */
export const amount = () =>
  z
    .string()
    .regex(
      DECIMAL,
      'must be dollars as decimal text, with at most 7 digits before the point and 9 after it, such as "25.00" or "-3.5"',
    )
    .max(18)

export const headerName = () =>
  z.string().max(128).regex(HEADER_NAME, 'must be the name of an HTTP header: letters, digits and dashes')
export const headerValue = () =>
  z.string().max(2048).regex(VISIBLE_ASCII, 'must be printable ASCII text on one line')

/** The rule that keeps a decimal field within what the ledger can hold. `path` is a CEL path under spec. */
export function amountWithinLedger<Spec>(path: string, read: (spec: Spec) => string | undefined): Rule<Spec> {
  const has = path.split('.').map((_, depth, parts) => `has(self.${parts.slice(0, depth + 1).join('.')})`)
  return {
    // The API server evaluates rules even for text that the schema refuses; without the match, double() fails.
    cel: `!(${has.join(' && ')}) || !self.${path}.matches(r"${DECIMAL.source}") || (double(self.${path}) <= ${MAX_DOLLARS}.0 && double(self.${path}) >= -${MAX_DOLLARS}.0)`,
    message: `spec.${path} must lie within ${MAX_DOLLARS} dollars, the limit of the ledger`,
    test: (spec) => {
      const text = read(spec) ?? '0'
      return !DECIMAL.test(text) || Math.abs(Number(text)) <= MAX_DOLLARS
    },
  }
}

/** How many entries a map field may have. Zod records have no such limit: metadata (`maxProperties`) and a rule set it. */
export const MAX_MAP_ENTRIES = 32

/** The rule that keeps a map field within MAX_MAP_ENTRIES. */
export function mapWithinBounds<Spec>(
  field: string,
  read: (spec: Spec) => Record<string, string> | undefined,
): Rule<Spec> {
  return {
    cel: `!has(self.${field}) || self.${field}.size() <= ${MAX_MAP_ENTRIES}`,
    message: `spec.${field} may have at most ${MAX_MAP_ENTRIES} entries`,
    test: (spec) => Object.keys(read(spec) ?? {}).length <= MAX_MAP_ENTRIES,
  }
}
