/** The official Python SDKs. The scripts in python/ print the results. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { python, run } from '../harness/script.ts'
import {
  chatAnswer,
  chatEvents,
  completion,
  json,
  type ScriptedUpstream,
  startUpstream,
} from '../harness/upstream.ts'

const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
const MODELS = ['alpha', 'broken', 'cut', 'tools', 'vendor/team/beta']
const CALL = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Łódź"}' } }
const KEYS = {
  GATEWAY_KEY: 'sk-python-0123456789',
  GATEWAY_POOR_KEY: 'sk-python-poor-0123456789',
  GATEWAY_LIMITED_KEY: 'sk-python-limited-0123456789',
}

let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  const answer = chatAnswer({ content: 'one two three', usage: USAGE })
  upstream = await startUpstream((call, res) => {
    const { model } = JSON.parse(call.body.toString()) as { model: string }
    switch (model) {
      case 'broken':
        return json(res, 500, { error: { message: 'Hidden words', type: 'server_error' } })
      case 'cut':
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        res.end(chatEvents(model, 'first second', null).slice(0, 2).join(''))
        return
      case 'tools': {
        const message = { role: 'assistant', content: null, refusal: null, tool_calls: [CALL] }
        const choices = [{ index: 0, message, finish_reason: 'tool_calls', logprobs: null }]
        return json(res, 200, { ...completion(model, '', USAGE), choices })
      }
      default:
        return answer(call, res)
    }
  })
  gateway = await startGateway({
    'upstream.yaml': channel('up', upstream.baseURL),
    'routes.yaml': MODELS.map((model, i) => route(`r${i}`, model, ['up'], { retry: { attempts: 1 } })).join(
      '',
    ),
    'keys.yaml':
      apiKey('full', KEYS.GATEWAY_KEY) +
      apiKey('limited', KEYS.GATEWAY_LIMITED_KEY, { models: ['beta'] }) +
      apiKey('poor', KEYS.GATEWAY_POOR_KEY, { accountRef: { name: 'poor' } }) +
      account('poor', undefined),
  })
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

async function report(script: string): Promise<Record<string, unknown>> {
  const path = join(import.meta.dirname, 'python', script)
  return JSON.parse(
    await run(python(), [path], { ...KEYS, GATEWAY_BASE: gateway.base, PYTHONDONTWRITEBYTECODE: '1' }),
  )
}

const failure = (name: string, status: number | null, code: string, type: string, id = true) => ({
  class: name,
  status,
  code,
  type,
  id,
})

describe('openai', () => {
  it.each(['openai_sync.py', 'openai_async.py'])('%s', async (script) => {
    const calls = upstream.calls.length
    const { models, id, ...seen } = await report(script)
    expect(new Set(models as string[])).toEqual(new Set(MODELS))
    expect(id).toMatch(/^req_/)
    expect(seen).toEqual({
      model: 'vendor/team/beta',
      answer: 'one two three',
      usage: 10,
      'below /api': 'one two three',
      stream: ['', 'one ', 'two ', 'three', ''],
      helper: ['one two three', 'stop', 10],
      tools: [['call_1', 'weather', '{"city":"Łódź"}']],
      errors: {
        'unknown key': failure('AuthenticationError', 401, 'unauthorized', 'invalid_request_error'),
        'model not allowed': failure(
          'PermissionDeniedError',
          403,
          'model_not_allowed',
          'invalid_request_error',
        ),
        'no messages': failure('BadRequestError', 400, 'invalid_request', 'invalid_request_error'),
        'no funds': failure('APIStatusError', 402, 'insufficient_balance', 'insufficient_quota'),
        'no route': failure('InternalServerError', 502, 'upstream_error', 'server_error'),
        'upstream broken': failure('InternalServerError', 502, 'upstream_error', 'server_error'),
      },
      cut: ['first ', failure('APIError', null, 'upstream_error', 'server_error', false)],
    })
    // Four valid ones, tools, cut, and the broken one, which the SDK sends three times.
    expect(upstream.calls.length - calls).toBe(9)
  })
})

describe('anthropic', () => {
  it('anthropic_models.py', async () => {
    const seen = await report('anthropic_models.py')
    for (const list of ['models', 'by header', 'async'])
      expect(new Set(seen[list] as string[])).toEqual(new Set(MODELS))
    expect(seen.pages).toEqual([2, 2, 1])
    expect((seen.years as number[]).filter((year) => year < 2025)).toEqual([])
    expect(seen.model).toBe('vendor/team/beta')
    expect(seen.errors).toMatchObject({
      'unknown key': { class: 'AuthenticationError', status: 401, type: 'authentication_error', id: true },
      'unknown model': { class: 'NotFoundError', status: 404, type: 'not_found_error', id: true },
    })
  })
})
