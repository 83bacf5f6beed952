/** Client texts cannot inject anything into the log, the output of the CLI or the headers of answers. */

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { basicEnv } from '../../harness/basic-env.ts'
import { until } from '../../harness/gateway.ts'
import { type Answer, call, chatBody, jsonHeaders } from '../../harness/http.ts'
import { ROOT } from '../../harness/program.ts'
import { exchange } from '../../harness/socket.ts'
import { AUTH, KEY, PATH, POST, raw, startWorld, type World } from './world.ts'

const TOKEN = 'a-token-of-the-injection-test'
const MARK = 'injected-by-a-client'
const FAKE_LINE = `\n{"kind":"request","requestId":"req_${MARK}","status":200}\n`

const CONTROLS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

let world: World

beforeAll(async () => {
  world = await startWorld({ SLUICE_ADMIN_TOKEN: TOKEN, SLUICE_TRUSTED_PROXIES: '127.0.0.1' })
})
afterAll(() => world?.stop())

/** Names that are dangerous in a terminal, a log or a header. */
const NAMES: [string, string][] = [
  ['a forged line', `m${FAKE_LINE}${MARK}`],
  ['CR and LF', `m\r\nx-injected: ${MARK}\r\n\r\n`],
  ['an escape sequence', `m\x1b[2J\x1b]0;${MARK}\x07`],
  ['an 8-bit escape sequence', `m\x9b2J${MARK}\x9d0;x\x9c`],
  ['a NUL and a DEL', `m\0\x7f${MARK}`],
  ['line separators', `m\u2028${MARK}\u2029\x85`],
  ['right-to-left text', `m\u202e${MARK}\u2066\u2069`],
  ['a lone surrogate', `m\ud800${MARK}`],
  ['thousands of combining marks', `m${'\u0301'.repeat(5_000)}${MARK}`],
  ['a name of 2 MB', `m${'x'.repeat(2_000_000)}${MARK}`],
]

const ids = new Map<string, string>()

async function logLine(id: string | string[] | undefined): Promise<string> {
  return until(
    () =>
      world.gateway
        .output()
        .split('\n')
        .find((line) => line.includes(`"requestId":"${id}"`)),
    'the log line',
  )
}

/** Asserts that the headers contain no client text. */
function expectOwnHeaders({ headers }: Answer) {
  expect(Object.entries(headers).join('\n')).not.toMatch(new RegExp(`${MARK}|x-injected|[^\\x20-\\x7e\\n]`))
}

function expectLogLine(line: string, status: number) {
  expect(JSON.parse(line)).toMatchObject({ kind: 'request', status })
  // CONTROLS includes 8-bit ones.
  expect(line).not.toMatch(CONTROLS)
  expect(line.length).toBeLessThan(10_000)
}

describe.each(NAMES)('a model named with %s', (what, model) => {
  it('is one log line and in no header', async () => {
    const answer = await call(world.gateway.base + PATH, { body: chatBody(model), headers: jsonHeaders(KEY) })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expectOwnHeaders(answer)
    expectLogLine(await logLine(String(answer.headers['x-request-id'])), answer.status)
    ids.set(what, String(answer.headers['x-request-id']))
  })
})

describe.each([
  'x-request-id',
  'request-id',
  'user-agent',
  'x-forwarded-for',
  'x-real-ip',
  'forwarded',
  'traceparent',
  'tracestate',
  'x-session-affinity',
  'session-id',
  'x-api-version',
  'anthropic-version',
  'anthropic-beta',
  'idempotency-key',
  'content-language',
  'origin',
  'referer',
  'cookie',
])('the header %s', (name) => {
  it.each<[string, string]>([
    ['escape sequences', `\x1b[2J${MARK}`],
    ['bytes beyond ASCII', `\x9b2J${MARK}\xff\xe2\x80\xa8`],
    ['tabs', `${MARK}\t${MARK}`],
    ['12 KB', MARK + 'x'.repeat(12_000)],
    ['part of a log line', `${MARK}","status":999,"x":"`],
  ])('with %s goes nowhere', async (_what, value) => {
    const body = chatBody('m')
    const headers = [AUTH, 'connection: close', `content-length: ${body.length}`, `${name}: ${value}`]
    const before = world.upstream.requests.length
    const answer = await exchange(world.gateway.base, Buffer.from(raw(POST, headers, body), 'latin1'))
    // Node refuses control characters; other values are served and not forwarded.
    expect([200, 400]).toContain(answer.status)
    expectOwnHeaders(answer)
    const sent = world.upstream.requests.slice(before)
    expect(sent.length).toBe(answer.status === 200 ? 1 : 0)
    expect(JSON.stringify(sent)).not.toContain(MARK)
    if (answer.status === 200) expect(await logLine(answer.headers['x-request-id'])).not.toContain(MARK)
  })
})

it.each([
  `/${MARK}`,
  `/%1b[2J${MARK}`,
  `/%0d%0ax-injected:%20${MARK}`,
  `/v1/models/%0a${MARK}%00`,
  `/?${MARK}=\\"`,
])('the path %s is in no header and no log line', async (path) => {
  const answer = await exchange(world.gateway.base, raw(`GET ${path} HTTP/1.1`, [AUTH, 'connection: close']))
  expect(answer.status).toBe(404)
  expectOwnHeaders(answer)
  expect(await logLine(answer.headers['x-request-id'])).not.toContain(MARK)
})

it.each([[[]], [['-o', 'json']]])('sluice logs %j prints no control characters', async (more) => {
  const child = spawn(process.execPath, [join(ROOT, 'cli/main.ts'), 'logs', '--limit', '1000', ...more], {
    env: { ...basicEnv(), SLUICE_ADMIN_URLS: world.gateway.admin, SLUICE_ADMIN_TOKEN: TOKEN },
  })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  expect(err).toBe('')
  for (const id of ids.values()) expect(out).toContain(id.slice(0, 12))
  expect(out.replaceAll('\n', '')).not.toMatch(CONTROLS)
  expect(out).not.toMatch(new RegExp(`^.*req_${MARK.slice(0, 6)}`, 'm'))
})

it('every printed JSON line is one object', () => {
  for (const line of world.gateway
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{')))
    expect(typeof JSON.parse(line)).toBe('object')
  expect(world.gateway.requests().filter(({ requestId }) => requestId === `req_${MARK}`)).toEqual([])
})
