/** The CLI commands that inspect running programs and files, against a real `sluice dev`. */

import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { type ExampleUpstream, startExampleUpstream } from '../../examples/upstream/server.ts'
import { basicEnv } from '../harness/basic-env.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { call, jsonHeaders } from '../harness/http.ts'
import { freePort, ROOT } from '../harness/program.ts'
import { account, apiKey, channel, documents, route } from '../harness/resources.ts'

const KEY = 'sk-cli-alice-0123456789-wxyz'
const TOKEN = 'a-token-of-the-cli-test'
const UPSTREAM_KEY = 'example-upstream-key'
const BAD = `apiVersion: sluice.dev/v1alpha1
kind: Channel
metadata: { name: broken }
spec:
  type: chat_completion
  baseUrl: http://127.0.0.1:1/v1
`

let upstream: ExampleUpstream
let gateway: RunningGateway
let scratch: string

interface Result {
  code: number | null
  out: string
  err: string
}

/** Runs a command and waits for its exit. */
async function sluice(
  args: string[],
  { env = {}, input = '' }: { env?: Record<string, string>; input?: string } = {},
) {
  const child = spawn(process.execPath, [join(ROOT, 'cli/main.ts'), ...args], {
    env: { ...basicEnv(), HOME: scratch, KUBECONFIG: join(scratch, 'none'), ...env },
  })
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve))
  child.stdin.on('error', () => undefined).end(input)
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), closed])
  return { code, out, err } satisfies Result
}

/** Runs a command against this test's gateway. */
const ask = (...args: string[]) =>
  sluice(args, { env: { SLUICE_ADMIN_URLS: gateway.admin, SLUICE_ADMIN_TOKEN: TOKEN } })

/** Starts a command that runs until it is killed. */
function follow(args: string[]) {
  const child = spawn(process.execPath, [join(ROOT, 'cli/main.ts'), ...args], {
    env: { ...basicEnv(), SLUICE_ADMIN_URLS: gateway.admin, SLUICE_ADMIN_TOKEN: TOKEN },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let out = ''
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk
  })
  return { child, out: () => out }
}

const jsonOf = <Schema extends z.ZodType>(schema: Schema, { out }: Result) => schema.parse(JSON.parse(out))

async function chat(key: string, model: string) {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello there' }] })
  return call(`${gateway.base}/v1/chat/completions`, { headers: jsonHeaders(key), body })
}

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'sluice-cli-'))
  upstream = await startExampleUpstream({ port: 0, host: '127.0.0.1' })
  const baseURL = `http://127.0.0.1:${upstream.port}/v1`
  const price = { input: '1', output: '2' }
  gateway = await startGateway(
    {
      'upstream.yaml':
        channel('first', baseURL, { secretRef: { name: 'up' } }) +
        channel('second', baseURL, { secretRef: { name: 'up' } }) +
        channel('idle', baseURL, { disabled: true }) +
        channel('foreign', 'http://127.0.0.1:9', { type: 'embeddings' }) +
        documents({
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { name: 'up' },
          stringData: { key: UPSTREAM_KEY },
        }),
      'models.yaml':
        route(
          'paid',
          'paid',
          [{ name: 'second', priority: 1 }, { name: 'first', model: 'example-model' }, 'foreign'],
          {
            price,
            maxOutputTokens: 1_000,
          },
        ) + route('lost', 'lost', ['nowhere']),
      'clients.yaml':
        apiKey('alice', KEY, { accountRef: { name: 'team' } }) +
        apiKey('off', 'sk-cli-off-0123456789-0001', { disabled: true }) +
        apiKey('poor', 'sk-cli-poor-0123456789-0002', { accountRef: { name: 'empty' } }) +
        documents({
          apiVersion: 'sluice.dev/v1alpha1',
          kind: 'ApiKey',
          metadata: { name: 'void' },
          spec: {},
        }) +
        account('team', '5') +
        account('empty', undefined),
      'bad.yaml': BAD,
    },
    { SLUICE_ADMIN_TOKEN: TOKEN },
  )
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
  rmSync(scratch, { recursive: true, force: true })
})

describe.concurrent('every command', () => {
  it('reports wrong usage on stderr with exit code 2, and help on stdout', async () => {
    const wrong = await sluice(['status', '--outptu', 'json'])
    expect([wrong.code, wrong.out, wrong.err.split('\n')]).toEqual([
      ...[2, ''],
      ["sluice status: unknown option '--outptu'; did you mean --output? (see sluice status --help)", ''],
    ])
    const help = await sluice(['dev', '--help'])
    expect([help.code, help.err]).toEqual([0, ''])
    expect(help.out).toContain('Usage: sluice dev')
  })

  it.each([['status'], ['explain', '--key', 'alice', '--model', 'paid'], ['logs']])(
    '%s: names an admin port that is unreachable or refuses, with exit code 1',
    async (...args) => {
      const dead = `http://127.0.0.1:${await freePort()}`
      const unreachable = await sluice([...args, '--admin', dead])
      expect([unreachable.code, unreachable.out]).toEqual([1, ''])
      expect(unreachable.err).toContain(`${dead} cannot be reached (ECONNREFUSED)`)
      const refused = await sluice([...args, '--admin', gateway.admin])
      expect([refused.code, refused.out]).toEqual([1, ''])
      expect(refused.err).toContain('set SLUICE_ADMIN_TOKEN')
    },
  )
})

describe('sluice status', () => {
  const report = z.object({
    newest: z.object({ epoch: z.number(), generation: z.number() }),
    instances: z.array(
      z.looseObject({
        role: z.string(),
        generation: z.number(),
        ready: z.boolean(),
        behind: z.boolean().optional(),
      }),
    ),
    unreachable: z.array(z.object({ admin: z.string(), reason: z.string() })),
  })

  it('shows both programs of dev and that the proxy serves the newest generation', async () => {
    const answer = await ask('status', '-o', 'json')
    const { newest, instances, unreachable } = jsonOf(report, answer)
    expect(instances.map(({ role, ready }) => [role, ready])).toEqual([
      ['controller', true],
      ['proxy', true],
    ])
    expect(instances.map(({ generation }) => generation)).toEqual([newest.generation, newest.generation])
    expect([answer.code, unreachable, instances[1]?.behind]).toEqual([0, [], false])
    const { code, out } = await ask('status')
    expect(out).toMatch(
      /^ROLE +INSTANCE +LEADING +EPOCH +GENERATION +READY +BEHIND +STORE +FROM\ncontroller .*\nproxy .*\n$/,
    )
    expect(code).toBe(0)
  })

  it('lists instances that answer and those that do not', async () => {
    const dead = `http://127.0.0.1:${await freePort()}`
    const answer = await ask('status', '--admin', `${gateway.admin},${dead}`, '-o', 'json')
    const { instances, unreachable } = jsonOf(report, answer)
    expect([answer.code, instances.length]).toEqual([1, 2])
    expect(unreachable).toEqual([{ admin: dead, reason: 'cannot be reached (ECONNREFUSED)' }])
  })
})

describe('sluice explain', () => {
  const report = z.object({
    proxies: z
      .array(
        z.object({
          refusal: z.object({ status: z.number(), code: z.string(), reason: z.string() }).optional(),
          candidates: z.array(z.looseObject({ channel: z.string(), state: z.string() })),
          hold: z.object({ amount: z.string() }).optional(),
          funds: z.object({ balance: z.string(), held: z.string() }).optional(),
        }),
      )
      .length(1),
    notes: z.array(z.string()),
  })
  const explained = async (key: string, model: string, ...more: string[]) => {
    const answer = await ask('explain', '--key', key, '--model', model, '-o', 'json', ...more)
    const { proxies, notes } = jsonOf(report, answer)
    return { ...proxies[0], code: answer.code, notes }
  }

  it('shows the channels in order and the amount to hold, without holding it', async () => {
    const { code, candidates, hold, refusal, funds } = await explained('alice', 'paid')
    expect([code, refusal]).toEqual([0, undefined])
    expect(candidates?.map(({ channel, state }) => [channel, state])).toEqual([
      ['first', 'ready'],
      ['second', 'ready'],
      ['foreign', 'not_eligible'],
    ])
    // 1,000 tokens at 1 and 1,000 at 2 dollars a million.
    expect([hold?.amount, funds]).toEqual(['0.003', { balance: '5', held: '0' }])
    expect(
      (await explained('alice', 'paid', '--input-tokens', '0', '--max-tokens', '500')).hold?.amount,
    ).toBe('0.001')
    const { out } = await ask('explain', '--key', 'alice', '--model', 'paid')
    expect(out).toMatch(/^ {3}1 {2}first +chat_completion +example-model +0 +1 +100% +byte +ready$/m)
    expect(out).toContain('would be served')
    expect(out).toContain('  foreign: the endpoint does not reach embeddings channels\n')
    expect(gateway.requests()).toEqual([])
  })

  it.each([
    ['alice', 'nope', 502, 'upstream_error'],
    ['alice', 'lost', 502, 'upstream_error'],
    ['off', 'paid', 401, 'unauthorized'],
    ['poor', 'paid', 402, 'insufficient_balance'],
  ])('%s and %s: %i %s, like the answer to the request', async (key, model, status, code) => {
    const shown = await explained(key, model)
    expect(shown.refusal).toMatchObject({ status, code })
    expect(shown.code).toBe(1)
    const keys: Record<string, string> = {
      alice: KEY,
      off: 'sk-cli-off-0123456789-0001',
      poor: 'sk-cli-poor-0123456789-0002',
    }
    const answer = await chat(keys[key] ?? '', model)
    expect([answer.status, answer.text.includes(`"${code}"`)]).toEqual([status, true])
  })

  it('shows the controller’s findings', async () => {
    expect((await explained('alice', 'lost')).notes).toEqual(
      expect.arrayContaining([
        expect.stringContaining('ModelRoute/lost: spec.channels[0]: the Channel nowhere does not exist'),
        expect.stringContaining('Channel/idle: the channel is disabled'),
      ]),
    )
  })

  it.each([
    ['embeddings', 'ready'],
    ['count_tokens', 'not_eligible'],
    ['image_edits', 'not_eligible'],
  ])('judges channels for the endpoint %s', async (endpoint, foreign) => {
    const { code, candidates = [] } = await explained('alice', 'paid', '--endpoint', endpoint)
    expect([code, Object.fromEntries(candidates.map(({ channel, state }) => [channel, state]))]).toEqual([
      0,
      { first: 'ready', second: 'ready', foreign },
    ])
  })

  it('fails for a key without a value and one that does not exist', async () => {
    const empty = await ask('explain', '--key', 'void', '--model', 'paid')
    expect([empty.code, empty.out]).toEqual([1, ''])
    expect(empty.err).toMatch(/no value in force; ApiKey\/void: .*spec\.secretRef/)
    const missing = await ask('explain', '--key', 'missing', '--model', 'paid')
    expect([missing.code, missing.err]).toEqual([
      1,
      expect.stringMatching(/^sluice explain: there is no ApiKey .*missing.*\n$/),
    ])
  })
})

describe('sluice logs', () => {
  const line = z.looseObject({
    kind: z.literal('request'),
    requestId: z.string(),
    status: z.number(),
    time: z.string(),
  })
  const lines = ({ out }: Result) =>
    out
      .trim()
      .split('\n')
      .map((one) => line.parse(JSON.parse(one)))
  let served: string

  beforeAll(async () => {
    served = String((await chat(KEY, 'paid')).headers['x-request-id'])
    await chat(KEY, 'nope')
    await chat('sk-cli-poor-0123456789-0002', 'paid')
    await until(
      () =>
        gateway.requests().length >= 7 && gateway.requests().some(({ requestId }) => requestId === served),
      'the log',
    )
  })

  it('shows requests newest first, as logged', async () => {
    const answer = await ask('logs', '-o', 'json')
    const shown = lines(answer)
    expect(answer.code).toBe(0)
    expect(shown.map(({ time }) => time)).toEqual(
      shown
        .map(({ time }) => time)
        .toSorted()
        .reverse(),
    )
    expect(
      answer.out
        .trim()
        .split('\n')
        .map((one) => JSON.parse(one)),
    ).toEqual(expect.arrayContaining(gateway.requests()))
    expect(lines(await ask('logs', '-o', 'json', '--limit', '2')).map(({ requestId }) => requestId)).toEqual(
      shown.slice(0, 2).map(({ requestId }) => requestId),
    )
  })

  it('filters by request id or its prefix, by status and by key name', async () => {
    for (const id of [served, served.slice(0, 16)])
      expect(
        lines(await ask('logs', '--request-id', id, '-o', 'json')).map(({ requestId }) => requestId),
      ).toEqual([served])
    const failed = lines(await ask('logs', '--status', '5xx', '-o', 'json'))
    expect(new Set(failed.map(({ status }) => status))).toEqual(new Set([502]))
    const poor = lines(await ask('logs', '--key', 'poor', '-o', 'json'))
    expect(new Set(poor.map(({ status, key }) => `${status} ${key}`))).toEqual(new Set(['402 default/poor']))
    expect(lines(await ask('logs', '--key', 'default/poor', '-o', 'json'))).toEqual(poor)
    const preview = await ask('logs', '--key', '...0002')
    expect([preview.code, preview.out]).toEqual([1, ''])
  })

  it('prints a table, and fails without a match', async () => {
    const { code, out } = await ask('logs', '--request-id', served)
    const [head = '', row = ''] = out.split('\n')
    expect(code).toBe(0)
    expect(head).toMatch(
      /^TIME +ID +KEY +MODEL +ROUTE +STATUS +CODE +TRIES +TOKENS +COST +MS +REASON +ATTEMPTS$/,
    )
    expect(row).toMatch(
      new RegExp(
        `^\\S+ \\S+ +${served.slice(0, 16)} +default/alice +paid +paid +200 +- +1 +\\d+/\\d+ +0\\.0\\d+ +\\d+ +- +default/first /v1/chat/completions$`,
      ),
    )
    expect(await ask('logs', '--request-id', 'req_none')).toEqual({
      ...{ code: 1, out: '', err: 'no request in the log matches\n' },
    })
  })

  it('--follow prints existing requests, then each request as it ends', async () => {
    const { child, out } = follow(['logs', '--follow', '--key', 'alice', '-o', 'json'])
    await until(() => out().includes(served), 'the earlier requests')
    const later = String((await chat(KEY, 'paid')).headers['x-request-id'])
    await chat('sk-cli-poor-0123456789-0002', 'paid')
    const last = String((await chat(KEY, 'paid')).headers['x-request-id'])
    await until(() => out().includes(last), 'the later request', 15_000)
    child.kill('SIGINT')
    const ids = lines({ code: 0, err: '', out: out() }).map(({ requestId }) => requestId)
    expect(ids.slice(-2)).toEqual([later, last])
    expect(new Set(ids).size).toBe(ids.length)
    expect(out()).not.toContain('default/poor')
  })

  it('prints no key or credential', async () => {
    for (const args of [
      ['logs', '-o', 'json'],
      ['explain', '--key', 'alice', '--model', 'paid', '-o', 'json'],
      ['status', '-o', 'json'],
    ]) {
      const { out, err } = await ask(...args)
      for (const secret of [KEY, TOKEN, UPSTREAM_KEY]) expect(out + err).not.toContain(secret)
    }
  })
})

describe('sluice validate', () => {
  it('reports the same problems as sluice dev', async () => {
    const problems = z
      .array(z.object({ line: z.number(), column: z.number(), subject: z.string(), message: z.string() }))
      .parse(
        JSON.parse(
          (await call(`${gateway.admin}/problems`, { headers: { 'x-sluice-admin-token': TOKEN } })).text,
        ),
      )
    expect(problems).not.toEqual([])
    const { code, out } = await sluice(['validate', '-f', join(gateway.dir, 'bad.yaml')])
    expect(code).toBe(1)
    const lines = problems.map(
      ({ line, column, subject, message }) =>
        `${join(gateway.dir, 'bad.yaml')}:${line}:${column}: ${subject}: ${message}`,
    )
    expect(out.trimEnd().split('\n')).toEqual(lines)
    expect(gateway.output()).toContain(lines[0])
  })

  it('accepts the quickstart, by folder, by file and from standard input', async () => {
    const folder = join(ROOT, 'examples/quickstart')
    expect(await sluice(['validate', '-f', folder])).toEqual({
      ...{ code: 0, out: '', err: '3 files, 0 problems, 0 warnings\n' },
    })
    const files = ['1-upstream.yaml', '2-models.yaml', '3-clients.yaml'].flatMap((file) => [
      '-f',
      join(folder, file),
    ])
    expect((await sluice(['validate', '--strict', ...files])).code).toBe(0)
    const stdin = await sluice(['validate', '-f', '-'], { input: BAD })
    expect([stdin.code, stdin.out]).toEqual([1, expect.stringMatching(/^stdin:6:3: Channel\/broken: /m)])
  })

  it('checks each document in its own namespace', async () => {
    const folder = join(scratch, 'tenants')
    mkdirSync(folder)
    const of = (namespace: string, resources: string) =>
      resources.replaceAll('"metadata": {', `"metadata": { "namespace": "${namespace}",`)
    const one = channel('c', 'http://127.0.0.1:1/v1') + route('r', 'm', ['c'])
    writeFileSync(join(folder, 'all.yaml'), of('a', one) + of('b', route('r', 'm', ['c'])))
    const report = z.object({
      problems: z.array(z.unknown()),
      warnings: z.array(z.looseObject({ namespace: z.string() })),
    })
    const answer = await sluice(['validate', '-f', folder, '-o', 'json'])
    const { problems, warnings } = jsonOf(report, answer)
    expect([answer.code, problems]).toEqual([0, []])
    expect(warnings).toEqual([
      {
        ...{
          kind: 'ModelRoute',
          namespace: 'b',
          name: 'r',
          condition: 'ResolvedRefs',
          status: 'False',
          reason: 'RefNotFound',
        },
        message: 'spec.channels[0]: the Channel c does not exist',
      },
    ])
    const strict = await sluice(['validate', '-f', folder, '--strict'])
    expect([strict.code, strict.out]).toEqual([
      1,
      'warning: ModelRoute/r in b: ResolvedRefs would be False: spec.channels[0]: the Channel c does not exist\n',
    ])
  })

  it('names a file that cannot be read', async () => {
    const gone = join(scratch, 'gone.yaml')
    expect(await sluice(['validate', '-f', gone])).toEqual({
      ...{ code: 1, out: '', err: `sluice validate: ${gone} cannot be read (ENOENT)\n` },
    })
  })
})
