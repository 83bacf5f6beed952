/**
 * Runs all static checks side by side, even after one fails. `--report <file>` also writes the outcome in the shape of the test
 * runner's JSON report, so that the summary counts it.
 */
import { spawn } from 'node:child_process'
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

/** What a program printed, and whether it ended with 0. */
function run([program = '', ...args]: string[]): Promise<{ passed: boolean; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk
      })
    child.on('error', ({ message }) => resolve({ passed: false, output: message }))
    child.on('close', (status) => resolve({ passed: status === 0, output }))
  })
}

const outcomes = await Promise.all(
  STEPS.map(async ({ title, command, repair }) => {
    const { passed, output } = await run(command)
    console.log(`${passed ? 'ok  ' : 'FAIL'} ${title}`)
    if (!passed) console.log(`${output}\n(${command.join(' ')}; ${repair})`)
    return {
      fullName: title,
      status: passed ? 'passed' : 'failed',
      failureMessages: passed ? [] : [output],
    }
  }),
)

if (values.report !== undefined) {
  mkdirSync(dirname(values.report), { recursive: true })
  const success = outcomes.every(({ status }) => status === 'passed')
  const testResults = [{ name: 'make check', message: '', assertionResults: outcomes }]
  writeFileSync(values.report, JSON.stringify({ success, testResults }))
}
process.exitCode = outcomes.every(({ status }) => status === 'passed') ? 0 : 1
