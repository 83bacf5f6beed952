/** Stored responses: calls to the upstream that stores one, and ownership. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway } from '../../harness/gateway.ts'
import { call, expectError, jsonHeaders } from '../../harness/http.ts'
import { apiKey, channel, route } from '../../harness/resources.ts'
import { json, type ScriptedUpstream, startUpstream } from '../../harness/upstream.ts'
import { answerBody } from '../dialects/scripted-upstream.ts'

const KEY = 'sk-stored-0123456789'
const OTHER = 'sk-stored-9876543210'
const LONG = 'x'.repeat(1_024)
const BODY = JSON.stringify({ model: 'm', input: 'Hi' })

let upstream: ScriptedUpstream
let gateway: RunningGateway
/** A gateway whose limit is too small to store any conversation. */
let forgetful: RunningGateway

beforeAll(async () => {
  upstream = await startUpstream()
  const files = (spec: object) => ({
    'all.yaml': [
      apiKey('key', KEY),
      apiKey('other', OTHER),
      channel('native', upstream.baseURL, { type: 'responses', ...spec }),
      route('m', 'm', ['native']),
    ].join(''),
  })
  gateway = await startGateway(files({}))
  forgetful = await startGateway(files({ query: { 'api-version': '2030' } }), {
    SLUICE_MAX_EXCHANGE_BYTES: '1024',
  })
})
afterAll(async () => {
  await gateway?.stop()
  await forgetful?.stop()
  await upstream?.close()
})
beforeEach(() => {
  // All answers have the same id.
  upstream.answer(({ method, path }, res) => {
    if (method === 'POST')
      return json(res, 200, answerBody('responses', { text: `call ${upstream.calls.length} ${LONG}` }))
    if (path.includes('after=msg_gone'))
      return json(res, 400, { error: { message: 'a secret of the upstream' } })
    json(res, 200, { object: 'list', data: [] })
  })
  upstream.calls.length = 0
})

const ask = (at: RunningGateway, path: string, key = KEY, method = 'GET') =>
  call(`${at.base}/v1/responses${path}`, { method, headers: jsonHeaders(key) })
async function createResponse(at: RunningGateway, key = KEY): Promise<string> {
  const { status, text } = await call(`${at.base}/v1/responses`, { body: BODY, headers: jsonHeaders(key) })
  expect(status).toBe(200)
  return (JSON.parse(text) as { id: string }).id
}

describe('items that only the upstream stores', () => {
  const items = async (query: string) =>
    ask(forgetful, `/${await createResponse(forgetful)}/input_items${query}`)

  it('are requested with the client’s query', async () => {
    const answer = await items('?limit=5&order=asc&after=msg_1&include[]=reasoning.encrypted_content&x=1')
    expect(answer).toMatchObject({ status: 200, text: '{"object":"list","data":[]}' })
    expect(upstream.calls.at(-1)).toMatchObject({
      method: 'GET',
      path: '/v1/responses/resp_up/input_items?api-version=2030&limit=5&order=asc&after=msg_1&include%5B%5D=reasoning.encrypted_content',
    })
  })

  it('are requested without a query if the client sent none', async () => {
    expect(await items('')).toMatchObject({ status: 200 })
    expect(upstream.calls.at(-1)?.path).toBe('/v1/responses/resp_up/input_items?api-version=2030')
  })

  it.each([
    ['limit', '?limit=1000'],
    ['order', '?order=newest'],
    ['after', '?after=a/b'],
    ['include', '?include=%0a'],
  ])('a bad %s is 400, without an upstream call', async (param, query) => {
    expectError(await items(query), 400, 'invalid_request', param)
    expect(upstream.calls.map(({ method }) => method)).toEqual(['POST'])
  })

  it('an `after` that the upstream refuses is 400', async () => {
    const answer = await items('?after=msg_gone')
    expectError(answer, 400, 'invalid_request', 'after')
    expect(answer.text).not.toContain('secret')
  })
})

it('items that the gateway stores: a bad query is 400', async () => {
  const id = await createResponse(gateway)
  expect(await ask(gateway, `/${id}/input_items?limit=1`)).toMatchObject({
    status: 200,
    text: expect.stringContaining('"Hi"'),
  })
  expectError(await ask(gateway, `/${id}/input_items?after=msg_none`), 400, 'invalid_request', 'after')
  expectError(await ask(gateway, `/${id}/input_items?order=x`), 400, 'invalid_request', 'order')
  expect(upstream.calls).toHaveLength(1)
})

it('keeps owners apart when an upstream reuses a response id', async () => {
  const text = async (key: string) => {
    const answer = await ask(gateway, '/resp_up', key)
    return answer.status === 200 ? /call [0-9]+/.exec(answer.text)?.[0] : answer.status
  }
  expect([await createResponse(gateway, KEY), await createResponse(gateway, OTHER)]).toEqual([
    'resp_up',
    'resp_up',
  ])
  expect([await text(KEY), await text(OTHER)]).toEqual(['call 1', 'call 2'])
  expect(await ask(gateway, '/resp_up', OTHER, 'DELETE')).toMatchObject({ status: 200 })
  expect([await text(KEY), await text(OTHER)]).toEqual(['call 1', 404])
})

describe('paths that are not served', () => {
  it.each([
    ['POST', '/input_tokens'],
    ['POST', '/resp_up'],
    ['POST', '/resp_up/cancel'],
    ['GET', '/resp_up/more'],
    ['DELETE', '/resp_up/more'],
  ])('%s %s is 404', async (method, path) => {
    expectError(await ask(gateway, path, KEY, method), 404, 'not_found')
    const anthropic = await call(`${gateway.base}/api/v1/responses${path}`, {
      method,
      headers: jsonHeaders(KEY, { 'anthropic-version': '2023-06-01' }),
    })
    expectError(anthropic, 404, 'not_found')
  })

  it('a stored response allows no other method', async () => {
    const answer = await ask(gateway, '/resp_up', KEY, 'PUT')
    expectError(answer, 405, 'method_not_allowed')
    expect(answer.headers.allow).toBe('GET, HEAD, DELETE')
  })
})
