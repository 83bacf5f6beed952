/** `make up`, the first commands after it, and `make down`. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Kubectl, kubectlFor, mustKubectl } from '../../tools/cluster/kubectl.ts'
import { freePort } from '../../tools/cluster/ports.ts'
import { beginning } from '../../tools/cluster/state.ts'
import { until } from '../harness/gateway.ts'
import { call } from '../harness/http.ts'
import { ROOT, startProgram } from '../harness/program.ts'
import { PATIENT } from '../harness/redis.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-up-'))
const upstreamPort = await freePort()
const EXAMPLE = join(ROOT, 'examples/cluster')
const KEY = 'sk-cluster-0123456789abcdef'
let env: Record<string, string>
let kubectl: Kubectl

/** Variables that locate binaries. */
const inherited = Object.fromEntries(
  ['KUBEBUILDER_ASSETS', 'SLUICE_TEST_BINARIES', 'XDG_CACHE_HOME'].flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  }),
)

function startMake(...args: string[]) {
  return startProgram('make', ['--no-print-directory', ...args], {
    env: { ...inherited, ...PATIENT, RUN_DIR: dir, UPSTREAM_PORT: String(upstreamPort) },
  })
}

async function make(...args: string[]): Promise<string> {
  const program = startMake(...args)
  const code = await program.exited
  if (code !== 0) throw new Error(`make ${args.join(' ')} ended with ${code}:\n${program.output()}`)
  return program.output()
}

/** NAME=value lines. */
function parseEnv(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => /^[A-Z_]+=/.test(line))
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
}

const list = (name: string) => env[name]?.split(',') ?? []
const pids = () =>
  list('PIDS').map((entry) => ({ name: entry.split(':')[0], pid: Number(entry.split(':')[1]) }))

async function statuses(key: string, model = 'example'): Promise<number[]> {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answers = list('BASE_URLS').map((base) => call(`${base}/v1/chat/completions`, { headers, body }))
  return (await Promise.all(answers)).map(({ status }) => status)
}

beforeAll(async () => {
  env = parseEnv(await make('up'))
  kubectl = kubectlFor(env.KUBECONFIG ?? '')
}, 120_000)
afterAll(async () => {
  await make('down')
  rmSync(dir, { recursive: true, force: true })
})

it('prints and saves the addresses', () => {
  expect(parseEnv(readFileSync(join(dir, 'env'), 'utf8'))).toEqual(env)
  expect(list('BASE_URLS')).toHaveLength(2)
  expect(list('ADMIN_URLS')).toHaveLength(4)
  expect(env.UPSTREAM_URL).toBe(`http://127.0.0.1:${upstreamPort}/v1`)
  expect(env.REDIS_URL).toMatch(/^redis:\/\/127\.0\.0\.1:\d+$/)
  const names = [
    'controller-1',
    'controller-2',
    'etcd',
    'kube-apiserver',
    'kube-controller-manager',
    'proxy-1',
  ]
  expect(
    pids()
      .map(({ name }) => name)
      .sort(),
  ).toEqual([...names, 'proxy-2', 'redis', 'upstream'])
  expect(pids().filter(({ pid }) => beginning(pid) === undefined)).toEqual([])
})

it('serves the example on every proxy as soon as kubectl wait returns', async () => {
  for (const file of readdirSync(EXAMPLE).sort()) {
    const input = readFileSync(join(EXAMPLE, file), 'utf8').replaceAll(':8082/', `:${upstreamPort}/`)
    await mustKubectl(kubectl, 'apply', '-f', '-', { input })
  }
  await mustKubectl(
    kubectl,
    ...['wait', '--for=condition=Ready', '--timeout=30s'],
    ...['account/demo', 'apikey/quickstart', 'apikey/generated', 'channel/example'],
    ...['modelroute/example', 'modelroute/example-free', 'credit/demo-welcome'],
  )
  expect(await statuses(KEY)).toEqual([200, 200])

  const secret = await mustKubectl(kubectl, 'get', 'secret', 'generated-key', '-o', 'jsonpath={.data.key}')
  const generated = Buffer.from(secret, 'base64').toString()
  expect(await statuses(generated, 'example-free')).toEqual([200, 200])
})

it('refuses a key on every proxy once it is disabled', async () => {
  await mustKubectl(kubectl, 'patch', 'ak', 'quickstart', '--type=merge', '-p', '{"spec":{"disabled":true}}')
  await until(async () => String(await statuses(KEY)) === '401,401', 'both proxies to refuse the key')
})

it('restarts only programs that have ended, on the same ports', async () => {
  const before = pids()
  const killed = before.find(({ name }) => name === 'proxy-1')
  process.kill(killed?.pid ?? 0, 'SIGKILL')
  const bases = env.BASE_URLS
  env = parseEnv(await make('up'))
  expect(env.BASE_URLS).toBe(bases)
  const others = (all: ReturnType<typeof pids>) => all.filter(({ name }) => name !== 'proxy-1')
  expect(others(pids())).toEqual(expect.arrayContaining(others(before)))
  expect(pids()).toHaveLength(before.length)
  expect(await statuses(KEY)).toEqual([401, 401])
})

function listenOn(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer((_, res) => res.end())
    server.once('error', () => resolve(undefined)).listen(port, '127.0.0.1', () => resolve(server))
  })
}

it('fails if the example upstream’s port is in use', async () => {
  const upstream = pids().find(({ name }) => name === 'upstream')?.pid ?? 0
  process.kill(upstream, 'SIGKILL')
  await until(() => beginning(upstream) === undefined, 'the upstream to end')
  // Another test may use it for a moment.
  const other = await until(() => listenOn(upstreamPort), 'the port to be free')
  try {
    const program = startMake('up')
    expect(await program.exited).not.toBe(0)
    expect(program.output()).toContain(
      `port ${upstreamPort} of 127.0.0.1 is taken; choose another one with UPSTREAM_PORT`,
    )
  } finally {
    other.close()
  }
})

it('stops everything', async () => {
  const all = pids()
  await make('down')
  expect(all.filter(({ pid }) => beginning(pid) !== undefined)).toEqual([])
  expect(readdirSync(dir)).not.toContain('env')
  expect(await make('down')).toContain('nothing was running')
})
