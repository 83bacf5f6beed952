/** The units of examples/systemd: systemd accepts them, and their commands work with the files that their README makes. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseDuration } from '../../contract/duration.ts'
import { readEnvironment } from '../../contract/env.ts'
import { startReportingUpstream } from '../harness/fleet-traffic.ts'
import { until } from '../harness/gateway.ts'
import { endProgram, type Program, ROOT, startProgram } from '../harness/program.ts'
import { type RunningRedis, startRedis } from '../harness/redis.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { HELLO, openai } from '../harness/sdk.ts'
import type { ScriptedUpstream } from '../harness/upstream.ts'

const FOLDER = join(ROOT, 'examples/systemd')
const UNITS = ['sluice-controller', 'sluice-proxy']
/** Of this run alone: the units have fixed ports. */
const ADDRESS = `127.${(process.pid % 250) + 2}.${Date.now() % 250}.1`

let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-systemd-'))
})
afterAll(() => rmSync(dir, { recursive: true }))

/** The values of each setting of a unit, in order. */
function settingsOf(unit: string): Map<string, string[]> {
  const settings = new Map<string, string[]>()
  for (const line of readFileSync(join(FOLDER, `${unit}.service`), 'utf8').split('\n')) {
    const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(line) ?? []
    if (name !== '') settings.set(name, [...(settings.get(name) ?? []), value])
  }
  return settings
}

describe.each(UNITS)('%s', (unit) => {
  test('systemd accepts it and calls it well protected', () => {
    // Without systemd, as in a container, the rest of this file still holds.
    if (spawnSync('systemd-analyze', ['--version']).error !== undefined) return
    const file = join(dir, `${unit}.service`)
    const text = readFileSync(join(FOLDER, `${unit}.service`), 'utf8')
    writeFileSync(file, text.replace('/usr/local/bin/sluice', join(ROOT, 'bin/sluice')))
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
    expect([verified.status, verified.stderr]).toEqual([0, ''])
    const security = ['security', '--offline=true', '--threshold=20', file]
    const judged = spawnSync('systemd-analyze', security, { encoding: 'utf8' })
    expect([judged.status, judged.stderr]).toEqual([0, ''])
    // A misspelt setting must not pass.
    writeFileSync(file, text.replace('ProtectHome=', 'ProtectHomes='))
    expect(spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' }).stderr).toContain(
      'ProtectHomes',
    )
  })

  test('comes back whenever it ends', () => {
    const settings = settingsOf(unit)
    expect([settings.get('Restart'), settings.get('StartLimitIntervalSec')]).toEqual([['always'], ['0']])
  })
})

test('a proxy has time to drain before it is killed', () => {
  const { SLUICE_DRAIN_TIMEOUT } = readEnvironment({}).env
  const [allowed = ''] = settingsOf('sluice-proxy').get('TimeoutStopSec') ?? []
  expect(parseDuration(allowed)).toBeGreaterThan(SLUICE_DRAIN_TIMEOUT)
})

describe('the commands of the units', () => {
  let redis: RunningRedis
  let upstream: ScriptedUpstream
  const programs: Program[] = []
  let clientKey = ''

  beforeAll(async () => {
    redis = await startRedis({ args: ['--appendonly', 'yes'] })
    upstream = await startReportingUpstream('first')
    const etc = join(dir, 'etc')
    mkdirSync(join(etc, 'resources'), { recursive: true })
    const readme = readFileSync(join(FOLDER, 'README.md'), 'utf8')
    const [script = ''] = /^ {4}cd \/etc\/sluice (?:.*\n)+?(?=\n)/m.exec(readme) ?? []
    const made = script.replaceAll('/etc/sluice', etc).replace(/redis:\/\/[^' ]+/, redis.url)
    expect(spawnSync('bash', ['-ec', made], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
    clientKey = fileVariables(join(etc, 'secrets.env')).CLIENT_KEY ?? ''
    writeFileSync(
      join(etc, 'resources/all.yaml'),
      channel('main', upstream.baseURL, { auth: { scheme: 'None' } }) +
        route('m', 'm', ['main'], { price: { perRequest: '0.5' } }) +
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the controller fills it in.
        apiKey('k', '${CLIENT_KEY}', { accountRef: { name: 'team' } }) +
        account('team', '10'),
    )
    for (const unit of UNITS) programs.push(await start(unit, etc))
  })
  afterAll(async () => {
    await Promise.all(programs.map(endProgram))
    await redis?.stop()
    await upstream?.close()
  })

  /** As systemd would, with the addresses of this test. */
  async function start(unit: string, etc: string): Promise<Program> {
    const settings = settingsOf(unit)
    const credentials = join(dir, `credentials-${unit}`)
    mkdirSync(credentials)
    for (const credential of settings.get('LoadCredential') ?? []) {
      const [name = '', path = ''] = credential.split(':')
      copyFileSync(path.replace('/etc/sluice', etc), join(credentials, name))
    }
    for (const name of settings.get('StateDirectory') ?? []) mkdirSync(join(dir, name))
    const given = (settings.get('Environment') ?? []).map((line) =>
      line.replace('%d', credentials).replace('%S', dir).split(/=(.*)/s, 2),
    )
    const files = (settings.get('EnvironmentFile') ?? []).map((path) =>
      fileVariables(path.replace(/^-/, '').replace('/etc/sluice', etc)),
    )
    const env = { ...Object.fromEntries(given), ...Object.assign({}, ...files), SLUICE_HOST: ADDRESS }
    const [command = '', ...args] = (settings.get('ExecStart')?.[0] ?? '')
      .replace('/etc/sluice', etc)
      .split(' ')
    expect(command).toBe('/usr/local/bin/sluice')
    const program = startProgram(join(ROOT, 'bin/sluice'), args, { env, cwd: '/' })
    await program.printed(/"msg":"(watching resources|listening)"/)
    return program
  }

  test('serve a client, who is charged', async () => {
    const client = openai(`http://${ADDRESS}:8080`, clientKey, { maxRetries: 5 })
    const ask = () => client.chat.completions.create({ model: 'm', messages: HELLO }).catch(() => undefined)
    const answer = await until(ask, 'an answer', 30_000)
    expect(answer.choices[0]?.message.content).toBe('first none m')
  })

  test('stop on SIGTERM, which keeps the balance in the state directory', async () => {
    for (const program of programs.toReversed()) {
      program.child.kill('SIGTERM')
      expect(await program.exited).toBe(0)
    }
    const { accounts } = JSON.parse(readFileSync(join(dir, 'sluice/ledger.json'), 'utf8'))
    expect(Object.values(accounts)).toMatchObject([{ credited: 10e9, spent: 0.5e9 }])
  })
})

function fileVariables(path: string): Record<string, string> {
  const lines = readFileSync(path, 'utf8').split('\n')
  return Object.fromEntries(lines.filter((line) => line.includes('=')).map((line) => line.split(/=(.*)/s, 2)))
}
