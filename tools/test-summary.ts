/**
 * Reads the runners' JSON reports and prints failures by file, then one line of totals. A runner that wrote no report, or
 * that ran no tests, is a failure too.
 *
 *     node tools/test-summary.ts [--skips <file>] [--output <file>] <report.json>...
 *
 * `--output` also writes the line of totals to a file.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'

const report = z.object({
  success: z.boolean(),
  testResults: z.array(
    z.object({
      name: z.string(),
      message: z.string(),
      assertionResults: z.array(
        z.object({ fullName: z.string(), status: z.string(), failureMessages: z.array(z.string()) }),
      ),
    }),
  ),
})
export type Report = z.output<typeof report>

/** The allowed skips. Without `test`, all tests of the file may be skipped. */
const skips = z.array(
  z.strictObject({ file: z.string(), test: z.string().optional(), reason: z.string().min(10) }),
)
type Skips = z.output<typeof skips>

interface Summary {
  passed: number
  failed: number
  /** One entry for each failure: the place, then the message. */
  lines: string[]
}

/** `reports` maps a report's name to its content, undefined if it is missing or unreadable. */
export function summarise(reports: Map<string, Report | undefined>, allowed: Skips, root: string): Summary {
  const summary: Summary = { passed: 0, failed: 0, lines: [] }
  const fail = (where: string, what: string) => {
    summary.failed++
    summary.lines.push(`${where}: ${what}`)
  }
  for (const [name, content] of reports) {
    if (content === undefined) {
      fail(name, 'no report; the runner died before it wrote one')
      continue
    }
    const before = { ...summary }
    for (const file of content.testResults) {
      const path = file.name.startsWith('/') ? relative(root, file.name) : file.name
      for (const test of file.assertionResults) {
        if (test.status === 'passed') summary.passed++
        else if (test.status === 'failed')
          fail(path, `${test.fullName}\n${indent(test.failureMessages.join('\n'))}`)
        else if (!isAllowed(allowed, path, test.fullName))
          fail(path, `${test.fullName}\n${indent(`${test.status}, and not listed in test/skips.json`)}`)
      }
      if (file.assertionResults.length === 0) fail(path, `no tests ran\n${indent(file.message)}`)
    }
    if (summary.passed + summary.failed === before.passed + before.failed) fail(name, 'no tests ran')
    else if (!content.success && summary.failed === before.failed)
      fail(name, 'the runner reports failure outside of any test')
  }
  return summary
}

function isAllowed(allowed: Skips, file: string, test: string): boolean {
  return allowed.some((skip) => skip.file === file && (skip.test === undefined || skip.test === test))
}

const indent = (text: string) => text.replace(/^/gm, '    ')

function readReport(path: string): Report | undefined {
  try {
    return report.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    return undefined
  }
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..')
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      skips: { type: 'string', default: join(root, 'test/skips.json') },
      output: { type: 'string' },
    },
  })
  const reports = new Map(positionals.map((path) => [path, readReport(path)]))
  const allowed = skips.parse(JSON.parse(readFileSync(values.skips, 'utf8')))
  const { passed, failed, lines } = summarise(reports, allowed, root)
  for (const line of lines) console.log(line)
  const totals = `${passed} passed, ${failed} failed`
  if (values.output !== undefined) writeFileSync(values.output, `${totals}\n`)
  console.log(totals)
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0
}
