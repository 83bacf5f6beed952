/** Legal bodies made illegal, one value at a time. */
import { isRecord } from '../../../proxy/dialects/core/json/value.ts'

export type Path = readonly (string | number)[]

/** JSON Schemas are not looked into. */
const SCHEMAS = ['schema', 'parameters', 'input_schema']

/** Paths of all values below the top: fields, list items, and what is in them. */
export function pathsIn(value: unknown, at: Path = []): Path[] {
  if (SCHEMAS.includes(String(at.at(-1)))) return [at]
  const inner = Array.isArray(value)
    ? value.flatMap((item, i) => pathsIn(item, [...at, i]))
    : isRecord(value)
      ? Object.entries(value).flatMap(([key, item]) => pathsIn(item, [...at, key]))
      : []
  return at.length === 0 ? inner : [at, ...inner]
}

/** A copy of `value` in which `made` stands at the path. */
export function replaced(value: unknown, [step, ...rest]: Path, made: unknown): unknown {
  if (step === undefined) return made
  if (Array.isArray(value)) return value.map((item, i) => (i === step ? replaced(item, rest, made) : item))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, key === step ? replaced(item, rest, made) : item]),
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

/** What is put in the place of values: one of each type, and then extremes of them. */
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
 * True when `made` could stand in the place of `original`: it is of the same type, or null, which mostly means absent,
 * or one of the two ways to write content, a text or a list.
 */
export function isOfKind(original: unknown, made: unknown): boolean {
  const [one, other] = [original, made].map((value) =>
    Array.isArray(value) || typeof value === 'string' ? 'content' : value === null ? 'null' : typeof value,
  )
  return one === other || one === 'null' || other === 'null'
}

export interface Mutant {
  path: Path
  kind: string
  made: unknown
  body: unknown
}

/** Every value of `body` replaced by every wrong one. */
export function mutantsOf(body: unknown, extremes: boolean): Mutant[] {
  const wrong = Object.entries({ ...TYPES, ...(extremes && EXTREMES) })
  return pathsIn(body).flatMap((path) =>
    wrong.map(([kind, made]) => ({ path, kind, made, body: replaced(body, path, made) })),
  )
}
