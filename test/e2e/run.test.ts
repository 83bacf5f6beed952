/** Starting the program: its output, its errors at start, and `make run`. */

import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { basicEnv } from '../harness/basic-env.ts'
import { until } from '../harness/gateway.ts'
import { call, jsonHeaders } from '../harness/http.ts'
import {
  endProgram,
  freePort,
  groupRuns,
  type Program,
  ROOT,
  startProgram,
  startSluice,
  takenPort,
} from '../harness/program.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const shell = promisify(execFile)
const KEY = 'sk-run-own-folder-0123456789'

let scratch: string
let upstream: ScriptedUpstream
const programs: Program[] = []

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'sluice-run-'))
  upstream = await startUpstream()
  mkdirSync(join(scratch, 'own'))
  writeFileSync(
    join(scratch, 'own', 'all.yaml'),
    channel('c', upstream.baseURL) + route('r', 'own-model', ['c']) + apiKey('k', KEY),
  )
})

afterAll(async () => {
  for (const program of programs.splice(0)) await endProgram(program)
})

afterAll(async () => {
  await upstream?.close()
  rmSync(scratch, { recursive: true, force: true })
})

const start = (env: Record<string, string> = {}, args?: string[]) => {
  const program = startSluice(env, args)
  programs.push(program)
  return program
}

/** Runs the printed curl command in a shell; returns its output and the status. */
async function printedCurl(program: Program, env: Record<string, string> = {}) {
  const [, command = ''] = await program.printed(/^ +((?:export|curl) [\s\S]+?)\n\n/m)
  const { stdout } = await shell('bash', ['-c', `${command} --silent --write-out '\n%{http_code}'`], {
    env: { ...basicEnv(), ...env },
  })
  const [status = '', ...body] = stdout.split('\n').reverse()
  return { status, body: body.join('\n') }
}

describe('the quickstart', () => {
  it('prints its address, a key and a request that works', async () => {
    const program = start()
    const [, base] = await program.printed(/Base URL +(http:\/\/localhost:\d+)\/v1/)
    const [, key = ''] = await program.printed(/API key +(sk-\S+)/)
    const [, admin] = await program.printed(/Admin +(http:\/\/localhost:\d+)/)
    const { status, body } = await printedCurl(program)
    expect(status).toBe('200')
    expect(JSON.parse(body)).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { role: 'assistant', content: expect.stringContaining('Hello') } }],
    })
    expect((await call(`${base}/v1/models`, { headers: jsonHeaders(key) })).status).toBe(200)

    const page = (path: string, method = 'GET') => call(`${admin}${path}`, { method })
    expect(await page('/healthz')).toMatchObject({ status: 200, text: 'ok\n' })
    expect(await page('/readyz')).toMatchObject({ status: 200, text: 'ok\n' })
    const metrics = await page('/metrics')
    expect(metrics.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/)
    await until(async () => {
      const counted = /^sluice_requests_total\{endpoint="\S+",status="200",code="ok",domain="none"\} 1$/m
      return counted.test((await page('/metrics')).text)
    }, 'the request to be counted')
    expect((await page('/problems')).text.trim()).toBe('[]')
    expect((await page('/nothing')).status).toBe(404)
    expect((await page('/resources', 'POST')).status).toBe(405)
  })

  it('stops everything it started on one Ctrl-C, even in the middle of a stream', async () => {
    const upstreamPort = await freePort()
    const program = start({ UPSTREAM_PORT: String(upstreamPort) })
    const [, base = ''] = await program.printed(/Base URL +(http:\/\/localhost:\d+)\/v1/)
    const [, key = ''] = await program.printed(/API key +(sk-\S+)/)
    const [, admin = ''] = await program.printed(/Admin +(http:\/\/localhost:\d+)/)
    const content = 'word '.repeat(2_000)
    const body = JSON.stringify({ model: 'example', messages: [{ role: 'user', content }], stream: true })
    const stream = call(`${base}/v1/chat/completions`, { headers: jsonHeaders(key), body }).catch(() => 'cut')
    await until(async () => {
      const { text } = await call(`${admin}/metrics`)
      return /^sluice_requests_in_flight 1$/m.test(text)
    }, 'the stream to run')
    program.child.kill('SIGINT')
    expect(await program.exited).toBe(0)
    await stream
    for (const url of [base, admin, `http://127.0.0.1:${upstreamPort}`])
      await expect(call(url)).rejects.toThrow(/ECONNREFUSED/)
    expect(groupRuns(program)).toBe(false)
  })
})

describe('the listening address', () => {
  const others = Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .filter(({ internal, scopeid }) => !internal && !scopeid)
    .map(({ address }) => (address.includes(':') ? `[${address}]` : address))
  const six = Object.values(networkInterfaces()).some((entries) =>
    entries?.some(({ address }) => address === '::1'),
  )
  const portsOf = async (program: Program) => {
    const [, base = ''] = await program.printed(/Base URL +(http:\/\/localhost:\d+)\/v1/)
    const [, admin = ''] = await program.printed(/Admin +(http:\/\/localhost:\d+)/)
    return [base, admin].map((url) => new URL(url).port)
  }
  const answers = (host: string, port: string) =>
    call(`http://${host}:${port}/healthz`).then(
      () => true,
      () => false,
    )

  it('is loopback only, with both ports on IPv4 and IPv6', async () => {
    for (const port of await portsOf(start({ SLUICE_HOST: '' }))) {
      expect(await answers('127.0.0.1', port)).toBe(true)
      expect(await answers('[::1]', port)).toBe(six)
      for (const host of others) expect([host, await answers(host, port)]).toEqual([host, false])
    }
  })

  it('is the one of --host', async () => {
    for (const port of await portsOf(start({ SLUICE_HOST: '' }, ['dev', '--host', '0.0.0.0'])))
      for (const host of ['127.0.0.1', ...others.filter((other) => !other.startsWith('['))])
        expect([host, await answers(host, port)]).toEqual([host, true])
  })
})

describe('an own folder', () => {
  it('prints a request that works, without the key', async () => {
    const program = start({ SLUICE_CONFIG_DIR: join(scratch, 'own') })
    expect((await printedCurl(program)).status).toBe('200')
    const [, base = ''] = await program.printed(/Base URL +(http:\/\/localhost:\d+)\/v1/)
    expect((await call(`${base}/v1/models`)).status).toBe(401)
    await until(() => program.output().includes('"status":401'), 'the request log')
    expect(program.output()).not.toContain(KEY)
  })

  it('works as a copy of the quickstart in a path with a space', async () => {
    const copy = join(scratch, 'a copy')
    cpSync(join(ROOT, 'examples/quickstart'), copy, { recursive: true })
    const upstreamPort = String(await freePort())
    const program = start({ UPSTREAM_PORT: upstreamPort }, ['dev', copy])
    expect((await printedCurl(program)).status).toBe('200')
    expect((await call(`http://127.0.0.1:${upstreamPort}/`)).status).toBe(401)
  })

  it('protects the admin pages with the token', async () => {
    const token = 'a-token-of-the-admin-port'
    const program = start({ SLUICE_CONFIG_DIR: join(scratch, 'own'), SLUICE_ADMIN_TOKEN: token })
    const [, admin = ''] = await program.printed(/Admin +(http:\/\/localhost:\d+)/)
    for (const path of ['/healthz', '/readyz', '/metrics'])
      expect((await call(`${admin}${path}`)).status).toBe(200)
    for (const path of ['/status', '/resources', '/problems', '/logs']) {
      expect((await call(`${admin}${path}`)).status).toBe(403)
      expect(
        (await call(`${admin}${path}`, { headers: { 'x-sluice-admin-token': `${token}!` } })).status,
      ).toBe(403)
      expect((await call(`${admin}${path}`, { headers: { 'x-sluice-admin-token': token } })).status).toBe(200)
    }
    expect(program.output()).not.toContain(token)
  })
})

describe.concurrent('errors at start', () => {
  it.each(['SLUICE_PORT', 'SLUICE_ADMIN_PORT', 'UPSTREAM_PORT'])(
    'names %s if its port is in use',
    async (name) => {
      const { port, free } = await takenPort()
      const program = start({ [name]: String(port) })
      expect(await program.exited).toBe(1)
      await free()
      const line = program
        .output()
        .split('\n')
        .find((text) => text.startsWith('sluice: '))
      expect(line).toContain(`port ${port} is taken`)
      expect(line).toContain(`with ${name} (`)
      expect(line).toContain(`make run: ${name.replace('SLUICE_', '')}=`)
      expect(program.output()).not.toMatch(/^ +at /m)
    },
  )

  it.each<[string, string, Record<string, string>, RegExp[]]>([
    [
      'the folder is missing',
      '1',
      { SLUICE_CONFIG_DIR: '/no/such/folder' },
      [/\/no\/such\/folder/, /SLUICE_CONFIG_DIR/],
    ],
    [
      'the folder is a file',
      '1',
      { SLUICE_CONFIG_DIR: `${ROOT}/README.md` },
      [/README\.md/, /SLUICE_CONFIG_DIR/],
    ],
    ['a setting is wrong', '2', { SLUICE_DRAIN_TIMEOUT: 'soon' }, [/^SLUICE_DRAIN_TIMEOUT: .*30s/m]],
    [
      'two settings are wrong',
      '2',
      { SLUICE_PORT: '70000', SLUICE_ADMIN_TOKEN: 'hunter2' },
      [/^SLUICE_PORT: /m, /^SLUICE_ADMIN_TOKEN: /m],
    ],
    ['the upstream’s port is invalid', '2', { UPSTREAM_PORT: 'eighty' }, [/^UPSTREAM_PORT: /m]],
  ])('%s', async (_, code, env, messages) => {
    const program = start(env)
    expect(String(await program.exited)).toBe(code)
    for (const pattern of messages) expect(program.output()).toMatch(pattern)
    expect(program.output()).not.toMatch(/^ +at |hunter2|Sluice is ready/m)
  })

  it('warns about an unknown setting, and starts', async () => {
    const program = start({ SLUICE_PROT: '9090' })
    await program.printed(/Sluice is ready/)
    await program.printed(/SLUICE_PROT.*not a setting/)
  })

  it.each<[string[], number, RegExp]>([
    [['--help'], 0, /Usage: sluice <command>/],
    [[], 0, /Usage: sluice <command>/],
    [['--version'], 0, /^\d+\.\d+\.\d+$/m],
    [['devv'], 2, /unknown command 'devv'/],
  ])('sluice %j exits with %i', async (args, code, message) => {
    const program = start({}, args)
    expect(await program.exited).toBe(code)
    expect(program.output()).toMatch(message)
  })
})

describe('make run', () => {
  it('accepts ports and a relative folder from any directory, and Ctrl-C leaves no process', async () => {
    const [port, adminPort] = [await freePort(), await freePort()]
    const make = `exec make -C '${ROOT}' run PORT=${port} ADMIN_PORT=${adminPort} CONFIG=own`
    const program = startProgram('bash', ['-c', make], { cwd: scratch })
    programs.push(program)
    await program.printed(new RegExp(`Base URL +http://localhost:${port}/v1`))
    await program.printed(new RegExp(`Admin +http://localhost:${adminPort} `))
    const body = JSON.stringify({ model: 'own-model', messages: [{ role: 'user', content: 'Hello' }] })
    const url = `http://127.0.0.1:${port}/v1/chat/completions`
    expect((await call(url, { headers: jsonHeaders(KEY), body })).status).toBe(200)
    process.kill(-(program.child.pid ?? 0), 'SIGINT')
    await program.exited
    await until(() => !groupRuns(program), 'all processes to end')
    await expect(call(url)).rejects.toThrow(/ECONNREFUSED/)
  })

  it('runs the quickstart without CONFIG, with its upstream on UPSTREAM_PORT', async () => {
    const ports = [await freePort(), await freePort(), await freePort()]
    const [port, adminPort, upstreamPort] = ports
    const make = `exec make run PORT=${port} ADMIN_PORT=${adminPort} UPSTREAM_PORT=${upstreamPort}`
    const program = startProgram('bash', ['-c', make])
    programs.push(program)
    expect((await printedCurl(program)).status).toBe('200')
    expect((await call(`http://127.0.0.1:${upstreamPort}/`)).status).toBe(401)
    process.kill(-(program.child.pid ?? 0), 'SIGINT')
    await program.exited
    await until(() => !groupRuns(program), 'all processes to end')
    for (const each of ports) await expect(call(`http://127.0.0.1:${each}/`)).rejects.toThrow(/ECONNREFUSED/)
  })

  it('reports that a relative folder does not exist', async () => {
    const make = `exec make -C '${ROOT}' run PORT=0 ADMIN_PORT=0 CONFIG=missing`
    const program = startProgram('bash', ['-c', make], { cwd: scratch })
    programs.push(program)
    expect(await program.exited).not.toBe(0)
    expect(program.output()).toMatch(/sluice: \S*missing is not a folder/)
  })
})
