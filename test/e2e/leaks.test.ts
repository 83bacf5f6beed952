/** Keys, credentials and prompts never appear in logs, metrics, statuses or answers. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { type Answer, call, chatBody, jsonHeaders } from '../harness/http.ts'
import { account, apiKey, channel, documents, route } from '../harness/resources.ts'
import { connection, requestBytes } from '../harness/socket.ts'
import { sse } from '../harness/sse.ts'
import {
  chatAnswer,
  chatEvents,
  type Script,
  type ScriptedUpstream,
  startUpstream,
} from '../harness/upstream.ts'

/** None looks like a credential, so that no pattern can mask it. */
const SECRETS = {
  client: 'canary client one'.replaceAll(' ', '.'),
  poor: 'canary.client.poor',
  disabled: 'canary.client.disabled',
  unknown: 'canary.client.unknown',
  other: 'canary.client.other',
  upstream: 'canary.upstream.main',
  escaped: 'canary"upstream\\escaped/1',
  header: 'canary.upstream.header',
  query: 'canary.upstream/query+1',
  admin: 'canary.admin.token.0123',
  setting: 'canary.unknown.setting',
  broken: 'canary.of.a.broken.file',
}
const PROMPT = 'canary prompt of the caller'
const HOST = 'canary-host.example'

const answers: string[] = []
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = await startUpstream(quoteRequest)
})

afterAll(async () => {
  await upstream?.close()
})

const secret = (name: string, key: string) =>
  documents({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { key } })

function resources(): Record<string, string> {
  const never = { ejection: { consecutiveFailures: 0 } }
  const withSecret = (name: string, spec: object = {}) =>
    channel(name, upstream.baseURL, { ...never, secretRef: { name }, ...spec }) +
    route(name, `${name}-*`, [name], { retry: { attempts: 1 } })
  return {
    'all.yaml': [
      apiKey('client', SECRETS.client, { accountRef: { name: 'rich' }, models: ['*-*', 'm'] }),
      apiKey('poor', SECRETS.poor, { accountRef: { name: 'poor' } }),
      apiKey('disabled', SECRETS.disabled, { disabled: true }),
      account('rich', '10'),
      account('poor', undefined),
      secret('main', SECRETS.upstream),
      secret('escaped', SECRETS.escaped),
      withSecret('main', {
        headers: { 'x-token': `Token ${SECRETS.header}` },
        query: { key: SECRETS.query },
      }),
      withSecret('escaped', { auth: { scheme: 'Header', header: 'x-credential' } }),
      channel('lost', `http://${HOST}.invalid/v1`, never),
      route('lost', 'lost-model', ['lost']),
      route('priced', 'priced-model', ['main'], { price: { perRequest: '1' } }),
    ].join(''),
  }
}

/** Quotes the request in every way in which upstreams do. */
const quoteRequest: Script = async (upstreamCall, res) => {
  const { headers, path } = upstreamCall
  const body = upstreamCall.body.toString()
  const [, fault = ''] = /"model":"([^"]*)"/.exec(body) ?? []
  const token = String(headers['x-token'] ?? '')
    .split(' ')
    .at(-1)
  const values = [
    headers.authorization,
    headers['x-token'],
    token,
    headers['x-credential'],
    decodeURIComponent(path),
  ]
  const quote = `${HOST}: ${values.join(' ; ')} ; ${path} body ${body}`
  const error = JSON.stringify({ error: { message: quote, type: quote, param: quote, code: quote } })
  const quoted = {
    'x-request-id': values.join(' '),
    'request-id': path,
    server: HOST,
    'x-echo': encodeURI(quote),
  }
  const events = chatEvents('m', 'Hello', null)
  switch (fault) {
    case 'ok':
      return chatAnswer()(upstreamCall, res)
    case 'text':
      return void res.writeHead(500, { 'content-type': 'text/plain', ...quoted }).end(quote)
    case 'in-200':
      return void res.writeHead(200, { 'content-type': 'application/json', ...quoted }).end(error)
    case 'no-answer':
      return void res.writeHead(200, { 'content-type': 'text/html' }).end(quote)
    case 'first-event':
      return sse([`event: error\ndata: ${error}\n\n`])(upstreamCall, res)
    case 'later-event':
      return sse([...events.slice(0, 2), `data: ${error}\n\n`])(upstreamCall, res)
    case 'cut':
      return sse([...events.slice(0, 2), 'data: {"half'])(upstreamCall, res)
    default:
      return void res.writeHead(Number(fault), { 'content-type': 'application/json', ...quoted }).end(error)
  }
}

const FAULTS = ['ok', 'text', 'in-200', 'no-answer', '400', '401', '403', '404', '413', '429', '500', '302']
const STREAMED = [...FAULTS, 'first-event', 'later-event', 'cut']

/** Sends all kinds of requests; resolves when all are logged. */
async function exercise({ base, requests }: RunningGateway): Promise<void> {
  const prompt = { messages: [{ role: 'user', content: PROMPT }] }
  const send = async (
    model: string,
    more: object = {},
    key = SECRETS.client,
    headers = {},
  ): Promise<Answer> => {
    const body = chatBody(model, { ...prompt, ...more })
    const answer = await call(`${base}/v1/chat/completions`, { body, headers: jsonHeaders(key, headers) })
    answers.push(JSON.stringify(answer.headers), answer.text)
    return answer
  }
  for (const name of ['main', 'escaped']) {
    for (const fault of FAULTS) await send(`${name}-${fault}`)
    for (const fault of STREAMED) await send(`${name}-${fault}`, { stream: true })
  }
  for (const key of [SECRETS.poor, SECRETS.disabled, SECRETS.unknown, `${SECRETS.unknown} ${SECRETS.other}`])
    await send('main-ok', {}, key)
  await send('main-ok', {}, SECRETS.client, { 'x-api-key': SECRETS.other })
  await send('lost-model')
  await send('priced-model', {}, SECRETS.poor)
  await send('forbidden', {}, SECRETS.client)
  // A key as the model.
  await send(SECRETS.client)
  await send('m', { max_tokens: PROMPT })
  await send(PROMPT.repeat(20))
  const traced = { traceparent: SECRETS.other, 'x-request-id': SECRETS.other, cookie: SECRETS.other }
  await send('main-ok', {}, SECRETS.client, traced)
  for (const path of [
    `/v1/models?key=${SECRETS.client}`,
    `/v1/${SECRETS.client}`,
    `/v1/models/${SECRETS.other}`,
  ]) {
    const answer = await call(base + path, { headers: jsonHeaders(SECRETS.client) })
    answers.push(JSON.stringify(answer.headers), answer.text)
  }
  for (const bytes of [
    requestBytes(
      `POST /v1/chat/completions HTTP/1.1`,
      [`authorization: Bearer ${SECRETS.client}\u0000`],
      PROMPT,
    ),
    requestBytes(
      `POST /v1/chat/completions HTTP/1.1`,
      [`authorization: Bearer ${SECRETS.client}`],
      `{"a":"${PROMPT}`,
    ),
    `${PROMPT} ${SECRETS.client}\r\n\r\n`,
  ])
    answers.push(await (await connection(base, bytes)).closed)
  const last = await send('main-ok')
  const id = last.headers['x-request-id']
  await until(() => requests().some((line) => line.requestId === id), 'the last log line')
}

/** The log and all admin pages. */
async function shown(gateway: RunningGateway): Promise<string> {
  const headers = { 'x-sluice-admin-token': SECRETS.admin }
  const texts = [gateway.output()]
  for (const path of [
    '/metrics',
    '/status',
    '/resources',
    '/problems',
    '/healthz',
    '/readyz',
    `/${SECRETS.other}`,
  ]) {
    const answer = await call(gateway.admin + path, { headers })
    expect(answer.status).toBe(path.includes(SECRETS.other) ? 404 : 200)
    texts.push(answer.text)
  }
  return texts.join('\n')
}

/** Names of the secrets in a text, in plain, JSON, URL or base64 form. */
function found(text: string): string[] {
  const forms = (value: string) => [
    value,
    JSON.stringify(value).slice(1, -1),
    JSON.stringify(JSON.stringify(value).slice(1, -1)).slice(1, -1),
    encodeURIComponent(value),
    Buffer.from(value).toString('base64').slice(0, 16),
  ]
  const secrets = Object.entries(SECRETS).filter(([, value]) =>
    forms(value).some((form) => text.includes(form)),
  )
  return secrets.map(([name]) => name)
}

const SETTINGS = {
  SLUICE_ADMIN_TOKEN: SECRETS.admin,
  SLUICE_OPENAI_KEY: SECRETS.setting,
  SLUICE_LOG_LEVEL: 'debug',
}

describe('with upstream errors quoted in the request log', () => {
  let gateway: RunningGateway
  let output = ''
  beforeAll(async () => {
    gateway = await startGateway(resources(), SETTINGS)
    await exercise(gateway)
    output = await shown(gateway)
  })
  afterAll(async () => {
    await gateway?.stop()
  })

  it('the secrets reach the upstream', () => {
    const sent = upstream.calls
      .map(({ path, headers }) => decodeURIComponent(path) + JSON.stringify(headers))
      .join()
    expect(found(sent)).toEqual(['upstream', 'escaped', 'header', 'query'])
    expect(upstream.calls.some((one) => one.body.includes(PROMPT))).toBe(true)
  })

  it('no log, metric or status contains one', () => {
    expect(found(output)).toEqual([])
  })

  it('the log contains a prompt only where an upstream quotes it', () => {
    const lines = gateway.requests()
    const bodies = lines
      .flatMap((line) => line.attempts as { body?: string }[])
      .map((entry) => entry.body ?? '')
    expect(bodies.filter((body) => body.includes(PROMPT)).length).toBeGreaterThan(10)
    const others = output.split('\n').map((line) => {
      if (!line.includes('"kind":"request"')) return line
      const { attempts, ...rest } = JSON.parse(line) as { attempts: { body?: string }[] }
      return JSON.stringify({ ...rest, attempts: attempts.map(({ body: _body, ...attempt }) => attempt) })
    })
    expect(others.filter((line) => /canary.{1,3}prompt/.test(line))).toEqual([])
  })

  it('no answer contains one', () => {
    expect(answers.length).toBeGreaterThan(100)
    // The client may see its own prompt.
    const text = answers.join('\n').replaceAll(PROMPT, '')
    expect(found(text)).toEqual([])
    expect(text).not.toMatch(/canary/)
    expect(text).not.toContain('127.0.0.1')
    expect(text).not.toContain(new URL(upstream.baseURL).port)
  })

  it('broken files are not quoted', async () => {
    const key = SECRETS.broken
    const files = {
      'yaml.yaml': `apiVersion: v1\nkind: Secret\nmetadata: { name: x }\nstringData: { key: "${key} }\n`,
      'tab.yaml': `apiVersion: v1\nkind: Secret\nmetadata:\n\tname: ${key}\nstringData:\n  key: ${key}: ${key}\n`,
      'type.yaml': documents({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'y' }, stringData: key }),
      'text.yaml': key,
      'field.yaml': apiKey('field', 'fine', { key, hashes: [key], models: { key } }),
      'url.yaml': channel('url', `https://user:${key}@upstream.example/v1`),
      'header.yaml': channel('header', upstream.baseURL, { headers: { 'x-a': `${key}\n` }, query: key }),
      'scheme.yaml': channel('scheme', upstream.baseURL, {
        auth: { scheme: `Bearer ${key}` },
        secretRef: key,
      }),
      'variable.yaml': channel('variable', `http://\${${'CANARY'}}/v1`, { headers: { 'x-b': key } }),
    }
    for (const [name, text] of Object.entries(files)) gateway.write(name, text)
    // A valid file whose Secret contains an invalid key.
    gateway.write('ascii.yaml', apiKey('ascii', `${key} ü\n`))
    await until(async () => {
      const text = await shown(gateway)
      return ['ApiKey/ascii', ...Object.keys(files)].every((name) => text.includes(name))
    }, 'every file to be reported')
    expect(found(await shown(gateway))).toEqual([])
  })
})

it('without quoted upstream errors the log contains no prompt at all', async () => {
  const gateway = await startGateway(resources(), { ...SETTINGS, SLUICE_LOG_UPSTREAM_BODIES: 'redacted' })
  try {
    await exercise(gateway)
    const output = await shown(gateway)
    expect(found(output)).toEqual([])
    expect(output).not.toMatch(/canary.{1,3}prompt/)
  } finally {
    await gateway.stop()
  }
})
