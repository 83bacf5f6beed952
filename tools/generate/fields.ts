/** The fields of a schema as rows of a reference table. */
import { code, table } from './markdown.ts'
import type { Node, ObjectNode, StringNode } from './schema.ts'

/** The table of all fields below `root`; nested ones are written `channels[].name`. */
export function fieldTable(root: ObjectNode): string {
  return table(['Field', 'Type', 'Default', 'Constraints', 'Description'], rows('', root))
}

function rows(prefix: string, parent: ObjectNode): string[][] {
  return Object.entries(parent.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`
    const required = parent.required?.includes(name) ? ['required'] : []
    const row = [
      code(path),
      typeOf(field),
      field.default === undefined ? '' : code(JSON.stringify(field.default)),
      [...required, ...constraints(field)].join('; '),
      field.description ?? '',
    ]
    if (field.type === 'object') return [row, ...rows(`${path}.`, field)]
    if (field.type === 'array' && field.items.type === 'object')
      return [row, ...rows(`${path}[].`, field.items)]
    return [row]
  })
}

function typeOf(field: Node): string {
  if (field.type === 'array') return `list of ${typeOf(field.items)}`
  if (field.type === 'object' && field.additionalProperties !== undefined)
    return `map of ${typeOf(field.additionalProperties)}`
  return field.type === 'string' && field.format === 'date-time' ? 'instant' : field.type
}

function constraints(field: Node): string[] {
  switch (field.type) {
    case 'string':
      return stringConstraints(field)
    case 'integer':
      return range('', field.minimum, field.maximum)
    case 'array':
      return [...range('entries', field.minItems, field.maxItems), ...each(field.items)]
    case 'object':
      return field.additionalProperties === undefined
        ? []
        : [...range('entries', undefined, field.maxProperties), ...each(field.additionalProperties)]
    case 'boolean':
      return []
  }
}

function each(field: Node): string[] {
  return constraints(field).map((text) => `each: ${text}`)
}

function stringConstraints(field: StringNode): string[] {
  if (field.enum !== undefined) return [`one of ${field.enum.map(code).join(', ')}`]
  if (field.format === 'date-time') return ['RFC 3339, such as `2027-01-31T12:00:00Z`']
  const sentences = field['x-kubernetes-validations']?.map(({ message }) => message) ?? []
  const pattern = field.pattern === undefined ? [] : [code(field.pattern)]
  return [...range('characters', field.minLength, field.maxLength), ...sentences, ...pattern]
}

/** "1 to 5", "at most 253 characters", or empty for the bound of a safe integer. */
function range(unit: string, low: number | undefined, high: number | undefined): string[] {
  const text = (n: number) => `${n}${unit === '' ? '' : ` ${unit}`}`
  const max = high === Number.MAX_SAFE_INTEGER ? undefined : high
  if (low !== undefined && max !== undefined) return [low === max ? text(max) : `${low} to ${text(max)}`]
  if (low !== undefined) return [`at least ${text(low)}`]
  return max === undefined ? [] : [`at most ${text(max)}`]
}
