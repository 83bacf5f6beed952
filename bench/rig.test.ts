import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runLoad, startUpstream, type Upstream } from './rig.ts'
import { expectation, PATHS, SCENARIOS, tokensOf } from './scenarios.ts'

const SOURCES = join(import.meta.dirname, 'rig')
let upstream: Upstream
beforeAll(async () => {
  upstream = await startUpstream()
}, 300_000)
afterAll(() => upstream?.stop())

test('the tests of the rig pass, and its sources are formatted', () => {
  const run = (command: string, ...args: string[]) =>
    spawnSync(command, args, { cwd: SOURCES, encoding: 'utf8' })
  expect(run('gofmt', '-l', '.').stdout).toBe('')
  const { status, stdout, stderr } = run('go', 'test', '-vet=all', './...')
  expect(status, `${stdout}${stderr}`).toBe(0)
}, 300_000)

test.each(SCENARIOS.map((scenario) => [scenario.name, scenario] as const))(
  'the upstream answers the scenario: %s',
  async (_, scenario) => {
    const path = `/${scenario.answer}${PATHS[scenario.upstream]}`
    const before = (await upstream.log())[path]?.finished ?? 0
    const result = await runLoad({
      address: `127.0.0.1:${upstream.port}`,
      path,
      bodies: ['{}'],
      connections: 2,
      durationMs: 20,
      expect: expectation(scenario.upstream, scenario),
    })
    expect(result.failure).toBe('')
    expect(result.requests).toBeGreaterThan(1)
    expect(result.tokens).toBe(result.requests * tokensOf(scenario))
    expect((await upstream.log())[path]?.finished).toBe(before + result.requests)
  },
)

test('a request that the upstream does not know is a failure', async () => {
  const result = await runLoad({
    address: `127.0.0.1:${upstream.port}`,
    path: '/nothing',
    bodies: ['{}'],
    connections: 1,
    durationMs: 20,
    expect: { text: 'Lorem' },
  })
  expect(result.requests).toBe(0)
  expect(result.failures['status 404']).toBeGreaterThan(0)
})
