/** Error bodies of real upstreams, with secrets in every string. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readError, readFailure } from '../../dialects/core/errors/read.ts'
import { requestOf } from '../../dialects/core/errors/testing.ts'
import { testChannel } from '../../table/testing.ts'
import { callerError } from './caller-error.ts'

const CREDENTIAL = 'canary-credential'
const CANARIES = [
  CREDENTIAL,
  'sk-proj-Canary0123456789',
  'https://canary.example/v1?x=1',
  'canary.internal:8443',
  '10.99.98.97',
  '2001:db8::ca:1',
  'canary@acme.com',
  'org-Canary1',
  'proj_canary',
  'acct_canary',
  'req_canary',
  'f47ac10b-58cc-4372-a567-0e02b2c3d479',
  'the-canary-model',
]
const REQUEST = requestOf({ model: 'mine', messages: [], temperature: 3, tools: [] })
const target = {
  channel: {
    ...testChannel('c'),
    baseURL: 'http://canary-gateway:8000/v1',
    auth: { scheme: 'Bearer' as const, secret: CREDENTIAL },
  },
  model: 'the-canary-model',
}

const openaiError = (message: string, more: object = {}) => ({
  error: { message, type: 'invalid_request_error', ...more },
})
/** Error bodies of OpenAI, Azure, Anthropic, Gemini, vLLM, FastAPI, OpenRouter, LiteLLM, Mistral and xAI. */
const BODIES: unknown[] = [
  openaiError("Invalid value: 'x'. Supported values are: 'a' and 'b'.", {
    param: 'tools[0].type',
    code: 'invalid_value',
  }),
  openaiError('The response was filtered due to the prompt triggering the content management policy.', {
    code: 'content_filter',
    innererror: { code: 'x' },
  }),
  {
    type: 'error',
    error: { type: 'invalid_request_error', message: 'tools.0.custom.name: String should match pattern' },
    request_id: 'req_011',
  },
  [
    {
      error: {
        code: 400,
        message: 'Invalid JSON payload received.',
        status: 'INVALID_ARGUMENT',
        details: [{ '@type': 'x', reason: 'y' }],
      },
    },
  ],
  { object: 'error', message: 'top_p must be in (0, 1]', type: 'BadRequestError', param: null, code: 400 },
  {
    detail: [
      { type: 'less_than', loc: ['body', 'temperature'], msg: 'Input should be less than 2', input: 3 },
    ],
  },
  { detail: 'Unprocessable' },
  openaiError('Provider returned error', {
    code: 400,
    metadata: { raw: '{"error":{"message":"bad tool"}}', provider_name: 'x' },
  }),
  openaiError(
    "litellm.BadRequestError: OpenAIException - Error code: 400 - {'error': {'message': 'bad'}}. Received Model Group=x",
    { param: null },
  ),
  { error: 'Invalid request content: temperature is too high', code: 'Client specified an invalid argument' },
  openaiError('{"error":{"message":"nested"}}'),
]

const recorded = z.object({ file: z.string(), status: z.number() })
function recordings(): unknown[] {
  const folder = process.env.RECORDINGS
  if (folder === undefined || readdirSync(folder).length === 0) return []
  const lines = readFileSync(join(folder, 'index.jsonl'), 'utf8').split('\n').filter(Boolean)
  return lines
    .map((line) => recorded.parse(JSON.parse(line)))
    .filter(({ status }) => status === 400)
    .map(({ file }): unknown => JSON.parse(readFileSync(join(folder, file), 'utf8')))
}

/** The body with each of its strings replaced by `plant`, one at a time. */
function* planted(value: unknown, plant: (text: string) => string): Generator<unknown> {
  if (typeof value === 'string') yield plant(value)
  else if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) for (const one of planted(item, plant)) yield value.with(i, one)
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value))
      for (const one of planted(item, plant)) yield { ...value, [key]: one }
  }
}

const PLANTS: ((text: string, canary: string) => string)[] = [
  (text, canary) => `${canary} ${text}`,
  (text, canary) => `${text} ${canary}`,
  (text, canary) => `${text} (${canary}).`,
  (text, canary) => text.replace(' ', ` "${canary}" `),
  (_text, canary) => canary,
]

describe('no secret in an upstream’s body reaches a client', () => {
  test.each(CANARIES)('%s', (canary) => {
    let shown = 0
    for (const body of [...BODIES, ...recordings()])
      for (const plant of PLANTS)
        for (const spoilt of planted(body, (text) => plant(text, canary)))
          for (const failure of [
            ...[400, 413, 422].map((status) =>
              readError(status, {}, Buffer.from(JSON.stringify(spoilt)), REQUEST),
            ),
            readFailure(spoilt, REQUEST, 'error_event'),
          ]) {
            const error = callerError(failure, target, 'mine')
            if (error === undefined) continue
            shown++
            expect(JSON.stringify([error.message, error.param, error.details])).not.toMatch(
              /canary|10\.99|2001:db8|f47ac10b/i,
            )
          }
    expect(shown).toBeGreaterThan(100)
  })
})

test('a failure that is not the caller’s fault has no message', () => {
  for (const status of [401, 403, 404, 429, 500]) {
    const failure = readError(status, {}, Buffer.from(JSON.stringify(openaiError('some text'))), REQUEST)
    expect(callerError(failure, target, 'mine')).toBeUndefined()
  }
})

test('JSON does not include the upstream’s message', () => {
  const failure = readError(400, {}, Buffer.from(JSON.stringify(openaiError('canary'))), REQUEST)
  expect(failure.words?.read()).toBe('canary')
  expect(JSON.stringify(failure)).not.toContain('canary')
})
