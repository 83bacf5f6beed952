/**
 * Converts the zod schema of a kind into the subset of JSON Schema that a CRD supports. Refuses every check that the CRD
 * would lose: it would be enforced in one place only.
 */
import { z } from 'zod'

const RULE_ADVICE = 'state it as a rule of the kind (cel, message, test)'

/** zod types that a structural schema can express. `unknown`, unions, pipes and others are refused. */
const TYPES = new Set([
  'object',
  'array',
  'record',
  'string',
  'number',
  'boolean',
  'enum',
  'optional',
  'default',
])

/** zod checks that have a JSON Schema keyword. `custom` (refine) and `overwrite` (trim) have none. */
const CHECKS = new Set([
  'min_length',
  'max_length',
  'length_equals',
  'string_format',
  'number_format',
  'greater_than',
  'less_than',
])

/**
 * The API server uses Go's regular expressions (RE2). They have neither lookarounds nor back references, and fewer spaces
 * in `\s`; a class in brackets can list the missing ones.
 */
const NOT_RE2 = /\(\?(?:[=!]|<[=!])|\\[1-9]|\\s(?![^[]*\])/
const SPACES = '\\s\\v\\pZ\\x{FEFF}'

interface Validation {
  rule: string
  message: string
}
interface Described {
  description?: string | undefined
  default?: z.core.util.JSONType | undefined
}
export interface ObjectNode extends Described {
  type: 'object'
  properties?: Record<string, Node> | undefined
  required?: string[] | undefined
  additionalProperties?: Node | undefined
  maxProperties?: number | undefined
  'x-kubernetes-validations'?: Validation[] | undefined
}
interface ArrayNode extends Described {
  type: 'array'
  items: Node
  minItems?: number | undefined
  maxItems?: number | undefined
  'x-kubernetes-list-type'?: 'map' | 'set' | 'atomic' | undefined
  'x-kubernetes-list-map-keys'?: string[] | undefined
}
export interface StringNode extends Described {
  type: 'string'
  minLength?: number | undefined
  maxLength?: number | undefined
  pattern?: string | undefined
  format?: 'date-time' | undefined
  enum?: string[] | undefined
  'x-kubernetes-validations'?: Validation[] | undefined
}
interface IntegerNode extends Described {
  type: 'integer'
  minimum?: number | undefined
  maximum?: number | undefined
}
interface BooleanNode extends Described {
  type: 'boolean'
}
/** One node of a CRD schema. */
export type Node = ObjectNode | ArrayNode | StringNode | IntegerNode | BooleanNode

const described = { description: z.string().optional(), default: z.json().optional() }
const child = z.lazy(() => node)

/** Strict, so that an unknown keyword is an error. */
const node: z.ZodType<Node> = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('object'),
    ...described,
    properties: z.record(z.string(), child).optional(),
    required: z.array(z.string()).optional(),
    additionalProperties: child.optional(),
    maxProperties: z.int().optional(),
  }),
  z.strictObject({
    type: z.literal('array'),
    ...described,
    items: child,
    minItems: z.int().optional(),
    maxItems: z.int().optional(),
    'x-kubernetes-list-type': z.enum(['map', 'set', 'atomic']).optional(),
    'x-kubernetes-list-map-keys': z.array(z.string()).optional(),
  }),
  z.strictObject({
    type: z.literal('string'),
    ...described,
    minLength: z.int().optional(),
    maxLength: z.int().optional(),
    pattern: z.string().optional(),
    format: z.literal('date-time').optional(),
    enum: z.array(z.string()).optional(),
    'x-kubernetes-validations': z.array(z.strictObject({ rule: z.string(), message: z.string() })).optional(),
  }),
  z.strictObject({
    type: z.literal('integer'),
    ...described,
    minimum: z.int().optional(),
    maximum: z.int().optional(),
  }),
  z.strictObject({ type: z.literal('boolean'), ...described }),
])

/** A CRD cannot express this; the message has the kind and the path of the field. */
export class SchemaRefused extends Error {
  override name = 'SchemaRefused'
}

/** The CRD schema of `schema`; `subject`, such as "Channel.spec", begins the message of every error. */
export function crdSchema(subject: string, schema: z.ZodType): ObjectNode {
  const json = z.toJSONSchema(schema, {
    io: 'input',
    target: 'openapi-3.0',
    override: ({ zodSchema, jsonSchema, path }) => {
      refuseWhatVanishes(place(subject, path), zodSchema)
      // A structural schema may not close an object that lists its properties; kubectl refuses unknown fields itself.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
      delete jsonSchema.$schema
      patternAsRule(place(subject, path), zodSchema, jsonSchema)
    },
  })
  const parsed = node.safeParse(json)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new SchemaRefused(
      `${place(subject, issue?.path ?? [])}: a CRD cannot express this: ${issue?.message}`,
    )
  }
  if (parsed.data.type !== 'object') throw new SchemaRefused(`${subject}: must be an object`)
  checkNode(subject, parsed.data)
  return parsed.data
}

/**
 * Turns a pattern with a message into a rule, because for a `pattern` the API server prints only the regular expression.
 * A time also loses its format, because rules see formatted text as another type.
 */
function patternAsRule(where: string, schema: z.core.$ZodTypes, json: z.core.JSONSchema.BaseSchema): void {
  if (json.type !== 'string' || json.pattern === undefined) return
  if (NOT_RE2.test(json.pattern))
    throw new SchemaRefused(`${where}: the API server’s regular expressions do not support its pattern`)
  const message = sentenceOf(schema)
  if (message === undefined) return
  const pattern = json.pattern.replaceAll('\\s', SPACES)
  // A JSON string literal is a CEL string literal too.
  json['x-kubernetes-validations'] = [{ rule: `self.matches(${JSON.stringify(pattern)})`, message }]
  delete json.pattern
  delete json.format
}

/** The schema's own message for text that does not match its pattern. */
function sentenceOf(schema: z.core.$ZodTypes): string | undefined {
  for (const check of [schema, ...(schema._zod.def.checks ?? [])]) {
    if (!(check instanceof z.core.$ZodCheckStringFormat)) continue
    const { error } = check._zod.def
    // Its argument has no type that could be written; a fixed message does not use it.
    const message: unknown = error === undefined ? undefined : Reflect.apply(error, undefined, [])
    if (typeof message === 'string') return message
  }
  return undefined
}

function refuseWhatVanishes(where: string, schema: z.core.$ZodTypes): void {
  const { def } = schema._zod
  if (!TYPES.has(def.type))
    throw new SchemaRefused(`${where}: ${def.type} is not supported in a CRD; ${RULE_ADVICE}`)
  for (const check of def.checks ?? [])
    if (!CHECKS.has(check._zod.def.check))
      throw new SchemaRefused(
        `${where}: a ${check._zod.def.check} check would be lost in the CRD; ${RULE_ADVICE}`,
      )
  if (def.type === 'record' && isConstrained(def.keyType))
    throw new SchemaRefused(`${where}: constraints on the keys of a map would be lost; ${RULE_ADVICE}`)
}

function isConstrained(key: z.core.$ZodType): boolean {
  return key._zod.def.type !== 'string' || (key._zod.def.checks ?? []).length > 0
}

/** Requires bounds, without which the API server refuses rules, and a description of each field. */
function checkNode(where: string, field: Node): void {
  switch (field.type) {
    case 'object':
      for (const [name, member] of Object.entries(field.properties ?? {})) {
        if ((member.description ?? '') === '') throw new SchemaRefused(`${where}.${name}: has no description`)
        checkNode(`${where}.${name}`, member)
      }
      if (field.additionalProperties === undefined) return
      if (field.properties !== undefined) throw new SchemaRefused(`${where}: is both an object and a map`)
      if (field.maxProperties === undefined)
        throw new SchemaRefused(`${where}: is a map without maxProperties (set it by .meta)`)
      checkNode(`${where}{}`, field.additionalProperties)
      return
    case 'array':
      if (field.maxItems === undefined) throw new SchemaRefused(`${where}: is a list without a maximum`)
      checkNode(`${where}[]`, field.items)
      return
    case 'string':
      if (field.maxLength === undefined && field.enum === undefined && field.format !== 'date-time')
        throw new SchemaRefused(`${where}: is a text without a maximum length`)
      return
  }
}

/** "Channel.spec" and the path of a JSON Schema node as people write it: Channel.spec.headers{}. */
function place(subject: string, path: readonly PropertyKey[]): string {
  const words = path.map(String).filter((word) => word !== 'properties')
  return words.reduce(
    (text, word) =>
      word === 'items' ? `${text}[]` : word === 'additionalProperties' ? `${text}{}` : `${text}.${word}`,
    subject,
  )
}
