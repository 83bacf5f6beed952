/** Runs schemathesis (https://schemathesis.readthedocs.io) on docs/openapi.yaml and reads its report. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { ROOT, startProgram } from '../harness/program.ts'
import { python } from '../harness/script.ts'

/** Generated cases per operation in the fuzzing phase; the other phases take theirs from the document. */
export const EXAMPLES = Number(process.env.OPENAPI_EXAMPLES ?? 4)

const HERE = join(import.meta.dirname, 'python')
const phase = z.looseObject({ accepted: z.int(), unreachable: z.int(), rejected: z.int() })
const reportSchema = z.object({
  complete: z.boolean(),
  exit_code: z.int(),
  operations: z.object({ selected: z.int(), tested: z.int(), errored: z.int() }),
  phases: z.record(z.string(), z.object({ status: z.string() })),
  test_cases: z.object({ generated: z.int() }),
  /** Outcomes of valid requests by `METHOD path` and phase. */
  valid_rates: z.record(z.string(), z.record(z.string(), phase)),
})
export type Report = z.output<typeof reportSchema>

export interface Run {
  /** Base URL of the API. */
  url: string
  /** Credentials by the names of security schemes. */
  keys: Record<string, { bearer: string } | { api_key: string }>
  args: string[]
  env?: Record<string, string>
}

/** Resolves with the report if all checks pass; otherwise rejects with schemathesis's output. */
export async function schemathesis({ url, keys, args, env = {} }: Run): Promise<Report> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-openapi-'))
  const config = join(dir, 'schemathesis.toml')
  writeFileSync(config, `${tables(keys)}\n${readFileSync(join(HERE, 'schemathesis.toml'), 'utf8')}`)
  const file = join(dir, 'report.json')
  const command = [
    ...['-m', 'schemathesis.cli', '--config-file', config, 'run', join(ROOT, 'docs/openapi.yaml')],
    ...['--url', url, '--max-examples', String(EXAMPLES), '--no-color'],
    ...['--phases', 'examples,coverage,fuzzing'],
    ...['--report', 'json', '--report-json-path', file, ...args],
  ]
  const program = startProgram(python(), command, {
    cwd: dir,
    env: { SCHEMATHESIS_HOOKS: join(HERE, 'schemathesis_hooks.py'), PYTHONDONTWRITEBYTECODE: '1', ...env },
  })
  try {
    const code = await program.exited
    if (code !== 0) throw new Error(`schemathesis ended with ${code}:\n${program.output()}`)
    return reportSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
  } finally {
    program.child.kill()
    rmSync(dir, { recursive: true, force: true })
  }
}

function tables(keys: Run['keys']): string {
  return Object.entries(keys)
    .flatMap(([scheme, key]) =>
      Object.entries(key).map(
        ([field, value]) => `auth.openapi.${scheme}.${field} = ${JSON.stringify(value)}`,
      ),
    )
    .join('\n')
}
