/** Upstream messages for client errors are forwarded sanitised, on every path to a client. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../../proxy/socket/testing.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { type Answer, call, jsonHeaders } from '../harness/http.ts'
import { apiKey, channel, documents, route } from '../harness/resources.ts'
import { json, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-upstream-messages-0123456789'
const UPSTREAM_KEY = 'canary.of.the.credential'
const TYPES = ['chat_completion', 'responses', 'messages'] as const
/** The upstream's message, and the sanitised one. */
const UPSTREAM_MESSAGE =
  `temperature must be <= 2 for model secret-model-9 (key ${UPSTREAM_KEY}, org-Canary1, canary@acme.com, ` +
  'https://canary.example/x, 10.0.0.7:8000, request id: canary-7)'
const SANITISED = 'temperature must be <= 2 for model mine (key ***, ***, ***, ***, ***, request id: ***)'

let status = 400
let form: 'status' | 'in-200' | 'event' = 'status'
let body: object = {}
let upstream: ScriptedUpstream
let gateway: RunningGateway

const openai = (message: string) => ({
  error: { message, type: 'invalid_request_error', param: 'temperature', code: null },
})

beforeAll(async () => {
  upstream = await startUpstream((_call, res) => {
    if (form === 'status') return json(res, status, body)
    if (form === 'in-200') return json(res, 200, body)
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.end(`event: error\ndata: ${JSON.stringify({ type: 'error', ...body })}\n\n`)
  })
  gateway = await startGateway({
    'all.yaml': [
      apiKey('caller', KEY),
      documents({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'up' },
        stringData: { key: UPSTREAM_KEY },
      }),
      ...TYPES.flatMap((type) => {
        const name = type.replace('_', '-')
        const base = type === 'messages' ? upstream.baseURL.replace(/\/v1$/, '') : upstream.baseURL
        const spec = { type, secretRef: { name: 'up' } }
        return [
          channel(name, base, spec),
          channel(`${name}-generic`, base, { ...spec, errorMessages: 'Generic' }),
          route(name, `mine-${name}`, [{ name, model: 'secret-model-9' }]),
          route(`${name}-generic`, `mine-${name}-generic`, [
            { name: `${name}-generic`, model: 'secret-model-9' },
          ]),
        ]
      }),
    ].join(''),
  })
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

const messages = [{ role: 'user', content: 'Hello' }]
const CLIENTS: [string, string, object][] = [
  ['chat', 'chat/completions', { messages }],
  ['responses', 'responses', { input: 'Hello' }],
  ['messages', 'messages', { messages, max_tokens: 100 }],
]

const send = (path: string, request: object): Promise<Answer> =>
  call(`${gateway.base}/v1/${path}`, { body: JSON.stringify(request), headers: jsonHeaders(KEY) })

function errorOf({ text }: Answer): Record<string, unknown> {
  return (JSON.parse(text) as { error: Record<string, unknown> }).error
}

describe.each(
  CLIENTS.flatMap(([client, path, request]) => TYPES.map((type) => ({ client, path, request, type }))),
)('$client over $type', ({ path, request, type }) => {
  const model = `mine-${type.replace('_', '-')}`
  const expected = SANITISED.replace('mine', model)

  it.each([
    [400, 'status', false],
    [413, 'status', false],
    [422, 'status', true],
    [400, 'in-200', false],
    [400, 'event', true],
  ] as const)('%i, %s, stream: %s', async (code, errorForm, stream) => {
    ;[status, form, body] = [code, errorForm, openai(UPSTREAM_MESSAGE)]
    const answer = await send(path, { model, ...request, temperature: 0.5, stream })
    expect(answer.status).toBe(code)
    const error = errorOf(answer)
    expect(error.message).toBe(expected)
    expect(error.param).toBe('temperature')
    expect(error.code).toBe(code === 413 ? 'request_too_large' : 'invalid_request')
    expect(answer.text).not.toMatch(/canary/i)
  })

  it('is hidden on a channel with generic messages', async () => {
    ;[status, form, body] = [400, 'status', openai(UPSTREAM_MESSAGE)]
    const answer = await send(path, { model: `${model}-generic`, ...request, temperature: 0.5 })
    expect(errorOf(answer).message).toBe('The upstream refused the request as invalid: see temperature.')
  })

  it('is hidden for errors that are not the client’s fault', async () => {
    for (const other of [401, 403, 404, 429, 500]) {
      ;[status, form, body] = [other, 'status', openai(UPSTREAM_MESSAGE)]
      const error = errorOf(await send(path, { model, ...request }))
      expect(error.message).toMatch(/^The upstream (?:could not serve the request|is busy)\.$/)
    }
  })
})

describe('forwards only the message', () => {
  it.each<[string, object, string]>([
    [
      'of a nested upstream error',
      {
        error: {
          message: 'Provider returned error',
          code: 400,
          metadata: { raw: '{"error":{"message":"top_k is too high"}}' },
        },
      },
      'top_k is too high',
    ],
    [
      'of FastAPI',
      { detail: [{ loc: ['body', 'top_k'], msg: 'Input should be less than 9', type: 'x', input: 10 }] },
      'top_k: Input should be less than 9',
    ],
    [
      'not a JSON body in its place',
      { error: { message: '{"trace": ["a secret"]}' } },
      'The upstream refused the request as invalid.',
    ],
    [
      'not an HTML page',
      { error: { message: '<html><body>nginx at home</body></html>' } },
      'The upstream refused the request as invalid.',
    ],
    [
      'not the rest of the body',
      { error: { message: 'no good', debug: 'a secret' }, trace: 'a secret' },
      'no good',
    ],
    [
      'of a file that is not supported',
      {
        error: {
          message: 'The file type you uploaded is not supported. Please try again with a pdf',
          param: 'messages',
        },
      },
      'The file type you uploaded is not supported. Please try again with a pdf',
    ],
  ])('%s', async (_name, upstreamBody, expected) => {
    ;[status, form, body] = [400, 'status', upstreamBody]
    const answer = await send('chat/completions', { model: 'mine-chat-completion', messages })
    expect(errorOf(answer)).toMatchObject({ message: expected, code: 'invalid_request' })
  })

  it('an unsupported file is not an unsupported field, even with generic messages', async () => {
    ;[status, form] = [400, 'status']
    body = { error: { message: 'The file type you uploaded is not supported.', param: 'messages' } }
    const answer = await send('chat/completions', { model: 'mine-chat-completion-generic', messages })
    expect(errorOf(answer).message).toBe('The upstream refused the request as invalid: see messages.')
  })
})

it('forwards the message over a WebSocket', async () => {
  ;[status, form, body] = [400, 'status', openai(UPSTREAM_MESSAGE)]
  const url = `${gateway.base.replace('http', 'ws')}/v1/responses`
  const client = await connect(url, { headers: { authorization: `Bearer ${KEY}` } })
  client.send({ type: 'response.create', model: 'mine-chat-completion', input: 'Hello', temperature: 0.5 })
  const [message] = await until(() => {
    const errors = client.messages.filter(({ type }) => type === 'error')
    return errors.length > 0 && errors
  }, 'the error')
  expect(message).toMatchObject({
    status: 400,
    error: { message: SANITISED.replace('mine', 'mine-chat-completion'), param: 'temperature' },
  })
})
