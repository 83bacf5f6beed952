/** Authentication: API keys in both headers, and client addresses behind a trusted proxy. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearer, chat, errorIn, expectSameRefusal, type Headers } from '../harness/chat-client.ts'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { call, chatBody, jsonHeaders } from '../harness/http.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-authentication-key-0123456789'
const OTHER = 'sk-authentication-other-0123456789'
const DISABLED = 'sk-authentication-disabled-0123456789'
const EXPIRED = 'sk-authentication-expired-0123456789'
const FENCED = 'sk-authentication-fenced-0123456789'

let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await startUpstream()
  gateway = await startGateway(
    {
      'all.yaml':
        channel('good', upstream.baseURL) +
        route('good', 'good', ['good']) +
        apiKey('key', KEY) +
        apiKey('other', OTHER) +
        apiKey('disabled', DISABLED, { disabled: true }) +
        apiKey('expired', EXPIRED, { expiresAt: '2020-01-01T00:00:00Z' }) +
        apiKey('fenced', FENCED, { allowedIPs: ['192.0.2.0/24', '2001:db8::/32'] }),
    },
    { SLUICE_TRUSTED_PROXIES: '127.0.0.1' },
  )
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

describe('unauthorized', () => {
  const cases: Record<string, Headers> = {
    'no key': [],
    'an unknown key': [['authorization', 'Bearer sk-unknown-key']],
    'an unknown x-api-key': [['x-api-key', 'sk-unknown-key']],
    'a disabled key': [['authorization', `Bearer ${DISABLED}`]],
    'an expired key': [['authorization', `Bearer ${EXPIRED}`]],
    'another scheme': [['authorization', `Basic ${KEY}`]],
    'no scheme': [['authorization', KEY]],
    'an empty Bearer': [['authorization', 'Bearer ']],
    'two words': [['authorization', `Bearer ${KEY} ${KEY}`]],
    'an empty x-api-key': [['x-api-key', '']],
    'a key and an empty one': [
      ['authorization', `Bearer ${KEY}`],
      ['x-api-key', ''],
    ],
    'a malformed header and a valid key': [
      ['authorization', 'Basic abc'],
      ['x-api-key', KEY],
    ],
    'two different valid keys': [
      ['authorization', `Bearer ${KEY}`],
      ['x-api-key', OTHER],
    ],
    'one header twice with different keys': [
      ['authorization', `Bearer ${KEY}`],
      ['authorization', `Bearer ${OTHER}`],
    ],
    'a key of 8,000 characters': [['x-api-key', 'k'.repeat(8_000)]],
  }
  const texts = new Set<string>()

  it.each(Object.entries(cases))('%s', async (_, headers) => {
    const answer = await expectSameRefusal(gateway.base, headers, 'good')
    expect(answer.status).toBe(401)
    expect(answer.headers['x-should-retry']).toBe('false')
    expect(errorIn(answer.text)).toMatchObject({
      code: 'unauthorized',
      type: 'invalid_request_error',
      param: null,
    })
    texts.add(answer.text)
  })

  it('gives all of them the same answer', () => {
    expect(texts.size).toBe(1)
  })

  it('accepts no key from the query', async () => {
    const path = `/v1/chat/completions?key=${KEY}&api_key=${KEY}`
    expect((await chat(gateway.base, [], chatBody('good'), { path })).status).toBe(401)
  })

  it.each<[string, Headers]>([
    ['in Authorization', [['authorization', `Bearer ${KEY}`]]],
    ['with a lower-case scheme', [['authorization', `bearer ${KEY}`]]],
    ['in x-api-key', [['x-api-key', KEY]]],
    [
      'in both headers',
      [
        ['authorization', `Bearer ${KEY}`],
        ['x-api-key', KEY],
      ],
    ],
  ])('accepts a key %s', async (_, headers) => {
    const answer = await chat(gateway.base, headers, chatBody('good'))
    expect(answer.status).toBe(200)
  })

  it('serves valid keys during a flood of invalid ones', async () => {
    const bad = Array.from({ length: 300 }, (_, i) =>
      call(`${gateway.base}/v1/models`, { headers: jsonHeaders(`sk-flood-${i}`) }),
    )
    const good = Array.from({ length: 20 }, () =>
      call(`${gateway.base}/v1/models`, { headers: jsonHeaders(KEY) }),
    )
    expect((await Promise.all(good)).map(({ status }) => status)).toEqual(good.map(() => 200))
    for (const answer of await Promise.all(bad)) expect([401, ...texts]).toEqual([answer.status, answer.text])
  })
})

describe('addresses behind a trusted proxy (127.0.0.1)', () => {
  it.each<[string, number, string[], string?]>([
    ['trusts the proxy', 200, ['192.0.2.7']],
    ['trusts the proxy for an IPv6 address with a port', 200, ['[2001:db8::7]:4711']],
    ['uses the last entry, not those of the client before it', 403, ['192.0.2.7, 198.51.100.9']],
    ['joins repeated headers in order', 403, ['192.0.2.7', '198.51.100.9']],
    ['skips other trusted proxies', 200, ['192.0.2.7, 127.0.0.1']],
    ['refuses an invalid address', 403, ['192.0.2.7, junk']],
    ['refuses if all entries are proxies', 403, ['127.0.0.1']],
    ['uses the connection’s address without the header', 403, []],
    ['does not trust other clients', 403, ['192.0.2.7'], '127.0.0.2'],
  ])('%s', async (_, status, forwarded, localAddress) => {
    const headers = [...bearer(FENCED), ...forwarded.map((v): [string, string] => ['x-forwarded-for', v])]
    const answer = await chat(gateway.base, headers, chatBody('good'), { localAddress })
    expect(answer.status).toBe(status)
    if (status === 403) expect(errorIn(answer.text).code).toBe('ip_not_allowed')
  })
})
