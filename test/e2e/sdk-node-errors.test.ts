/** Errors that the official Node SDKs throw: class, code, and no retry where it would not help. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { account, apiKey, channel, documents, route } from '../harness/resources.ts'
import { anthropic, HELLO, openai, rejection } from '../harness/sdk.ts'
import {
  chatAnswer,
  chatEvents,
  json,
  type Script,
  type ScriptedUpstream,
  startUpstream,
} from '../harness/upstream.ts'

const KEY = 'sk-node-errors-0123456789'
const LIMITED = 'sk-node-errors-limited-0123456789'
const POOR = 'sk-node-errors-poor-0123456789'
const FENCED = 'sk-node-errors-fenced-0123456789'
const UPSTREAM_SECRET = 'sk-upstream-secret-0123456789abcdef'

let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await startUpstream()
  gateway = await startGateway({
    'upstream.yaml':
      channel('up', upstream.baseURL, { secretRef: { name: 'up' } }) +
      documents({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'up' },
        stringData: { key: UPSTREAM_SECRET },
      }),
    'routes.yaml': route('alpha', 'alpha', ['up'], { retry: { attempts: 1 } }),
    'keys.yaml':
      apiKey('full', KEY) +
      apiKey('limited', LIMITED, { models: ['beta'] }) +
      apiKey('fenced', FENCED, { allowedIPs: ['192.0.2.1'] }) +
      apiKey('poor', POOR, { accountRef: { name: 'poor' } }) +
      account('poor', undefined),
  })
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

/** A client with a count of its requests. */
function counted(key: string) {
  const sent = { count: 0 }
  const client = openai(gateway.base, key, {
    fetch: (url, init) => {
      sent.count++
      return fetch(url, init)
    },
  })
  return { client, sent }
}

/** The error that the SDK throws, with the number of its requests and of upstream calls. */
async function failure(key: string, more: object = {}) {
  const calls = upstream.calls.length
  const { client, sent } = counted(key)
  const error = await rejection(client.chat.completions.create({ model: 'alpha', messages: HELLO, ...more }))
  if (!(error instanceof OpenAI.APIError)) throw error
  return { error, requests: sent.count, calls: upstream.calls.length - calls }
}

const refusing =
  (status: number, error: object, headers: Record<string, string> = {}): Script =>
  (_call, res) =>
    json(res, status, { error }, headers)

describe('refusals of the gateway', () => {
  const cases = [
    {
      name: 'an unknown key',
      key: 'sk-unknown',
      kind: OpenAI.AuthenticationError,
      status: 401,
      code: 'unauthorized',
    },
    {
      name: 'a foreign address',
      key: FENCED,
      kind: OpenAI.PermissionDeniedError,
      status: 403,
      code: 'ip_not_allowed',
    },
    {
      name: 'a model that is not allowed',
      key: LIMITED,
      kind: OpenAI.PermissionDeniedError,
      status: 403,
      code: 'model_not_allowed',
      param: 'model',
    },
    {
      name: 'no messages',
      key: KEY,
      more: { messages: [] },
      kind: OpenAI.BadRequestError,
      status: 400,
      code: 'invalid_request',
      param: 'messages',
    },
    {
      name: 'no funds',
      key: POOR,
      kind: OpenAI.APIError,
      status: 402,
      code: 'insufficient_balance',
      type: 'insufficient_quota',
    },
    {
      name: 'a model without a route',
      key: KEY,
      more: { model: 'nowhere' },
      kind: OpenAI.InternalServerError,
      status: 502,
      code: 'upstream_error',
      param: 'model',
      type: 'server_error',
    },
  ]

  it.each(
    cases.flatMap((c) => [c, { ...c, name: `${c.name}, for a stream`, more: { ...c.more, stream: true } }]),
  )('$name', async ({ key, more, kind, status, code, param = null, type = 'invalid_request_error' }) => {
    upstream.answer(chatAnswer())
    const { error, requests, calls } = await failure(key, more)
    expect(error).toBeInstanceOf(kind)
    expect(error).toMatchObject({ status, code, param, type })
    expect(error.requestID).toMatch(/^req_/)
    expect(error.message).not.toMatch(/no body/)
    expect({ requests, calls }).toEqual({ requests: 1, calls: 0 })
  })

  it('an unknown path', async () => {
    const error = await rejection(openai(gateway.base, KEY).get('/nowhere'))
    expect(error).toBeInstanceOf(OpenAI.NotFoundError)
    expect(error).toMatchObject({ code: 'not_found' })
  })
})

describe('errors of the upstream', () => {
  it.each([
    {
      status: 401,
      error: { message: `Incorrect API key provided: ${UPSTREAM_SECRET}`, code: 'invalid_api_key' },
    },
    { status: 403, error: { message: 'Project proj_123 has no access', code: null } },
    { status: 404, error: { message: 'The model does not exist', code: 'model_not_found' } },
    {
      status: 429,
      error: { message: 'Quota of org-123', type: 'insufficient_quota', code: 'insufficient_quota' },
    },
    {
      status: 500,
      error: { message: 'Traceback at 10.0.0.1', type: 'server_error', code: null },
      retried: true,
    },
    { status: 529, error: { message: 'Overloaded', type: 'overloaded_error' }, retried: true },
  ])(
    '$status becomes a 502, which the SDK retries if that may help',
    async ({ status, error: sent, retried }) => {
      upstream.answer(refusing(status, sent, { 'x-should-retry': retried ? 'false' : 'true' }))
      const { error, requests, calls } = await failure(KEY)
      expect(error).toBeInstanceOf(OpenAI.InternalServerError)
      expect(error).toMatchObject({ status: 502, code: 'upstream_error', param: null, type: 'server_error' })
      expect(`${error.message}${JSON.stringify(error.error)}`).not.toContain(sent.message)
      const times = retried ? 3 : 1
      expect({ requests, calls }).toEqual({ requests: times, calls: times })
    },
  )

  it('a rate limit keeps its Retry-After', async () => {
    upstream.answer(
      refusing(429, { message: 'Slow down', code: 'rate_limit_exceeded' }, { 'retry-after': '1' }),
    )
    const { error, requests } = await failure(KEY)
    expect(error).toMatchObject({ status: 502, code: 'upstream_error' })
    expect(error.headers?.get('retry-after')).toBe('1')
    expect(requests).toBe(3)
  })

  it.each([
    [400, OpenAI.BadRequestError],
    [422, OpenAI.UnprocessableEntityError],
  ])('%i keeps its status, field and upstream message', async (status, kind) => {
    upstream.answer(
      refusing(status, {
        message: 'temperature must be <= 2 at 10.0.0.1',
        param: 'temperature',
        code: 'invalid_value',
      }),
    )
    const { error } = await failure(KEY, { temperature: 9 })
    expect(error).toBeInstanceOf(kind)
    expect(error).toMatchObject({ status, code: 'invalid_request', param: 'temperature' })
    expect(error.message).toBe(`${status} temperature must be <= 2 at ***`)
  })

  it('a prompt that is too long is reported with its token counts', async () => {
    const message =
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130011 tokens."
    upstream.answer(refusing(400, { message, code: 'context_length_exceeded', param: 'messages' }))
    const { error } = await failure(KEY)
    expect(error).toBeInstanceOf(OpenAI.BadRequestError)
    expect(error.code).toBe('context_length_exceeded')
    expect(error.message).toMatch(/128000.*130011/)
  })
})

describe('a stream that fails', () => {
  const begun = chatEvents('alpha', 'first second', null).slice(0, 2).join('')

  /** Reads a stream; returns its text and its error. */
  async function readUntilError() {
    const { client, sent } = counted(KEY)
    const stream = await client.chat.completions.create({ model: 'alpha', messages: HELLO, stream: true })
    const texts: string[] = []
    const reading = (async () => {
      for await (const chunk of stream) texts.push(chunk.choices[0]?.delta.content ?? '')
    })()
    const error = await rejection(reading)
    return { error, text: texts.join(''), requests: sent.count }
  }

  it.each<[string, Script]>([
    [
      'with an error event',
      (_call, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        res.end(`${begun}data: {"error":{"message":"Hidden words","type":"server_error","code":null}}\n\n`)
      },
    ],
    [
      'with a closed connection',
      (_call, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        res.write(begun, () => res.destroy())
      },
    ],
    [
      'with an end before the answer is complete',
      (_call, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        res.end(begun)
      },
    ],
  ])('in the middle, %s, throws', async (_name, script) => {
    upstream.answer(script)
    const { error, text, requests } = await readUntilError()
    expect(text).toBe('first ')
    expect(error).toBeInstanceOf(OpenAI.APIError)
    expect(error).toMatchObject({ status: undefined, code: 'upstream_error', type: 'server_error' })
    expect(String(error)).not.toContain('Hidden')
    expect(requests).toBe(1)
  })

  it('at its beginning is an error with a status', async () => {
    upstream.answer((_call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.end('data: {"error":{"message":"Hidden words","type":"server_error"}}\n\n')
    })
    const { error } = await failure(KEY, { stream: true })
    expect(error).toBeInstanceOf(OpenAI.InternalServerError)
    expect(error).toMatchObject({ status: 502, code: 'upstream_error' })
  })
})

describe('Anthropic', () => {
  it('an unknown key', async () => {
    const error = await rejection(anthropic(gateway.base, 'sk-unknown').models.list())
    expect(error).toBeInstanceOf(Anthropic.AuthenticationError)
    expect(error).toMatchObject({
      status: 401,
      type: 'authentication_error',
      requestID: expect.stringMatching(/^req_/),
    })
  })

  it('an unknown model', async () => {
    const error = await rejection(anthropic(gateway.base, KEY).models.retrieve('nowhere'))
    expect(error).toBeInstanceOf(Anthropic.NotFoundError)
    expect(error).toMatchObject({ status: 404, type: 'not_found_error' })
  })

  it('an invalid page size', async () => {
    const error = await rejection(anthropic(gateway.base, KEY).models.list({ limit: 1001 }))
    expect(error).toBeInstanceOf(Anthropic.BadRequestError)
    expect(error).toMatchObject({ type: 'invalid_request_error' })
  })
})
