import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { textLine } from './log-text.ts'

const TIME = '2026-11-22T16:02:31.123Z'
const USAGE = {
  input: 9,
  cachedInput: 0,
  cacheWrite: 0,
  cacheWriteLong: 0,
  output: 22,
  reasoning: 0,
  images: 0,
}
const REQUEST = {
  ...{ time: TIME, level: 'info', kind: 'request', requestId: 'req_1', endpoint: 'chat', status: 200 },
  ...{ model: 'gpt-4o-mini', outcome: 'finished', usage: USAGE, ms: { total: 811.6 } },
  attempts: [
    { channel: 'default/backup', class: 'transient', detail: 'connect', ms: 1 },
    { channel: 'default/openai', class: 'ok', status: 200, ms: 800 },
  ],
}
const shown = (fields: object) => textLine(JSON.stringify(fields)).replace(/^\d\d:\d\d:\d\d /, '')

it('a request is one short sentence', () => {
  expect(textLine(JSON.stringify(REQUEST))).toMatch(/^\d\d:\d\d:\d\d info {2}POST /)
  expect(shown(REQUEST)).toBe('info  POST /v1/chat/completions 200 gpt-4o-mini via openai 812 ms 31 tokens')
})

it.each<[string, object, string]>([
  [
    'one that failed says why',
    {
      ...{ level: 'warn', status: 502, code: 'upstream_error', outcome: undefined, usage: undefined },
      attempts: [{ channel: 'default/a', class: 'unknown', detail: 'http_404', body: '{"error":"no"}' }],
    },
    'warn  POST /v1/chat/completions 502 upstream_error gpt-4o-mini via a 812 ms (unknown, http_404, no)',
  ],
  [
    'one without an upstream',
    { endpoint: 'models', model: undefined, attempts: [], usage: undefined },
    'info  GET /v1/models 200 812 ms',
  ],
])('%s', (_, more, text) => expect(shown({ ...REQUEST, ...more })).toBe(text))

it('a message is followed by its fields', () => {
  expect(shown({ time: TIME, level: 'warn', name: 'SLUICE_PROT', settings: {}, msg: 'no setting' })).toBe(
    'warn  no setting  name=SLUICE_PROT',
  )
  const err = { type: 'Error', message: 'no', stack: 'Error: no\n    at a.ts:1' }
  expect(shown({ time: TIME, level: 'error', err, list: ['a b'], msg: 'unexpected' })).toBe(
    'error unexpected  err=Error: no\\n    at a.ts:1  list=["a b"]',
  )
})

it('cuts long values', () => {
  expect(shown({ time: TIME, level: 'info', msg: 'm', long: 'x'.repeat(100_000) }).length).toBeLessThan(400)
})

test('any line becomes one line without control characters', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\n', '\r', '\u001b[2J', '\u202e', '\u2028', '\u0085', '\ud800'),
  )
  fc.assert(
    fc.property(text, text, text, (msg, value, model) => {
      const lines = [
        textLine(JSON.stringify({ time: TIME, level: 'info', msg, value, nested: { value } })),
        textLine(JSON.stringify({ ...REQUEST, model, status: 502, outcome: value })),
        textLine(value),
      ]
      for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
    }),
  )
})
