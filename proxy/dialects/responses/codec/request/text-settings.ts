/** `text`: the format and the length of the answer, both ways. */

import { type Fields, isRecord } from '../../../core/json/value.ts'
import { isClosedSchema } from '../../../core/neutral/closed-schema.ts'
import type { ModelRequest, OutputFormat } from '../../../core/neutral/types.ts'
import type { Writer } from '../../../core/writer.ts'
import type * as wire from '../../wire.ts'
import * as schema from './schema.ts'

interface TextSettings {
  format?: OutputFormat
  verbosity?: string
  /** True if the object has fields or a format that these do not cover. */
  more: boolean
}

const KNOWN = new Set(['format', 'verbosity'])
const KNOWN_OF_FORMAT = new Set(['type', 'name', 'description', 'schema', 'strict'])
/** Responses requires a name; clients of messages send none. */
const DEFAULT_NAME = 'response'

export function readText(value: unknown): TextSettings {
  if (value === undefined || value === null) return { more: false }
  const { format, verbosity } = schema.check(schema.textSettings, value, 'text')
  const read = format ? readFormat(format) : undefined
  const unknown = [
    ...unknownKeys(value, KNOWN),
    ...unknownKeys(format, KNOWN_OF_FORMAT),
    ...(format && read === undefined && format.type !== 'text' ? ['type'] : []),
  ]
  return { ...(read && { format: read }), ...(verbosity && { verbosity }), more: unknown.length > 0 }
}

function unknownKeys(value: unknown, known: ReadonlySet<string>): string[] {
  return isRecord(value) ? Object.keys(value).filter((key) => !known.has(key)) : []
}

function readFormat(format: Fields): OutputFormat | undefined {
  if (format.type === 'json_object') return { type: 'json' }
  if (format.type !== 'json_schema') return undefined
  const { name, description, schema: json, strict } = schema.check(schema.jsonSchema, format, 'text.format')
  return {
    type: 'schema',
    ...(name && { name }),
    ...(description && { description }),
    schema: json,
    ...(typeof strict === 'boolean' && { strict }),
  }
}

/** Undefined if it would be empty. */
export function writeText(
  { format, verbosity }: ModelRequest,
  writer: Writer,
): wire.TextSettings | undefined {
  if (format === undefined && verbosity === undefined) return undefined
  return { format: format && writeFormat(format, writer), verbosity: verbosity || undefined }
}

function writeFormat(format: OutputFormat, writer: Writer): wire.TextSettings['format'] {
  if (format.type === 'json') return { type: 'json_object' }
  const { name = DEFAULT_NAME, description, schema: json } = format
  if (!writer.features.structuredOutput) {
    writer.lose('format')
    return { type: 'json_object' }
  }
  // Responses enforces only strict schemas, and refuses open ones as strict.
  const strict = format.strict ?? (format.enforced && isClosedSchema(json))
  return { type: 'json_schema', name, description, schema: json, strict }
}

/** The instruction for upstreams that cannot enforce a schema; undefined if none is needed. */
export function formatInstruction({ format }: ModelRequest, writer: Writer): string | undefined {
  if (format?.type !== 'schema' || writer.features.structuredOutput) return undefined
  return `Reply with JSON alone that is valid against this JSON Schema:\n${JSON.stringify(format.schema)}`
}
