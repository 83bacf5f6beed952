/** A relay that requires an API key of the gateway in x-api-key. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { httpServer } from '../../../proxy/outbound/testing.ts'
import { type RunningGateway, until } from '../../harness/gateway.ts'
import { readAll } from '../../harness/http.ts'
import { apiKey } from '../../harness/resources.ts'
import { envelope, HEADERS, openRelay, rawUpstream, relay, startRelay } from './setup.ts'

const GOOD = 'gateway-key-that-is-good'
const OFF = 'gateway-key-that-is-off'
const ELSEWHERE = 'gateway-key-for-elsewhere'
const BRIEF = 'gateway-key-to-be-revoked'

let gateway: RunningGateway
beforeAll(async () => {
  gateway = await startRelay(
    { SLUICE_RELAY_REQUIRE_API_KEY: 'true' },
    {
      'keys.yaml':
        apiKey('good', GOOD, { allowedIPs: ['127.0.0.1'] }) +
        apiKey('off', OFF, { disabled: true }) +
        apiKey('elsewhere', ELSEWHERE, { allowedIPs: ['192.0.2.77'] }),
      'brief.yaml': apiKey('brief', BRIEF),
    },
  )
})
afterAll(() => gateway.stop())

test('serves a valid key, does not forward it and logs its name', async () => {
  const upstream = await rawUpstream()
  const headers = { ...HEADERS, 'x-api-key': GOOD }
  const answer = await relay(gateway, envelope(upstream.origin, '{"model":"m"}', 'claude'), { headers })
  expect(answer.status).toBe(200)
  const [request] = upstream.requests
  expect([request?.lines.join('\n'), request?.body.toString()].join('\n')).not.toContain(GOOD)
  const id = answer.headers['x-request-id']
  const line = await until(() => gateway.requests().find((each) => each.requestId === id), 'its line')
  expect(line).toMatchObject({ endpoint: 'relay', status: 200, client: '127.0.0.1' })
  expect(line).toMatchObject({ key: 'default/good' })
  expect(JSON.stringify(line)).not.toContain(GOOD)
})

test.each<[string, Record<string, string>, number, string]>([
  ['no key', {}, 401, 'unauthorized'],
  ['an unknown key', { 'x-api-key': 'unknown-key' }, 401, 'unauthorized'],
  ['a disabled key', { 'x-api-key': OFF }, 401, 'unauthorized'],
  ['a key for other addresses', { 'x-api-key': ELSEWHERE }, 403, 'ip_not_allowed'],
  ['a valid key as the upstream key', { authorization: `Bearer ${GOOD}` }, 401, 'unauthorized'],
  [
    'a valid key as both keys',
    { authorization: `Bearer ${GOOD}`, 'x-api-key': GOOD },
    400,
    'invalid_request',
  ],
  [
    'a valid key as part of the upstream key',
    { authorization: `Bearer x,key=${GOOD}`, 'x-api-key': GOOD },
    400,
    'invalid_request',
  ],
  ['a valid key with a no-break space', { 'x-api-key': `${GOOD}\u00a0` }, 401, 'unauthorized'],
  ['no upstream key', { authorization: '', 'x-api-key': GOOD }, 401, 'unauthorized'],
])('refuses %s', async (_name, headers, status, code) => {
  const upstream = await rawUpstream()
  const answer = await relay(gateway, envelope(upstream.origin), { headers: { ...HEADERS, ...headers } })
  expect([answer.status, answer.code]).toEqual([status, code])
  expect(upstream.accepted()).toBe(0)
})

test('cuts off the stream of a revoked key', async () => {
  const upstream = await httpServer((_req, res) => void res.write('data: 1\n\n'))
  const headers = { ...HEADERS, 'x-api-key': BRIEF }
  const res = await openRelay(gateway, envelope(upstream.origin), { headers })
  expect(res.statusCode).toBe(200)
  const cut = expect(readAll(res)).rejects.toMatchObject({ code: 'ECONNRESET' })
  gateway.remove('brief.yaml')
  await cut
  await until(() => upstream.sockets.size === 0, 'the upstream connection to be closed')
})
