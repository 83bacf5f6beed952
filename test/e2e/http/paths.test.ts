/** Unknown paths and wrong methods get a clear answer, and the process keeps running. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { call, chatBody, expectError, jsonHeaders } from '../../harness/http.ts'
import { exchange, requestBytes } from '../../harness/socket.ts'
import { AUTH, KEY, PATH, startWorld, type World } from './world.ts'

const CANARY = 'canary-in-a-request'
const BODY = chatBody('m', { user: CANARY })

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world?.stop())
afterEach(async () => {
  await world.servesOthers()
  expect(world.gateway.output()).not.toContain(CANARY)
})

describe('paths and methods', () => {
  it.each([
    '/',
    '/v1',
    '/api',
    '/v1/chat',
    '/v1/chat/completions/more',
    '/V1/chat/completions',
    `//v1/chat/completions`,
    '/v1//chat/completions',
    '/api/api/v1/chat/completions',
    '/apiv1/chat/completions',
    '/v1/chat/../chat/completions',
    '/v1/chat%2Fcompletions',
    '/v1/chat/completions%00',
    '/.env',
    `/${CANARY}?key=${CANARY}`,
    `/${'x'.repeat(10_000)}`,
  ])('%s is 404', async (path) => {
    const answer = await exchange(world.gateway.base, requestBytes(`POST ${path} HTTP/1.1`, [AUTH], BODY))
    expectError(answer, 404, 'not_found')
  })

  it.each(['/v1/models/%zz', '/api/v1/models/%zz', '/v1/models/%ff', '/v1/models/x%'])(
    '%s is 400 because it cannot be decoded',
    async (path) => {
      expectError(
        await exchange(world.gateway.base, requestBytes(`GET ${path} HTTP/1.1`, [AUTH])),
        400,
        'invalid_request',
      )
    },
  )

  it.each([
    ['GET', PATH, 'POST'],
    ['PUT', `/api${PATH}`, 'POST'],
    ['DELETE', PATH, 'POST'],
    ['OPTIONS', PATH, 'POST'],
    ['PROPFIND', PATH, 'POST'],
    ['POST', '/v1/models', 'GET, HEAD'],
    ['DELETE', '/v1/models/m', 'GET, HEAD'],
    ['PATCH', '/api/v1/models/m', 'GET, HEAD'],
  ])('%s %s is 405 and allows %s', async (method, path, allowed) => {
    const answer = await exchange(
      world.gateway.base,
      requestBytes(`${method} ${path} HTTP/1.1`, [AUTH], BODY),
    )
    expectError(answer, 405, 'method_not_allowed')
    expect(answer.headers.allow).toBe(allowed)
  })

  it('answers HEAD like GET, without the body', async () => {
    const [head, get] = await Promise.all(
      ['HEAD', 'GET'].map((method) =>
        call(`${world.gateway.base}/v1/models`, { method, headers: jsonHeaders(KEY) }),
      ),
    )
    expect(head?.status).toBe(200)
    expect(head?.text).toBe('')
    expect(head?.headers['content-length']).toBe(String(Buffer.byteLength(get?.text ?? '')))
    const refusal = await call(world.gateway.base + PATH, { method: 'HEAD' })
    expect(refusal.status).toBe(405)
    expect(refusal.text).toBe('')
  })

  it('accepts a query and a trailing slash', async () => {
    for (const path of [`${PATH}?beta=true&x=%zz`, `${PATH}/`, `/api${PATH}?`]) {
      const answer = await call(world.gateway.base + path, { body: chatBody('m'), headers: jsonHeaders(KEY) })
      expect(answer.status).toBe(200)
    }
  })
})
