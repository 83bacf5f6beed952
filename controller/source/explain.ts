/** Turns the issues of a schema into messages that say what to change, without quoting any value. */
import { z } from 'zod'
import { nearest } from '../../kit/nearest.ts'

/** A path in a document: names of fields and indexes of items. */
export type Path = readonly (string | number)[]

export interface Fault {
  path: Path
  message: string
}

/** One fault for each issue. `prefix` is the path of the validated part in the document. */
export function explain(schema: z.ZodType, value: unknown, prefix: Path, error: z.ZodError): Fault[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path.filter((part) => typeof part !== 'symbol')
    const full = [...prefix, ...path]
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        path: [...full, key],
        message: unknownField(key, full, fieldsAt(schema, path)),
      }))
    }
    return [{ path: full, message: sentence(schema, value, { path, field: fieldName(full) }, issue) }]
  })
}

/** The message for an unknown field, with the known one that was probably meant. */
export function unknownField(key: string, parent: Path, known: readonly string[]): string {
  const close = nearest(key, known)
  const hint =
    close === undefined
      ? known.length === 0
        ? ''
        : `; known: ${known.join(', ')}`
      : `; did you mean ${close}?`
  return `unknown field ${fieldName([...parent, key])}${hint}`
}

/** "spec.channels[0].name" */
export function fieldName(path: Path): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  )
}

/** The message for a value that should be text; `found` is its type. */
export function wantedText(field: string, found: string): string {
  return found === 'number' || found === 'boolean'
    ? `${field} must be text, not a ${found}; put it in quotes`
    : `${field} must be text, not a ${found}`
}

/** The name of the JSON type of a value, for messages. */
export function typeName(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'list'
  return typeof value === 'object' ? 'mapping' : typeof value
}

const TYPE_WORDS: Record<string, string> = {
  object: 'a mapping of fields',
  record: 'a mapping of names to values',
  array: 'a list',
  boolean: 'true or false',
  number: 'a number',
  int: 'a whole number',
}

function sentence(
  schema: z.ZodType,
  root: unknown,
  { path, field }: { path: Path; field: string },
  issue: z.core.$ZodIssue,
): string {
  const found = typeName(valueAt(root, path))
  if (found === 'nothing') return `${field} is missing${about(schema, path)}`
  switch (issue.code) {
    case 'invalid_type':
      if (issue.expected === 'string') return wantedText(field, found)
      return `${field} must be ${TYPE_WORDS[issue.expected] ?? issue.expected}${cure(issue.expected, found, path)}`
    case 'invalid_value':
      return `${field} must be one of ${issue.values.map(String).join(', ')}`
    case 'too_small':
      return issue.origin === 'number' || issue.origin === 'int'
        ? `${field} must be at least ${issue.minimum}`
        : `${field} needs at least ${issue.minimum} ${unit(issue.origin)}`
    case 'too_big':
      return issue.origin === 'number' || issue.origin === 'int'
        ? `${field} must be at most ${issue.maximum}`
        : `${field} may have at most ${issue.maximum} ${unit(issue.origin)}`
    case 'invalid_format':
      return `${field} ${issue.message}`
    case 'invalid_key':
      return `${field} has an invalid name`
    default:
      return `${field}: ${issue.message}`
  }
}

/** Advice for a value of the wrong type. */
function cure(expected: string, found: string, path: Path): string {
  const name = path.findLast((part) => typeof part === 'string') ?? 'field'
  if (expected === 'array') return `, such as ${name}: ["first", "second"]`
  if (expected === 'object' || expected === 'record') return `, such as ${name}: { field: value }`
  return found === 'string' ? ', without quotes' : `, not a ${found}`
}

const unit = (origin: string) =>
  origin === 'array' ? 'entries' : origin === 'string' ? 'characters' : 'fields'

/** The first sentence of the field's description, as an explanation after a colon. */
function about(schema: z.ZodType, path: Path): string {
  const description = walk(schema, path).description
  return description === undefined ? '' : `: ${description.replace(/\.(\s.*)?$/s, '')}`
}

function valueAt(root: unknown, path: Path): unknown {
  let value = root
  for (const part of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Object.getOwnPropertyDescriptor(value, part)?.value
  }
  return value
}

function fieldsAt(schema: z.ZodType, path: Path): string[] {
  const inner = walk(schema, path).schema
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : []
}

/** The schema at `path` without its optional and default wrappers, and its description. */
function walk(schema: z.ZodType, path: Path): { schema: unknown; description: string | undefined } {
  let { schema: inner, description } = unwrap(schema)
  for (const part of path) {
    let child: unknown
    if (inner instanceof z.ZodObject) child = inner.shape[part]
    else if (inner instanceof z.ZodArray) child = inner.element
    else if (inner instanceof z.ZodRecord) child = inner.valueType
    const next = unwrap(child)
    // An entry of a list or map without its own description gets that of the field.
    description = next.description ?? (inner instanceof z.ZodObject ? undefined : description)
    inner = next.schema
  }
  return { schema: inner, description }
}

function unwrap(schema: unknown): { schema: unknown; description: string | undefined } {
  let inner = schema
  let description: string | undefined
  while (inner instanceof z.ZodType) {
    description ??= inner.description
    if (!(inner instanceof z.ZodOptional || inner instanceof z.ZodDefault)) break
    inner = inner.unwrap()
  }
  return { schema: inner, description }
}
