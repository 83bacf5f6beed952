import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { runCommandLine } from './command-line.ts'

const started = vi.hoisted(() => vi.fn())
vi.mock('./dev.ts', () => ({ dev: started }))
vi.mock('./proxy.ts', () => ({ proxy: started }))
vi.mock('./controller.ts', () => ({ controller: started }))

async function run(...argv: string[]) {
  onTestFinished(() => void started.mockReset())
  const out: string[] = []
  const err: string[] = []
  const terminal = {
    env: {},
    width: undefined,
    print: (text: string) => void out.push(text),
    warn: (text: string) => void err.push(text),
  }
  const code = await runCommandLine(argv, terminal)
  return { code, out: out.join('\n'), err }
}

const PROGRAMS = ['dev', 'controller', 'proxy']
const TOOLS = ['status', 'explain', 'logs', 'validate', 'key']

describe('help', () => {
  it.each([[], ['--help'], ['-h'], ['help']])('%j lists all commands', async (...argv) => {
    const { code, out, err } = await run(...argv)
    expect([code, err]).toEqual([0, []])
    for (const name of [...PROGRAMS, ...TOOLS]) expect(out).toMatch(new RegExp(`^  ${name} +\\w`, 'm'))
  })

  it.each(['import', 'check', 'suggest'])('of prices %s reads nothing', async (name) => {
    const { code, out, err } = await run('prices', name, '--help')
    expect([code, err]).toEqual([0, []])
    expect(out).toContain(`Usage: sluice prices ${name}`)
    expect(out).toContain('Exit code 1 if')
    expect((await run('--help')).out).toMatch(/^ {2}prices +\w/m)
  })

  it.each([...PROGRAMS, ...TOOLS])('of %s starts nothing', async (name) => {
    for (const argv of [
      [name, '--help'],
      [name, '-h'],
      ['help', name],
    ]) {
      const { code, out, err } = await run(...argv)
      expect([code, err]).toEqual([0, []])
      expect(out).toContain(`Usage: sluice ${name}`)
      expect(out).toContain(PROGRAMS.includes(name) ? 'docs/environment.md' : 'Exit code 1 if')
    }
    expect(started).not.toHaveBeenCalled()
  })
})

it('an argument names the folder of the controller, and takes precedence', async () => {
  vi.stubEnv('SLUICE_CONFIG_DIR', 'from-the-environment')
  onTestFinished(() => void vi.unstubAllEnvs())
  await run('controller')
  await run('controller', '--config', 'given')
  expect(started.mock.calls.map(([env]) => env.SLUICE_CONFIG_DIR)).toEqual(['from-the-environment', 'given'])
  expect((await run('controller', '--config')).code).toBe(2)
})

it.each([
  [['stauts'], "sluice: unknown command 'stauts'; did you mean status? (see sluice --help)"],
  [
    ['status', '--outptu', 'json'],
    "sluice status: unknown option '--outptu'; did you mean --output? (see sluice status --help)",
  ],
  [['status', 'more'], 'too many arguments'],
  [['status', '-o', 'yaml'], 'It must be one of table, json'],
  [['status', '--admin', '127.0.0.1:8081'], "'127.0.0.1:8081' is not an address"],
  [['explain', '--model', 'm'], "required option '--key <name>' not specified"],
  [['explain', '--key', '--model', 'm'], 'It looks like another option'],
  [['explain', '--key', 'k', '--model', 'm', '--endpoint', 'chta'], 'Did you mean chat?'],
  [['logs', '--status', '600'], 'It must be a status such as 502'],
  [['logs', '--limit', '0'], 'It must be a whole number from 1 to 1000'],
  [['logs', '--limit', '1e2'], 'It must be a whole number from 1 to 1000'],
  [['logs', '--key='], 'It is empty'],
  [['validate'], "required option '-f, --file <path>' not specified"],
  [['validate', '--strict=yes', '-f', 'a'], '--strict'],
  [['prices', 'suggest'], "sluice prices suggest: missing required argument 'model'"],
  [['prices', 'import', 'p.json', '-o', 'xml'], 'It must be one of yaml, table, json'],
  [['prices', 'check'], "sluice prices check: missing required argument 'list'"],
  [['prices', 'imprt'], "sluice prices: unknown command 'imprt'; did you mean import?"],
  [['dev', 'one', 'two'], 'sluice dev: too many arguments'],
  [['dev', '--prot', '9000'], "unknown option '--prot'; did you mean --port?"],
  [['dev', '--port', '70000'], 'It must be a whole number from 0 to 65535'],
  [['dev', '--host'], "option '--host <address>' argument missing"],
  [['proxy', '--port', '1'], "sluice proxy: unknown option '--port'"],
  [['controller', 'more'], 'sluice controller: too many arguments'],
])('%j is refused in one line, with exit code 2', async (argv, message) => {
  const { code, out, err } = await run(...argv)
  expect([code, out, err.length]).toEqual([2, '', 1])
  expect(err[0]).toContain(message)
  expect(err[0]).not.toContain('\n')
  expect(started).not.toHaveBeenCalled()
})

it('arguments of dev take precedence over the environment', async () => {
  vi.stubEnv('SLUICE_PORT', '1')
  vi.stubEnv('SLUICE_HOST', '::')
  onTestFinished(() => void vi.unstubAllEnvs())
  expect((await run('dev', './own', '--port', '9000', '--admin-port=9001')).code).toBeUndefined()
  expect(started.mock.calls[0]?.[0]).toMatchObject({
    ...{ SLUICE_CONFIG_DIR: './own', SLUICE_PORT: '9000', SLUICE_ADMIN_PORT: '9001', SLUICE_HOST: '::' },
  })
  await run('dev', '--host', '0.0.0.0')
  expect(started.mock.calls[1]?.[0]).toMatchObject({ SLUICE_HOST: '0.0.0.0', SLUICE_PORT: '1' })
  expect(started.mock.calls[1]?.[0]).not.toHaveProperty('SLUICE_CONFIG_DIR')
})
