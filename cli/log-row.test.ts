import { describe, expect, it } from 'vitest'
import { entryOf, LOG_HEADS, reasonOf, rowOf } from './log-row.ts'

const LINE = {
  ...{
    time: '2026-11-21T04:27:10.123Z',
    kind: 'request',
    requestId: 'req_0123456789abcdef',
    endpoint: 'chat',
  },
  ...{ key: 'default/alice', model: 'm', route: 'r', status: 200, outcome: 'finished', ms: { total: 12.6 } },
  attempts: [{ channel: 'default/up', lane: 'byte', path: '/v1/chat/completions', class: 'ok', ms: 9 }],
}
const entry = (more: object = {}) => entryOf(JSON.stringify({ ...LINE, ...more }))
const cells = (more: object = {}) => {
  const row = rowOf(entry(more))
  return Object.fromEntries(LOG_HEADS.map((head, i) => [head, row[i]]))
}

describe('a row', () => {
  it('names the key, and the path of each attempt', () => {
    expect(cells()).toMatchObject({
      ...{ time: '11-21 04:27:10', id: 'req_0123456789ab', key: 'default/alice', status: 200, ms: 13 },
      ...{ tries: 1, reason: undefined, attempts: 'default/up /v1/chat/completions' },
    })
  })

  it('says why a request failed, in the upstream’s words, with full codes', () => {
    const body = JSON.stringify({ error: { message: 'The model\n `x` does not exist.' } })
    const failed = { channel: 'default/a', path: '/chat/completions', status: 404, class: 'unknown' }
    const attempts = [
      { channel: 'default/b', path: '/v1/chat/completions', class: 'transient', detail: 'connect', ms: 1 },
      { ...failed, detail: 'http_404', body, ms: 2 },
    ]
    expect(cells({ status: 502, code: 'upstream_error', outcome: undefined, attempts })).toMatchObject({
      code: 'upstream_error',
      reason: 'unknown, http_404, The model `x` does not exist.',
      attempts: 'default/b /v1/chat/completions transient connect; default/a /chat/completions 404 unknown',
    })
  })
})

describe('the reason', () => {
  it.each<[string, object, string | undefined]>([
    ['a good answer', {}, undefined],
    ['no route', { status: 502, outcome: 'no_route', attempts: [] }, 'no_route'],
    ['a bad field', { status: 400, outcome: undefined, param: 'input[0]', attempts: [] }, 'field input[0]'],
    ['a client that left', { status: 499, outcome: 'client_gone' }, 'client_gone'],
    [
      'a stream that broke after 200',
      { outcome: 'upstream_failed', attempts: [{ channel: 'c', class: 'transient', detail: 'cut_stream' }] },
      'upstream_failed, transient, cut_stream',
    ],
    [
      'an error that is no JSON',
      {
        status: 502,
        outcome: undefined,
        attempts: [{ channel: 'c', class: 'unknown', body: '<h1>\nNo\n</h1>' }],
      },
      'unknown, <h1> No </h1>',
    ],
  ])('of %s', (_, more, reason) => expect(reasonOf(entry(more))).toBe(reason))

  it('quotes a long body in part', () => {
    const attempts = [{ channel: 'c', class: 'unknown', body: 'x'.repeat(60_000) }]
    expect(reasonOf(entry({ status: 502, outcome: undefined, attempts }))?.length).toBeLessThan(250)
  })
})

it('refuses a line of another version', () => {
  expect(() => entryOf('{"kind":"request"}')).toThrow('cannot read')
})
