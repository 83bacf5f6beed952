/** Packs the npm package, installs it globally in an empty folder, and serves a request and starts workers with it there. */
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'

const root = join(import.meta.dirname, '..')
const REQUIRED = [
  'LICENSE',
  'README.md',
  'bin/sluice',
  'dist/cli/main.js',
  'dist/crds/',
  'dist/examples/quickstart/',
]
const START_TIMEOUT_MS = 20_000

const packed = z.tuple([z.object({ filename: z.string(), files: z.array(z.object({ path: z.string() })) })])

function run(program: string, args: string[], cwd: string): string {
  return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

/** Packs, checks the content, and returns the file name of the package. */
function pack(folder: string): string {
  const output = run('npm', ['pack', '--json', '--silent', '--pack-destination', folder], root)
  const [{ filename, files }] = packed.parse(JSON.parse(output))
  const paths = files.map(({ path }) => path)
  for (const required of REQUIRED)
    if (!paths.some((path) => path.startsWith(required))) throw new Error(`the package lacks ${required}`)
  const stray = paths.filter((path) => path.includes('.test.') || path.endsWith('.ts'))
  if (stray.length > 0) throw new Error(`the package should not contain ${stray.join(', ')}`)
  return filename
}

/** As docs/install.md says, with a prefix of its own; returns the folder of the commands. */
function install(folder: string, filename: string): string {
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
  run('npm', ['install', '--global', '--prefix', folder, ...quiet, join(folder, filename)], folder)
  return join(folder, 'bin')
}

/** Starts the quickstart from the installed package and lists its models. */
async function serves(sluice: string, folder: string): Promise<void> {
  const child = spawn(sluice, ['dev'], {
    cwd: folder,
    env: { PATH: process.env.PATH, SLUICE_PORT: '0', SLUICE_ADMIN_PORT: '0', UPSTREAM_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: START_TIMEOUT_MS,
  })
  try {
    for await (const line of createInterface(child.stdout)) {
      const base = /Base URL\s+(\S+)/.exec(line)?.[1]
      if (base === undefined) continue
      const headers = { authorization: 'Bearer sk-quickstart-0123456789abcdef' }
      const answer = await fetch(`${base}/models/example`, { headers })
      if (!answer.ok) throw new Error(`the installed package answered ${answer.status}`)
      return
    }
    throw new Error('the installed package did not start')
  } finally {
    child.kill('SIGKILL')
  }
}

/** Starts two workers, without a Redis: they listen, and wait for it. */
async function startsWorkers(sluice: string, folder: string): Promise<void> {
  const keys = join(folder, 'sealing-keys')
  writeFileSync(keys, `k1:${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  const child = spawn(sluice, ['proxy', '--workers', '2'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      SLUICE_PORT: '0',
      SLUICE_ADMIN_PORT: '0',
      SLUICE_REDIS_URL: 'redis://127.0.0.1:1',
      SLUICE_SEALING_KEYS_FILE: keys,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: START_TIMEOUT_MS,
  })
  try {
    for await (const line of createInterface(child.stdout)) {
      const [, port] = /"workers":2,"port":(\d+),.*"msg":"listening"/.exec(line) ?? []
      if (port === undefined) continue
      const answer = await fetch(`http://127.0.0.1:${port}/v1/models`)
      if (answer.status !== 401)
        throw new Error(`a worker of the installed package answered ${answer.status}`)
      return
    }
    throw new Error('the workers of the installed package did not start')
  } finally {
    child.kill('SIGKILL')
  }
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-pack-'))
try {
  const commands = install(folder, pack(folder))
  for (const name of ['sluice', 'kubectl-sluice']) {
    const help = run(join(commands, name), ['--help'], folder)
    if (!help.includes('Usage: sluice')) throw new Error(`no help of ${name}, but:\n${help}`)
  }
  await serves(join(commands, 'sluice'), folder)
  await startsWorkers(join(commands, 'sluice'), folder)
  console.log('package: packs, installs, serves and starts workers')
} finally {
  rmSync(folder, { recursive: true, force: true })
  rmSync(join(root, 'dist'), { recursive: true, force: true })
}
