/** The chart's README.md: every value, from values.yaml and the descriptions in values.schema.json. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { z } from 'zod'
import { code, NOTICE, page, table } from './markdown.ts'

const CHART = fileURLToPath(new URL('../../helm/sluice', import.meta.url))

const description = z.string().min(1).optional()
const leaf = z.looseObject({
  description,
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(z.string()).optional(),
  $ref: z.string().optional(),
})
interface Node extends z.output<typeof leaf> {
  properties?: Record<string, Node> | undefined
}
const node: z.ZodType<Node> = z.lazy(() => leaf.extend({ properties: z.record(z.string(), node).optional() }))
const schemaFile = z.object({
  $defs: z.record(z.string(), node),
  properties: z.record(z.string(), node),
})
const map = z.record(z.string(), z.unknown())

/** Contents of values.schema.json and values.yaml to the page. Throws with the path of a value that only one of them has. */
export function chartPage(schemaText = read('values.schema.json'), valuesText = read('values.yaml')): string {
  const { $defs, properties } = schemaFile.parse(JSON.parse(schemaText))
  const values = map.parse(parse(valuesText))
  const rows = (path: string, at: Node, preset: unknown): string[][] => {
    if (at.properties === undefined) {
      if (preset === undefined) throw new Error(`values.yaml has no ${path}`)
      if (at.description === undefined) throw new Error(`values.schema.json does not describe ${path}`)
      return [[code(path), typeOf(at, $defs), code(JSON.stringify(preset)), at.description]]
    }
    return pairs(path, at.properties, map.parse(preset)).flatMap(([name, child, value]) =>
      rows(`${path}.${name}`, child, value),
    )
  }
  const header = ['Value', 'Type', 'Default', 'Meaning']
  const top = pairs('', properties, values)
  const single = top.filter(([, at]) => at.properties === undefined)
  const groups = top.filter(([, at]) => at.properties !== undefined)
  return page([
    '# Chart sluice',
    NOTICE,
    'Installs the controller and the proxies of Sluice, an LLM gateway, and for a trial a small Redis. Step by step: ' +
      '[docs/install.md](../../docs/install.md).',
    '    helm install sluice helm/sluice --namespace sluice --create-namespace \\\n' +
      '      --set image.repository=images.example.com/sluice',
    'Helm refuses a value that is not listed here, or of another type, and names its path.',
    '## General',
    table(
      header,
      single.flatMap(([name, at, value]) => rows(name, at, value)),
    ),
    ...groups.flatMap(([name, at, value]) => [
      `## ${name}`,
      at.description ?? '',
      table(header, rows(name, at, value)),
    ]),
  ])
}

/** Names in the order of values.yaml, each with its schema and its preset. */
function pairs(
  path: string,
  schemas: Record<string, Node>,
  presets: Record<string, unknown>,
): [string, Node, unknown][] {
  const inside = path === '' ? '' : `${path}.`
  const missing = Object.keys(schemas).find((name) => !Object.hasOwn(presets, name))
  if (missing !== undefined) throw new Error(`values.yaml has no ${inside}${missing}`)
  return Object.entries(presets).map(([name, preset]) => {
    const at = schemas[name]
    if (at === undefined) throw new Error(`values.schema.json has no ${inside}${name}`)
    return [name, at, preset]
  })
}

function typeOf(at: Node, $defs: Record<string, Node>): string {
  if (at.enum !== undefined) return at.enum.map(code).join(', ')
  const type = at.type ?? $defs[at.$ref?.split('/').at(-1) ?? '']?.type
  if (type === undefined) throw new Error(`values.schema.json has no type for "${at.description}"`)
  return [type].flat().join(' or ')
}

function read(name: string): string {
  return readFileSync(join(CHART, name), 'utf8')
}
