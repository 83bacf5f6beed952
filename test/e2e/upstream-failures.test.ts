/** When an upstream fails, the client gets the gateway's status and no upstream text. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { bearer, chat, errorIn, expectSameRefusal } from '../harness/chat-client.ts'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { type Answer, call, chatBody } from '../harness/http.ts'
import { apiKey, channel, documents, route } from '../harness/resources.ts'
import { chatAnswer, json, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-upstream-failures-0123456789'
const UPSTREAM_KEY = 'upstream-credential-0123456789'

/** Part of every text in an upstream failure. */
const CANARY = 'canary-of-the-upstream'
const HEADERS = {
  server: CANARY,
  via: `1.1 ${CANARY}`,
  'set-cookie': `session=${CANARY}`,
  'x-request-id': CANARY,
  'openai-organization': CANARY,
  'x-ratelimit-remaining-requests': CANARY,
  'cf-ray': CANARY,
}

const failure = (more: object = {}) => ({
  error: {
    message: `Incorrect API key provided: ${UPSTREAM_KEY}. See https://${CANARY}.example/ or ask 127.0.0.1.`,
    type: 'some_error',
    param: CANARY,
    code: CANARY,
    ...more,
  },
})

let upstream: ScriptedUpstream
let gateway: RunningGateway
const answers: Answer[] = []

/** The model's name selects the upstream's behaviour; see the wildcard route below. */
beforeAll(async () => {
  upstream = await startUpstream((call, res) => {
    const { model } = z.object({ model: z.string() }).parse(JSON.parse(call.body.toString()))
    const status = Number(model)
    if (model === 'ok') return chatAnswer()(call, res)
    if (model === 'html') {
      res.writeHead(502, { ...HEADERS, 'content-type': 'text/html' })
      res.end(`<html><h1>Bad Gateway</h1><address>${CANARY} at 127.0.0.1</address></html>`)
    } else if (model === 'empty') json(res, 200, {}, HEADERS)
    else if (model === 'error-in-200') json(res, 200, failure({ code: 'server_error' }), HEADERS)
    else if (model === 'reset') res.socket?.resetAndDestroy()
    else if (model === 'param') json(res, 400, failure({ param: 'temperature' }), HEADERS)
    else if (model === 'too-long') {
      const message = `This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. ${CANARY}`
      json(res, 400, failure({ message, code: 'context_length_exceeded' }), HEADERS)
    } else json(res, status, failure(), status === 429 ? { ...HEADERS, 'retry-after': '7' } : HEADERS)
  })
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const address = closed.address()
  closed.close()
  const port = typeof address === 'object' ? address?.port : 0
  gateway = await startGateway({
    'all.yaml':
      documents({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'upstream' },
        stringData: { key: UPSTREAM_KEY },
      }) +
      channel('scripted', upstream.baseURL, { secretRef: { name: 'upstream' } }) +
      channel('closed', `http://127.0.0.1:${port}/v1`) +
      channel('nowhere', 'http://name-of-no-host.invalid/v1') +
      route('scripted', 'does-*', ['scripted'], { retry: { attempts: 1 } }) +
      route('closed', 'closed', ['closed'], { retry: { attempts: 1 } }) +
      route('unknown-host', 'unknown-host', ['nowhere'], { retry: { attempts: 1 } }) +
      apiKey('key', KEY),
  })
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

async function refused(model: string, more: object = {}): Promise<Answer> {
  const answer = await expectSameRefusal(gateway.base, bearer(KEY), model, more)
  answers.push(answer)
  return answer
}

describe('the upstream’s failure is a 502', () => {
  it.each([
    ...['401', '402', '403', '404', '408', '429', '500', '503', '529'].map((status) => `does-${status}`),
    ...['does-html', 'does-empty', 'does-error-in-200', 'does-reset', 'closed', 'unknown-host'],
  ])('%s', async (model) => {
    const answer = await refused(model)
    expect(answer.status).toBe(502)
    const shouldRetry = ['does-401', 'does-402', 'does-403', 'does-404'].includes(model) ? 'false' : undefined
    expect(answer.headers['x-should-retry']).toBe(shouldRetry)
    expect(errorIn(answer.text)).toMatchObject({ code: 'upstream_error', type: 'server_error', param: null })
    expect(answer.headers['retry-after']).toBe(model === 'does-429' ? '7' : undefined)
  })

  it('a request without a route calls no upstream', async () => {
    const before = upstream.calls.length
    const answer = await refused('no-such-model')
    expect(answer.status).toBe(502)
    expect(errorIn(answer.text)).toMatchObject({ code: 'upstream_error' })
    expect(upstream.calls.length).toBe(before)
  })
})

describe('a client error keeps its status', () => {
  it.each([400, 413, 422])('%i', async (status) => {
    const answer = await refused(`does-${status}`)
    expect(answer.status).toBe(status)
    expect(errorIn(answer.text)).toMatchObject({
      code: status === 413 ? 'request_too_large' : 'invalid_request',
      type: 'invalid_request_error',
      param: null,
    })
    expect(answer.headers['x-should-retry']).toBeUndefined()
  })

  it('names the field if the request has it', async () => {
    const answer = await refused('does-param', { temperature: 9 })
    expect(errorIn(answer.text).param).toBe('temperature')
    expect(errorIn((await refused('does-param')).text).param).toBeNull()
  })

  it('keeps the token counts of a prompt that is too long', async () => {
    const answer = await refused('does-too-long')
    expect(answer.status).toBe(400)
    const error = errorIn(answer.text)
    expect(error.code).toBe('context_length_exceeded')
    expect(error.message).toMatch(/maximum context length is 8192 tokens.*resulted in 9001 tokens/)
  })
})

it('reveals no text, key, host or header of an upstream', async () => {
  const good = await chat(gateway.base, bearer(KEY), chatBody('does-ok'))
  expect(good.status).toBe(200)
  expect(upstream.calls.at(-1)?.headers.authorization).toBe(`Bearer ${UPSTREAM_KEY}`)
  expect(answers.length).toBeGreaterThan(20)
  for (const { text, headers } of [...answers, good]) {
    const all = text + JSON.stringify(headers)
    for (const secret of [CANARY, UPSTREAM_KEY, '127.0.0.1', '.invalid']) expect(all).not.toContain(secret)
    const names = Object.keys(headers).filter((name) => name in HEADERS && name !== 'x-request-id')
    expect(names).toEqual([])
  }
})

describe('the dialect of an error', () => {
  const anthropic = { 'anthropic-version': '2026-10-21' }
  const shapeOf = ({ text }: Answer) => {
    const body = z.record(z.string(), z.unknown()).parse(JSON.parse(text))
    return body.type === 'error' && 'request_id' in body ? 'messages' : 'chat'
  }

  it.each<[string, string, number, string, Record<string, string>]>([
    ['GET', '/v1/models', 401, 'chat', {}],
    ['GET', '/v1/models', 401, 'messages', anthropic],
    ['GET', '/api/v1/models', 401, 'messages', anthropic],
    ['GET', '/v1/models/no-such-model', 404, 'chat', jsonKey()],
    ['GET', '/v1/models/no-such-model', 404, 'messages', { ...jsonKey(), ...anthropic }],
    ['POST', '/v1/models', 405, 'chat', {}],
    ['POST', '/v1/models', 405, 'messages', anthropic],
    ['GET', '/v1/nothing/here', 404, 'chat', {}],
    ['GET', '/v1/nothing/here', 404, 'messages', anthropic],
    ['GET', '/', 404, 'chat', {}],
    ['POST', '/v1/messages/nothing', 404, 'messages', {}],
    ['POST', '/v1/chat/completions', 401, 'chat', anthropic],
    ['GET', '/v1/chat/completions', 405, 'chat', anthropic],
  ])('%s %s: %i as %s', async (method, path, status, shape, headers) => {
    const answer = await call(`${gateway.base}${path}`, { method, headers })
    expect([answer.status, shapeOf(answer)]).toEqual([status, shape])
    expect(answer.headers['request-id']).toBe(answer.headers['x-request-id'])
    const codes: Record<number, string> = { 401: 'unauthorized', 404: 'not_found', 405: 'method_not_allowed' }
    const { error } = z.object({ error: z.looseObject({}) }).parse(JSON.parse(answer.text))
    expect(error.code).toBe(codes[status])
    if (shape === 'messages') {
      const types: Record<number, string> = { 401: 'authentication_error', 404: 'not_found_error' }
      expect(error.type).toBe(types[status] ?? 'invalid_request_error')
      expect(JSON.parse(answer.text)).toMatchObject({ request_id: answer.headers['request-id'] })
    }
    if (status === 405) expect(answer.headers.allow).toBe(path.endsWith('models') ? 'GET, HEAD' : 'POST')
  })

  function jsonKey(): Record<string, string> {
    return { 'x-api-key': KEY }
  }
})
