/** Replaces single values in valid bodies by invalid ones. */
import { isRecord } from '../../../proxy/dialects/core/json/value.ts'

export type Path = readonly (string | number)[]

/** Fields with JSON Schemas, which are not mutated inside. */
const SCHEMAS = ['schema', 'parameters', 'input_schema']

/** Paths of all nested values: fields and list items. */
export function pathsIn(value: unknown, at: Path = []): Path[] {
  if (SCHEMAS.includes(String(at.at(-1)))) return [at]
  const inner = Array.isArray(value)
    ? value.flatMap((item, i) => pathsIn(item, [...at, i]))
    : isRecord(value)
      ? Object.entries(value).flatMap(([key, item]) => pathsIn(item, [...at, key]))
      : []
  return at.length === 0 ? inner : [at, ...inner]
}

/** A copy of `value` in which `replacement` stands at the path. */
export function replaced(value: unknown, [step, ...rest]: Path, replacement: unknown): unknown {
  if (step === undefined) return replacement
  if (Array.isArray(value))
    return value.map((item, i) => (i === step ? replaced(item, rest, replacement) : item))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === step ? replaced(item, rest, replacement) : item,
    ]),
  )
}

export function valueAt(value: unknown, [step, ...rest]: Path): unknown {
  if (step === undefined) return value
  if (Array.isArray(value)) return valueAt(value[Number(step)], rest)
  return isRecord(value) ? valueAt(value[step], rest) : undefined
}

/** `messages[2].content[0].text` */
export const nameOf = (path: Path): string =>
  path.reduce<string>((at, step) => {
    if (typeof step === 'number') return `${at}[${step}]`
    return at === '' ? step : `${at}.${step}`
  }, '')

const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)])

/** Replacement values: one of each type, and extremes. */
const TYPES: Record<string, unknown> = {
  number: 7.5,
  string: 'canary-of-the-client',
  null: null,
  true: true,
  list: ['canary-of-the-client'],
  object: { canary: 'canary-of-the-client' },
}
const EXTREMES: Record<string, unknown> = {
  negative: -1e300,
  empty: '',
  'empty list': [],
  'empty object': {},
  deep: deep(40),
  long: 'x'.repeat(100_000),
  surrogate: '\ud800',
}

/**
 * True if `replacement` may be valid instead of `original`: of the same type, null (which mostly means absent), or the
 * other form of content (text or list).
 */
export function isOfKind(original: unknown, replacement: unknown): boolean {
  const [one, other] = [original, replacement].map((value) =>
    Array.isArray(value) || typeof value === 'string' ? 'content' : value === null ? 'null' : typeof value,
  )
  return one === other || one === 'null' || other === 'null'
}

export interface Mutant {
  path: Path
  kind: string
  replacement: unknown
  body: unknown
}

/** Copies of `body`, each with one value replaced. */
export function mutantsOf(body: unknown, extremes: boolean): Mutant[] {
  const wrong = Object.entries({ ...TYPES, ...(extremes && EXTREMES) })
  return pathsIn(body).flatMap((path) =>
    wrong.map(([kind, replacement]) => ({
      path,
      kind,
      replacement,
      body: replaced(body, path, replacement),
    })),
  )
}
