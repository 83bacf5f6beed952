/**
 * Runs all static checks, even after one fails. `--report <file>` also writes the outcome in the shape of the test
 * runner's JSON report, so that the summary counts it.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'

const STEPS: { title: string; command: string[]; repair: string }[] = [
  { title: 'format and lint', command: ['biome', 'check'], repair: 'biome check --write' },
  { title: 'no leftovers', command: ['node', 'tools/leftovers.ts'], repair: 'delete them' },
  {
    title: 'words of the glossary',
    command: ['node', 'tools/check-words.ts'],
    repair: 'see docs/glossary.md',
  },
  { title: 'types', command: ['tsc', '-p', '.'], repair: 'see the messages' },
  { title: 'import rules', command: ['node', 'tools/check-imports.ts'], repair: 'see ARCHITECTURE.md' },
  {
    title: 'regular expressions are linear',
    command: ['node', '--disable-warning=ExperimentalWarning', 'tools/check-regexes.ts'],
    repair: 'see tools/check-regexes.ts',
  },
  {
    title: 'generated files are up to date',
    command: ['node', 'tools/generate/main.ts', '--check'],
    repair: 'make generate',
  },
]

const { values } = parseArgs({ options: { report: { type: 'string' } } })

const outcomes = STEPS.map(({ title, command, repair }) => {
  const [program = '', ...args] = command
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' })
  const passed = status === 0
  console.log(`${passed ? 'ok  ' : 'FAIL'} ${title}`)
  const output = error === undefined ? `${stdout}${stderr}` : error.message
  if (!passed) console.log(`${output}\n(${command.join(' ')}; ${repair})`)
  return {
    fullName: title,
    status: passed ? 'passed' : 'failed',
    failureMessages: passed ? [] : [output],
  }
})

if (values.report !== undefined) {
  mkdirSync(dirname(values.report), { recursive: true })
  const success = outcomes.every(({ status }) => status === 'passed')
  const testResults = [{ name: 'make check', message: '', assertionResults: outcomes }]
  writeFileSync(values.report, JSON.stringify({ success, testResults }))
}
process.exitCode = outcomes.every(({ status }) => status === 'passed') ? 0 : 1
