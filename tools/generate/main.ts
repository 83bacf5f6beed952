/**
 * Writes the generated files: the CRDs, the reference pages, docs/openapi.yaml, docs/schemas and the chart's README. With --check it
 * writes nothing, names the files that differ and exits 1.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { GROUP, KINDS } from '../../contract/api/index.ts'
import { fileSchema, type JsonSchema, kindSchema } from '../../contract/api/json-schema.ts'
import { chartPage } from './chart.ts'
import { crdFileName, crdYaml } from './crd.ts'
import { environmentPage } from './environment.ts'
import { errorsPage } from './errors.ts'
import { openapiPage } from './openapi/document.ts'
import { resourcesPage } from './resources.ts'

/** Each chart has its own copy, because Helm reads only files in the chart's folder. */
const CRD_FOLDERS = [
  'crds',
  join('helm', 'sluice', 'files', 'crds'),
  join('helm', 'sluice-crds', 'files', 'crds'),
]

/** For editors. */
const SCHEMA_FOLDER = join('docs', 'schemas')

/** Path below the repository's root to content. */
function generated(): Map<string, string> {
  return new Map([
    ...CRD_FOLDERS.flatMap((folder) =>
      Object.values(KINDS).map((kind): [string, string] => [join(folder, crdFileName(kind)), crdYaml(kind)]),
    ),
    [join('docs', 'resources.md'), resourcesPage()],
    [join('docs', 'environment.md'), environmentPage()],
    [join('docs', 'errors.md'), errorsPage()],
    [join('docs', 'openapi.yaml'), openapiPage()],
    [join('helm', 'sluice', 'README.md'), chartPage()],
    [join(SCHEMA_FOLDER, 'resources.json'), jsonText(fileSchema(Object.values(KINDS)))],
    ...Object.values(KINDS).map((kind): [string, string] => [
      join(SCHEMA_FOLDER, `${kind.singular}.json`),
      jsonText(kindSchema(kind)),
    ]),
  ])
}

const jsonText = (schema: JsonSchema) => `${JSON.stringify(schema, null, 2)}\n`

/** Files below `root` that are missing, differ from the source, or belong to a kind that no longer exists. */
async function stale(root: string, files: Map<string, string>): Promise<string[]> {
  const differing: string[] = []
  for (const [path, content] of files) if ((await read(join(root, path))) !== content) differing.push(path)
  const namesIn = (folder: string) => readdir(join(root, folder)).catch(() => [])
  const present = await Promise.all([
    ...CRD_FOLDERS.map(async (folder) =>
      (await namesIn(folder))
        .filter((name) => name.startsWith(`${GROUP}_`))
        .map((name) => join(folder, name)),
    ),
    namesIn(SCHEMA_FOLDER).then((names) => names.map((name) => join(SCHEMA_FOLDER, name))),
  ])
  const orphans = present.flat().filter((path) => !files.has(path))
  return [...differing, ...orphans].sort()
}

async function read(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined)
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      check: { type: 'boolean', default: false },
      root: { type: 'string', default: fileURLToPath(new URL('../..', import.meta.url)) },
    },
  })
  const files = generated()
  const paths = await stale(values.root, files)
  if (values.check) {
    for (const path of paths) console.error(`${path} differs from the source; run make generate`)
    process.exitCode = paths.length > 0 ? 1 : 0
    return
  }
  for (const path of paths) {
    const target = join(values.root, path)
    const content = files.get(path)
    if (content === undefined) {
      await rm(target)
      continue
    }
    await mkdir(dirname(target), { recursive: true })
    await writeFile(target, content)
  }
}

await main()
