/**
 * The golden files of the compiler: controller/compile/testdata/<case>.in.yaml holds resources, <case>.out.yaml the
 * result. `make testdata` rewrites the results; read the diff before you commit it.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { ChannelRecord, TableRecord } from '../contract/table/records.ts'
import { compile } from '../controller/compile/index.ts'
import { Catalogue } from '../controller/source/folder/catalogue.ts'
import { problemText } from '../controller/source/folder/problem.ts'

const FOLDER = join(import.meta.dirname, '../controller/compile/testdata')

/** The moment at which the cases are compiled. */
const GOLDEN_NOW = Date.UTC(2026, 0, 1)

interface GoldenCase {
  name: string
  input: string
  /** Path of the golden file. */
  golden: string
}

export function goldenCases(): GoldenCase[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.in.yaml'))
    .sort()
    .map((file) => {
      const name = file.replace(/\.in\.yaml$/, '')
      return {
        name,
        input: readFileSync(join(FOLDER, file), 'utf8'),
        golden: join(FOLDER, `${name}.out.yaml`),
      }
    })
}

/** The content of a case's golden file. Resources without a creationTimestamp are as old as the epoch. */
export function renderCase({ name, input }: GoldenCase): string {
  const catalogue = new Catalogue({ namespace: 'default', env: {} })
  const { snapshot, problems } = catalogue.update([{ path: `${name}.in.yaml`, text: input }], 0)
  const compiled = compile(snapshot, GOLDEN_NOW)
  const golden = {
    ...(problems.length > 0 && { problems: problems.map(problemText) }),
    table: redactTable(compiled.table),
    keys: Object.fromEntries(compiled.keys),
    accounts: Object.fromEntries(compiled.accounts),
    credits: compiled.credits,
    statuses: compiled.statuses,
  }
  return stringify(golden, { lineWidth: 0, aliasDuplicateObjects: false })
}

function redactTable(table: TableRecord): TableRecord {
  const namespaces = Object.entries(table.namespaces).map(([name, { routes, channels }]) => [
    name,
    { routes, channels: Object.fromEntries(Object.entries(channels).map(([key, c]) => [key, redact(c)])) },
  ])
  return { ...table, namespaces: Object.fromEntries(namespaces) }
}

function redact(channel: ChannelRecord): ChannelRecord {
  const { auth, tls } = channel
  return {
    ...channel,
    auth: { ...auth, ...(auth.secret !== undefined && { secret: '(redacted)' }) },
    ...(tls !== undefined && {
      tls: {
        ...tls,
        ...(tls.ca !== undefined && { ca: '(redacted)' }),
        ...(tls.clientCertificate !== undefined && {
          clientCertificate: { cert: '(redacted)', key: '(redacted)' },
        }),
      },
    }),
  }
}

if (import.meta.main) for (const golden of goldenCases()) writeFileSync(golden.golden, renderCase(golden))
