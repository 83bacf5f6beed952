import { writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { KubeApi, line, readAll, refuse, send, THINGS } from '../../test/harness/kube-api.ts'
import { type ConnectOptions, connectKube } from './client.ts'
import { type KubeCall, KubeError } from './types.ts'

const log = { info: () => {}, warn: () => {}, error: () => {} }
let api: KubeApi
const clients: { close(): Promise<void> }[] = []

beforeEach(async () => {
  api = await KubeApi.start()
})
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  await api.close()
})

function connected(more: Partial<ConnectOptions> = {}) {
  const client = connectKube({ log, kubeconfig: api.kubeconfig, ...more })
  clients.push(client)
  return client
}

async function failure(call: KubeCall): Promise<KubeError> {
  const error: unknown = await connected()
    .request(call)
    .then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
  if (!(error instanceof KubeError)) throw new Error(`not a KubeError: ${error}`)
  return error
}

test('a request has credentials, and its answer is parsed', async () => {
  api.put('a', 'äöü€😀')
  const client = connected()
  expect(client.namespace).toBe('tests')
  const list = await client.request({ path: THINGS, query: { limit: '5' } })
  expect(list).toMatchObject({ items: [{ metadata: { name: 'a' }, value: 'äöü€😀' }] })
  const [request] = api.requests
  expect(request?.headers).toMatchObject({
    authorization: 'Bearer token-of-the-test',
  })
  expect(request?.query.get('limit')).toBe('5')
})

test('a body has its content type', async () => {
  api.acts.push((_request, response) => send(response, 201, { made: true }))
  const contentType = 'application/apply-patch+yaml'
  const body = { value: 1 }
  expect(await connected().request({ method: 'PATCH', path: THINGS, contentType, body })).toEqual({
    made: true,
  })
  expect(api.requests[0]).toMatchObject({ method: 'PATCH', body: '{"value":1}' })
  expect(api.requests[0]?.headers['content-type']).toBe(contentType)
})

test('a request for a service behind the server has further headers, beside the credentials', async () => {
  api.put('a', 'x')
  const headers = { 'x-sluice-admin-token': 'of the service', authorization: 'Bearer of the service' }
  await connected().request({ path: THINGS, headers })
  expect(api.requests[0]?.headers).toMatchObject({
    'x-sluice-admin-token': 'of the service',
    authorization: 'Bearer token-of-the-test',
  })
})

test('requests share few connections', async () => {
  const ports = new Set<number | undefined>()
  const client = connected()
  for (let i = 0; i < 20; i++) {
    api.acts.push((_request, response) => {
      ports.add(response.socket?.remotePort)
      send(response, 200, {})
    })
    await client.request({ path: THINGS })
  }
  // A connection may not be free again yet when the next call follows at once.
  expect(ports.size).toBeLessThanOrEqual(2)
})

test('after 429 and 503, the client waits as long as the server says', async () => {
  api.acts.push(refuse(429, { retryAfter: 0 }), refuse(503, { retryAfter: 0 }))
  const seen: [string, number][] = []
  const client = connected({ onRequest: (verb, code) => seen.push([verb, code]) })
  expect(await client.request({ path: THINGS })).toMatchObject({ kind: 'ThingList' })
  expect(seen.map(([, code]) => code)).toEqual([429, 503, 200])

  api.acts.push(refuse(429, { retryAfter: 1 }))
  const started = performance.now()
  await client.request({ path: THINGS, method: 'GET' })
  expect(performance.now() - started).toBeGreaterThan(990)
})

test('a retry beyond the time of the call, or one that might repeat work, fails at once', async () => {
  api.acts.push(refuse(429, { retryAfter: 60 }))
  expect(await failure({ path: THINGS })).toMatchObject({ status: 429, retryAfterMs: 60_000 })
  api.acts.push(refuse(503, { retryAfter: 0 }))
  expect(await failure({ path: THINGS, method: 'POST', body: {} })).toMatchObject({ status: 503 })
  api.acts.push(refuse(503))
  expect(await failure({ path: THINGS })).toMatchObject({ status: 503, retryAfterMs: undefined })
  expect(api.requests).toHaveLength(3)
})

test('errors contain the call, the status and the reason of the server, and no secret', async () => {
  const token = 'eyJhbGciOi.eyJzdWIiOiJ4.c2lnbmF0dXJl'
  const text = `no ${token} nor Bearer abcdef`
  api.acts.push((_request, response) =>
    send(response, 409, { kind: 'Status', reason: 'Conflict', message: text }),
  )
  const conflict = await failure({ method: 'PUT', path: THINGS, body: {} })
  expect(conflict).toMatchObject({ status: 409, reason: 'Conflict' })
  expect(conflict.message).toBe(`PUT ${THINGS}: 409 no *** nor Bearer ***`)

  const causes = [
    { field: 'spec.apiKey', reason: 'FieldValueInvalid', message: 'Invalid value: "sk-secret"' },
  ]
  const message = 'Thing "a" is invalid: spec.apiKey: Invalid value: "sk-secret"'
  api.acts.push((_request, response) =>
    send(response, 422, { reason: 'Invalid', message, details: { causes } }),
  )
  const invalid = await failure({ method: 'POST', path: THINGS, body: {} })
  expect(invalid.message).toBe(`POST ${THINGS}: 422 Invalid (spec.apiKey: FieldValueInvalid)`)

  api.acts.push((_request, response) => response.end('{"value":"sk-secret"'))
  const broken = await failure({ path: THINGS })
  expect(broken.message).toBe(`GET ${THINGS}: the answer is not JSON`)
  expect(broken.cause).toBeUndefined()
})

test('no answer, a broken one, an unreachable server, and a caller that aborts', async () => {
  api.acts.push(() => {})
  const late = await failure({ path: THINGS, timeoutMs: 50 })
  expect(late).toMatchObject({ status: 0, reason: 'Timeout' })
  api.acts.push((_request, response) => void response.writeHead(200).write('{'))
  expect(await failure({ path: THINGS, timeoutMs: 50 })).toMatchObject({ status: 0, reason: 'Timeout' })

  const caller = new AbortController()
  api.acts.push(() => caller.abort())
  expect(await failure({ path: THINGS, signal: caller.signal })).toMatchObject({
    status: 0,
    reason: 'Aborted',
  })
  expect(await failure({ path: THINGS, signal: caller.signal })).toMatchObject({ reason: 'Aborted' })

  api.acts.push((_request, response) => response.destroy())
  expect(await failure({ path: THINGS })).toMatchObject({ status: 0 })
  api.writeKubeconfig(1)
  expect((await failure({ path: THINGS })).message).toContain('ECONNREFUSED')
})

test('a stream yields objects as they arrive, and ends with its reader', async () => {
  const client = connected()
  const bytes = Buffer.from(line('ADDED', { value: '€' }))
  const stream = client.stream({ path: THINGS, query: { watch: 'true' } })[Symbol.asyncIterator]()
  const first = stream.next()
  while (api.watches === 0) await new Promise(setImmediate)
  const cut = bytes.indexOf(0xe2) + 1
  api.write(bytes.subarray(0, cut))
  api.write(bytes.subarray(cut))
  expect((await first).value).toEqual({ type: 'ADDED', object: { value: '€' } })
  await stream.return?.()
  while (api.watches > 0) await new Promise(setImmediate)
})

test('a stream that is refused, cut or not JSON rejects', async () => {
  const read = () => readAll(connected().stream({ path: THINGS, query: { watch: 'true' } }))
  api.acts.push(refuse(403))
  await expect(read()).rejects.toMatchObject({ status: 403 })
  api.acts.push((_request, response) => void response.write('{"half', () => response.destroy()))
  await expect(read()).rejects.toThrow(KubeError)
  api.acts.push((_request, response) => void response.end('{"half'))
  await expect(read()).rejects.toThrow('ended within a line')
  api.acts.push((_request, response) => void response.end('no json\n'))
  await expect(read()).rejects.toThrow('not JSON')
})

test('closing ends streams and refuses calls', async () => {
  const client = connected()
  const reading = readAll(client.stream({ path: THINGS, query: { watch: 'true' } }))
  while (api.watches === 0) await new Promise(setImmediate)
  const rejected = expect(reading).rejects.toThrow(KubeError)
  await client.close()
  await rejected
  await expect(client.request({ path: THINGS })).rejects.toThrow(KubeError)
})

test('a missing configuration is reported', () => {
  writeFileSync(api.kubeconfig, '{"apiVersion":"v1","kind":"Config"}')
  expect(() => connected()).toThrow('no Kubernetes configuration')
})
