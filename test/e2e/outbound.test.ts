/** Connections to upstreams: server and client certificates, and HTTP proxies. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { type Answer, call, chatBody, eventData, expectError, jsonHeaders } from '../harness/http.ts'
import { startProxy, type TestProxy } from '../harness/http-proxy.ts'
import { type Authority, createAuthority, type Pair } from '../harness/pki.ts'
import { startSluice } from '../harness/program.ts'
import { apiKey, channel, documents, route } from '../harness/resources.ts'
import { chatAnswer, chatEvents, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-outbound-test'
const PASSWORD = 'proxy-password-not-to-be-seen'
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
const NEVER = { ejection: { consecutiveFailures: 0 } }

let dir: string
let authority: Authority
let proxy: TestProxy
let plain: ScriptedUpstream
let secure: ScriptedUpstream
let mutual: ScriptedUpstream
let gateway: RunningGateway
let clientPair: Pair
/** Subjects of the client certificates that `mutual` received. */
const receivedSubjects: string[] = []

const tlsSecret = (name: string, { cert, key }: Pair) =>
  documents({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name },
    type: 'kubernetes.io/tls',
    stringData: { 'tls.crt': cert, 'tls.key': key },
  })

/** The first line inside a PEM block. */
const bodyOf = (pem: string) => pem.split('\n')[1] ?? ''

/** The upstream's URL with a host name that only the proxy resolves. */
const named = (upstream: ScriptedUpstream, name = 'upstream.test') =>
  upstream.baseURL.replace('127.0.0.1', name)

const serving = (name: string, baseURL: string, spec: object = {}) =>
  channel(name, baseURL, { ...NEVER, ...spec }) + route(name, name, [name], { retry: { attempts: 1 } })

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-outbound-'))
  authority = createAuthority()
  const server = authority.issue('upstream.test', '127.0.0.1')
  const demands = { ca: authority.ca, requestCert: true, rejectUnauthorized: true }
  ;[proxy, plain, secure, mutual] = await Promise.all([
    startProxy(),
    startUpstream(),
    startUpstream(chatAnswer(), server),
    startUpstream(chatAnswer(), { ...server, ...demands }),
  ])
  mutual.server.on('secureConnection', (socket: TLSSocket) =>
    receivedSubjects.push(String(socket.getPeerCertificate().subject.CN)),
  )
  writeFileSync(join(dir, 'ca.pem'), authority.ca)
  const address = proxy.url.replace('://', `://user:${PASSWORD}@`)
  const clientCertificateRef = { name: 'client' }
  clientPair = authority.issue('first.test')
  gateway = await startGateway(
    {
      'all.yaml': [
        apiKey('caller', KEY),
        serving('file', secure.baseURL),
        serving('mutual', mutual.baseURL, { tls: { clientCertificateRef } }),
        serving('no-certificate', mutual.baseURL),
        serving('https', named(secure)),
        serving('http', named(plain)),
        serving('mutual-proxied', named(mutual), { tls: { clientCertificateRef } }),
        serving('direct', named(plain, 'direct.test')),
        serving('loopback', plain.baseURL),
      ].join(''),
      'client.yaml': tlsSecret('client', clientPair),
    },
    {
      SLUICE_UPSTREAM_CA_FILE: join(dir, 'ca.pem'),
      SLUICE_HTTP_PROXY: address,
      HTTPS_PROXY: address,
      NO_PROXY: '.direct.test',
    },
  )
})

afterAll(async () => {
  await gateway?.stop()
  await Promise.all([proxy?.close(), plain?.close(), secure?.close(), mutual?.close()])
  authority?.remove()
  rmSync(dir, { recursive: true, force: true })
})

beforeEach(() => {
  proxy.requests.length = 0
  proxy.refuseWith(undefined)
  receivedSubjects.length = 0
  for (const upstream of [plain, secure, mutual]) {
    upstream.calls.length = 0
    upstream.answer(chatAnswer())
  }
})

const send = (model: string, more: object = {}): Promise<Answer> =>
  call(`${gateway.base}/v1/chat/completions`, { body: chatBody(model, more), headers: jsonHeaders(KEY) })

async function detailOf(answer: Answer): Promise<unknown> {
  const id = answer.headers['x-request-id']
  const line = await until(() => gateway.requests().find((entry) => entry.requestId === id), 'the log line')
  return (line.attempts as { detail?: string }[])[0]?.detail
}

describe('certificates', () => {
  it('trusts the private CA of the settings', async () => {
    expect((await send('file')).status).toBe(200)
  })

  it('presents only the channel’s own client certificate', async () => {
    expect((await send('mutual')).status).toBe(200)
    expect(receivedSubjects).toEqual(['first.test'])
    const answer = await send('no-certificate')
    expectError(answer, 502, 'upstream_error', null, 'server_error')
    expect(['tls', 'reset']).toContain(await detailOf(answer))
  })

  it('presents a new certificate without a restart; an invalid one disables the channel', async () => {
    const second = authority.issue('second.test')
    gateway.write('client.yaml', tlsSecret('client', second))
    await until(async () => {
      expect((await send('mutual')).status).toBe(200)
      return receivedSubjects.includes('second.test')
    }, 'the new certificate')
    gateway.write('client.yaml', tlsSecret('client', { ...second, key: authority.issue('third.test').key }))
    const conditions = await until(async () => {
      const { text } = await call(`${gateway.admin}/resources`)
      return text.includes('does not belong to the certificate') && text
    }, 'the condition')
    expect(conditions).not.toContain('PRIVATE KEY')
    gateway.write('client.yaml', tlsSecret('client', second))
    await until(async () => (await send('mutual')).status === 200, 'the channel')
  })
})

describe('an HTTP proxy', () => {
  it.each([
    ['https', () => secure, (host: string) => `CONNECT ${host}`],
    ['http', () => plain, (host: string) => `POST http://${host}/v1/chat/completions`],
    ['mutual-proxied', () => mutual, (host: string) => `CONNECT ${host}`],
  ])('%s: is used', async (model, upstream, requestLine) => {
    expect((await send(model)).status).toBe(200)
    expect(upstream().calls.length).toBe(1)
    expect(proxy.requests).toEqual([requestLine(new URL(named(upstream())).host)])
    expect(upstream().calls[0]?.headers).not.toHaveProperty('proxy-authorization')
  })

  it.each(['https', 'http'])('%s: forwards streams without delay', async (model) => {
    const upstream = model === 'https' ? secure : plain
    const [first = '', ...rest] = chatEvents('m', 'one two three', null)
    let firstReceived = () => {}
    const clientHasFirst = new Promise<void>((resolve) => {
      firstReceived = resolve
    })
    upstream.answer(async (_call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write(first)
      // Continues once the client has received the first event.
      await clientHasFirst
      res.end(`${rest.join('')}data: [DONE]\n\n`)
    })
    const response = await fetch(`${gateway.base}/v1/chat/completions`, {
      method: 'POST',
      headers: HEADERS,
      body: chatBody(model, { stream: true }),
    })
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString()
      firstReceived()
    }
    expect(eventData(text).length).toBe(rest.length + 2)
    expect(text).toBe(`${first}${rest.join('')}data: [DONE]\n\n`)
  })

  it.each(['https', 'http'])('%s: closes the upstream call when the client leaves', async (model) => {
    const upstream = model === 'https' ? secure : plain
    upstream.answer(() => undefined)
    const abort = new AbortController()
    const answer = fetch(`${gateway.base}/v1/chat/completions`, {
      method: 'POST',
      headers: HEADERS,
      body: chatBody(model),
      signal: abort.signal,
    })
    const gone = expect(answer).rejects.toThrow()
    await until(() => upstream.calls.length === 1, 'the call')
    abort.abort()
    await gone
    await until(() => upstream.calls[0]?.aborted, 'the end of the call')
  })

  it('is not used for loopback or hosts in NO_PROXY', async () => {
    expect((await send('loopback')).status).toBe(200)
    const answer = await send('direct')
    expectError(answer, 502, 'upstream_error', null, 'server_error')
    expect(await detailOf(answer)).toBe('dns')
    expect(proxy.requests).toEqual([])
  })

  it.each(['https', 'mutual-proxied', 'http'])(
    '%s: its refusal counts as a failed connection',
    async (model) => {
      // An idle connection would be reused.
      for (const socket of proxy.tunnels) socket.destroy()
      await until(() => proxy.tunnels.size === 0, 'the end of the tunnels')
      proxy.refuseWith(407)
      const answer = await until(async () => {
        const next = await send(model)
        return (await detailOf(next)) === 'proxy' && next
      }, 'the refusal')
      expectError(answer, 502, 'upstream_error', null, 'server_error')
      expect(answer.text).not.toContain('proxy-secrets')
    },
  )

  it('its password and private keys are in no log and page', async () => {
    const pages = ['/resources', '/status', '/problems', '/logs?limit=1000', '/metrics']
    const answers = await Promise.all(pages.map((page) => call(`${gateway.admin}${page}`)))
    expect(answers.map(({ status }) => status)).toEqual(pages.map(() => 200))
    for (const text of [gateway.output(), ...answers.map((answer) => answer.text)])
      for (const secret of [PASSWORD, 'proxy-secrets', 'PRIVATE KEY', bodyOf(clientPair.key)])
        expect(text).not.toContain(secret)
  })
})

describe('invalid settings', () => {
  it.each([
    [{ SLUICE_UPSTREAM_CA_FILE: '/nowhere' }, 'SLUICE_UPSTREAM_CA_FILE: the file cannot be read (ENOENT)'],
    [{ SLUICE_HTTPS_PROXY: 'socks5://a' }, 'SLUICE_HTTPS_PROXY: must be an http:// or https:// address'],
  ])('%j', async (env, message) => {
    const program = startSluice({ SLUICE_CONFIG_DIR: dir, ...env })
    expect(await program.exited).toBe(2)
    expect(program.output()).toContain(message)
  })
})
