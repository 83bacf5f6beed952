import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { type Report, summarise } from './test-summary.ts'

const root = '/checkout'

function report(statuses: Record<string, string>, success = true): Report {
  const assertionResults = Object.entries(statuses).map(([fullName, status]) => ({
    fullName,
    status,
    failureMessages: status === 'failed' ? ['AssertionError: 1 is not 2'] : [],
  }))
  return { success, testResults: [{ name: `${root}/store/x.test.ts`, message: '', assertionResults }] }
}

const of = (content: Report | undefined, skips: Parameters<typeof summarise>[1] = []) =>
  summarise(new Map([['vitest.json', content]]), skips, root)

describe('summarise', () => {
  test('adds up all reports', () => {
    const both = new Map([
      ['a', report({ one: 'passed', two: 'passed' })],
      ['b', report({ three: 'passed', four: 'failed' }, false)],
    ])
    const { passed, failed, lines } = summarise(both, [], root)
    expect([passed, failed]).toEqual([3, 1])
    expect(lines).toEqual(['store/x.test.ts: four\n    AssertionError: 1 is not 2'])
  })

  test.each([
    ['a missing report', undefined],
    ['a report without files', { success: true, testResults: [] }],
    ['a file without tests', report({})],
    ['a runner that failed outside of the tests', report({ one: 'passed' }, false)],
    ['a skipped test', report({ one: 'skipped' })],
    ['a test that is still to be written', report({ one: 'todo' })],
  ])('%s is a failure', (_what, content) => {
    expect(of(content).failed).toBe(1)
    expect(of(content).lines).toHaveLength(1)
  })

  test('shows why a file failed to load', () => {
    const content = report({}, false)
    for (const file of content.testResults) file.message = 'SyntaxError: unexpected token'
    expect(of(content).lines.join()).toContain('SyntaxError')
  })

  test('a listed skip is neither passed nor failed', () => {
    const content = report({ one: 'passed', two: 'skipped' })
    const reason = 'needs recordings of real providers'
    expect(of(content, [{ file: 'store/x.test.ts', test: 'two', reason }])).toMatchObject({
      passed: 1,
      failed: 0,
    })
    expect(of(content, [{ file: 'store/x.test.ts', reason }])).toMatchObject({ passed: 1, failed: 0 })
    expect(of(content, [{ file: 'store/x.test.ts', test: 'other', reason }]).failed).toBe(1)
    expect(of(content, [{ file: 'store/y.test.ts', reason }]).failed).toBe(1)
  })
})

describe('the command', () => {
  const folder = mkdtempSync(join(tmpdir(), 'summary-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  function run(...contents: string[]) {
    const files = contents.map((content, i) => {
      const file = join(folder, `${i}.json`)
      writeFileSync(file, content)
      return file
    })
    const output = join(folder, 'summary.txt')
    const script = join(import.meta.dirname, 'test-summary.ts')
    const { status, stdout } = spawnSync(process.execPath, [script, '--output', output, ...files], {
      encoding: 'utf8',
    })
    const last = stdout.trimEnd().split('\n').at(-1)
    expect(readFileSync(output, 'utf8')).toBe(`${last}\n`)
    return { status, last }
  }

  test('ends with the totals and the right exit code', () => {
    expect(run(JSON.stringify(report({ one: 'passed' })))).toEqual({ status: 0, last: '1 passed, 0 failed' })
    expect(run(JSON.stringify(report({ one: 'passed', two: 'failed' })))).toEqual({
      status: 1,
      last: '1 passed, 1 failed',
    })
    expect(run('{ "success": tr')).toEqual({ status: 1, last: '0 passed, 1 failed' })
    expect(run()).toEqual({ status: 1, last: '0 passed, 0 failed' })
  })
})
