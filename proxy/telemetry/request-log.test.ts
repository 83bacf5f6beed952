import fc from 'fast-check'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import type { StateStore } from '../../store/contract.ts'
import { StoreUnavailable } from '../../store/contract.ts'
import { createEmbeddedStore } from '../../store/embedded/index.ts'
import { mask, RequestLog, type RequestRecord } from './request-log.ts'

const RECORD: RequestRecord = {
  requestId: 'req_1',
  endpoint: 'chat',
  status: 200,
  attempts: [],
  ms: { total: 12.5 },
}
const line = z.record(z.string(), z.unknown())

let state: StateStore
let lines: string[]
const dropped = vi.fn()
beforeEach(() => {
  state = createEmbeddedStore().state
  lines = []
})

function logOf(bodies: 'full' | 'redacted' = 'full', on = state) {
  return new RequestLog(on, (text) => void lines.push(text), bodies, dropped)
}

describe('a line', () => {
  test('is printed and stored, the same in both places', async () => {
    logOf().write(RECORD)
    logOf().write({ ...RECORD, requestId: 'req_2' })
    expect(await state.recentLog(10)).toEqual(lines.toReversed())
    expect(lines.map((text) => line.parse(JSON.parse(text)).requestId)).toEqual(['req_1', 'req_2'])
  })

  test('of a caller without a valid key is always printed, and stored as far as it leaves room for others', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    dropped.mockClear()
    const log = logOf()
    const known = { ...RECORD, key: '...1234' }
    log.write(known)
    for (let i = 0; i < 500; i++) for (const status of [401, 404]) log.write({ ...RECORD, status })
    const kept = async () =>
      (await state.recentLog(10_000)).map((text) => line.parse(JSON.parse(text)).status)
    const strangers = Array.from({ length: 20 }, (_, i) => [401, 404][i % 2])
    expect((await kept()).toReversed()).toEqual([200, ...strangers])
    expect([lines.length, dropped.mock.calls.length]).toEqual([1_001, 980])
    vi.advanceTimersByTime(1_000)
    for (const record of [{ ...RECORD, status: 401 }, known]) log.write(record)
    expect((await kept()).toReversed()).toEqual([200, ...strangers, 401, 200])
  })

  test('escapes every character that changes how a terminal shows it', () => {
    const model = 'a\u202eb\u0085c\u2028d\u{e0001}e\u007ff ü \u{1f600}'
    logOf().write({ ...RECORD, model })
    expect(lines[0]).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
    expect(lines[0]).toContain('ü \u{1f600}')
    expect(line.parse(JSON.parse(lines[0] ?? '')).model).toBe(model)
  })

  test.each(['\u007f', '\u0085', '\u200b', '\u2029', '\u{e0041}'])(
    'escapes it in a line that is ASCII otherwise: %j',
    (char) => {
      logOf().write({ ...RECORD, model: `a${char}b` })
      expect(lines[0]).toMatch(/^[ -~]*$/)
      expect(line.parse(JSON.parse(lines[0] ?? '')).model).toBe(`a${char}b`)
    },
  )

  test('has the fields of the record, a kind, a time, and money in dollars', () => {
    const record: RequestRecord = {
      ...RECORD,
      traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`,
      key: '...1234',
      account: 'team',
      model: 'gpt-4',
      route: 'gpt',
      status: 502,
      code: 'upstream_error',
      attempts: [{ channel: 'default/main', status: 500, class: 'transient', body: '{}', ms: 3 }],
      usage: {
        input: 1,
        cachedInput: 0,
        cacheWrite: 0,
        cacheWriteLong: 0,
        output: 2,
        reasoning: 0,
        images: 0,
      },
      hold: 1_500_000_000,
      settled: 1,
      reason: 'usage',
    }
    logOf().write(record)
    expect(line.parse(JSON.parse(lines[0] ?? ''))).toEqual({
      ...record,
      kind: 'request',
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      hold: '1.5',
      settled: '0.000000001',
    })
  })

  test('has a hold of 0', () => {
    logOf().write({ ...RECORD, hold: 0, settled: 0 })
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ hold: '0', settled: '0' })
  })

  test('is one line of JSON whatever the fields contain', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\n{"kind":"request"}\n', '\r\n', '\u0000\u001b[31m', '"}\\', '\ud800', '\u2028'),
    )
    fc.assert(
      fc.property(text, text, text, fc.double(), (model, detail, body, ms) => {
        lines.length = 0
        const attempts = [{ channel: model, class: 'unknown', detail, body, headers: { server: detail }, ms }]
        logOf().write({ ...RECORD, model, attempts })
        expect(lines).toHaveLength(1)
        const [written = ''] = lines
        // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may reach a terminal
        expect(written).not.toMatch(/[\u0000-\u001f]/)
        expect(JSON.parse(written)).toMatchObject({ kind: 'request', requestId: 'req_1', model })
      }),
    )
  })

  test('is printed even while the store is away', async () => {
    const appendLog = () => Promise.reject(new StoreUnavailable('away'))
    logOf('full', { ...state, appendLog }).write(RECORD)
    // An unhandled rejection would fail the run.
    await new Promise((resolve) => setImmediate(resolve))
    expect(lines).toHaveLength(1)
    expect(dropped).toHaveBeenCalledOnce()
  })
})

describe('an error answer', () => {
  const headers = {
    'content-type': 'application/json',
    'retry-after': '7',
    'x-request-id': ['a', 'b'],
    server: 'key-abcdef123456',
    'set-cookie': 'session=1',
    'openai-organization': 'org-1',
    authorization: 'Bearer upstream-secret',
  }
  const body = Buffer.from('{"error":"Incorrect API key provided: upstream-secret"}')

  test('keeps listed headers and the body, credentials masked', () => {
    expect(logOf().errorAnswer(headers, body, ['upstream-secret'])).toEqual({
      headers: {
        'content-type': 'application/json',
        'retry-after': '7',
        'x-request-id': 'a,b',
        server: '***',
      },
      body: '{"error":"Incorrect API key provided: ***"}',
    })
  })

  test('keeps only the size of a body in mode redacted', () => {
    const kept = logOf('redacted').errorAnswer({}, body, [])
    expect(kept).toEqual({ headers: {}, body: `(${body.length} bytes)` })
  })

  test('keeps 64 KiB and accepts any bytes', () => {
    expect(logOf().errorAnswer({}, Buffer.alloc(70_000, 'a'), []).body).toHaveLength(65_536)
    expect(logOf().errorAnswer({}, Buffer.from([0xff, 0xfe, 0x00]), []).body).toBe('\ufffd\ufffd\u0000')
    expect(logOf().errorAnswer({}, Buffer.alloc(0), []).body).toBe('')
  })
})

describe('mask', () => {
  // A pattern that backtracks at every byte takes seconds for each of these and hits the test's time-out.
  test.each(['eyJ-', 'eyJaaaaaaaa.', 'sk-', 'AIza', 'Bearer '])('takes no longer for many a %s', (piece) => {
    const hostile = piece.repeat(65_536 / piece.length)
    for (let i = 0; i < 20; i++) expect(mask(hostile, []).length).toBeLessThanOrEqual(hostile.length)
  })

  test.each([
    'sk-abcdefghijklmnop',
    'sk-proj-abc_DEF-123456',
    'sk-ant-api03-AbCdEf_123-xyz',
    'sk-sl1aaaaaaaaaabbbbbbbbbbbbbbbb',
    'sk-proj-********************abcd',
    'sk_live_4eC39HqLyjWDarjtT1zdp7dc',
    'pk_test_TYooMQauvdEDq54NiTphI7jx',
    'rk_live_abcdefgh',
    'gsk_abcdefgh12345678',
    'xai-abcdefgh12345678',
    'hf_AbCdEfGhIjKl',
    'ghp_0123456789abcdefghij',
    'key-3ax6xnjp29jd6fds4gc373sgvjxteol0',
    `AIza${'Sy-abc_123'.repeat(4)}`.slice(0, 39),
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4fw',
  ])('%s', (credential) => {
    const around = (text: string) => [
      `Incorrect API key provided: ${text}, see docs.`,
      `{"key":"${text}","code":401}`,
      `https://api.example.com/v1?key=${text}&alt=sse`,
      `(${text})`,
      text,
    ]
    expect(around(credential).map((text) => mask(text, []))).toEqual(around('***'))
  })

  test.each(['Bearer', 'bearer', 'BEARER', 'Basic'])('what follows %s', (scheme) => {
    expect(mask(`{"authorization":"${scheme} c2VjcmV0LXRva2Vu/+="}`, [])).toBe('{"authorization":"***"}')
  })

  test('masks the given secrets, wherever they occur and whatever they look like', () => {
    expect(mask('a.b*c$& xa.b*c$&y a.b*c$', ['a.b*c$&'])).toBe('*** x***y a.b*c$')
  })

  test.each([[['abcd', 'abcdefgh']], [['abcdefgh', 'abcd']]])(
    'a secret within another one, in either order',
    (secrets) => {
      expect(mask('abcdefgh abcd', secrets)).toBe('*** ***')
    },
  )

  test('leaves no part of a secret', () => {
    const secret = fc.string({ minLength: 4, maxLength: 20 }).filter((s) => !s.includes('*'))
    fc.assert(
      fc.property(fc.array(secret, { maxLength: 4 }), fc.string(), (secrets, between) => {
        const masked = mask(secrets.join(between), secrets)
        for (const one of secrets) expect(masked).not.toContain(one)
      }),
    )
  })

  test('does not mask an empty or very short secret', () => {
    expect(mask('a plain text', ['', 'a', 'abc'])).toBe('a plain text')
  })

  test.each([
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
    '{"error":{"type":"rate_limit_error","message":"Number of request tokens has exceeded your limit"}}',
    'risk-averse, disk-usage-percent, task_identifier, monkey-business1, mask-sensitive',
    'gpt-4o-mini-2024-07-18 claude-sonnet-4-5 text-embedding-3-large o3',
    'sk- and sk-abc are too short to be keys',
    'req_0123456789abcdef, chatcmpl-abcdefgh12345678, msg_01AbCdEfGh, 123e4567-e89b-12d3-a456-426614174000',
    '2026-11-21T10:00:00Z 192.0.2.7 https://example.com/a?b=c#d',
    'überall Grüße 你好 🙂 \n\t"quoted\\"',
  ])('leaves %j as it is', (text) => {
    expect(mask(text, ['upstream-secret'])).toBe(text)
  })
})
