/** The relay uses its own HTTP proxy, and no other in the environment. */
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../harness/gateway.ts'
import { startProxy } from '../../harness/http-proxy.ts'
import { startNameServer } from '../../harness/name-server.ts'
import { envelope, rawUpstream, relay, relayOfTest } from './setup.ts'

async function proxyOfTest() {
  const proxy = await startProxy()
  onTestFinished(() => proxy.close())
  return proxy
}

test('ignores the proxies of other programs and of channels', async () => {
  const proxy = await proxyOfTest()
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy', 'ALL_PROXY', 'all_proxy']
  const gateway = await relayOfTest({
    ...Object.fromEntries(names.map((name) => [name, proxy.url])),
    SLUICE_HTTP_PROXY: proxy.url,
    SLUICE_HTTPS_PROXY: proxy.url,
    // Makes Node itself use them.
    NODE_USE_ENV_PROXY: '1',
  })
  const upstream = await rawUpstream()
  expect((await relay(gateway, envelope(upstream.origin))).status).toBe(200)
  expect([upstream.requests.length, proxy.requests]).toEqual([1, []])
})

test('sends checked addresses to its own proxy, not names', async () => {
  const proxy = await proxyOfTest()
  const dns = await startNameServer()
  onTestFinished(() => dns.close())
  dns.set('api.example.com', (_type, time) => [{ value: time === 0 ? '127.0.2.1' : '127.0.0.1', ttl: 0 }])
  const url = proxy.url.replace('//', '//user:pass%20word@')
  const gateway = await relayOfTest({
    SLUICE_RELAY_PROXY: url,
    SLUICE_RELAY_RESOLVERS: dns.address,
    SLUICE_RELAY_ALLOW: '127.0.2.0/24',
    NODE_USE_ENV_PROXY: '1',
    HTTP_PROXY: 'http://127.0.0.1:1',
  })
  const upstream = await rawUpstream()
  const { port } = new URL(upstream.origin)
  const answer = await relay(gateway, envelope(`http://api.example.com:${port}/v1`))
  expect(answer.status).toBe(200)
  expect(proxy.requests).toEqual([`CONNECT 127.0.2.1:${port}`])
  const credentials = `Basic ${Buffer.from('user:pass word').toString('base64')}`
  expect(proxy.headers).toMatchObject([{ host: `127.0.2.1:${port}`, 'proxy-authorization': credentials }])
  const [request] = upstream.requests
  expect(request?.lines[0]).toBe('POST /v1 HTTP/1.1')
  expect(request?.lines.join('\n').toLowerCase()).toContain(`host: api.example.com:${port}`)
  expect(request?.lines.join('\n')).not.toContain('pass word')

  // Refused addresses never reach the proxy, nor does a name that now resolves to an internal one.
  for (const name of ['api.example.com', '127.0.0.1', 'localhost', 'unknown.example.com'])
    expect((await relay(gateway, envelope(`http://${name}:${port}/`))).code).toBe('address_refused')
  expect(proxy.requests).toHaveLength(1)
  expect(gateway.output()).not.toContain('pass%20word')

  proxy.refuseWith(407)
  const refused = await relay(gateway, envelope(`http://127.0.2.1:${port}/`))
  expect(refused).toMatchObject({ status: 502, code: 'upstream_error' })
  expect(refused.bytes.toString()).not.toContain('proxy')
  await until(() => proxy.tunnels.size === 0, 'the tunnels to be closed')
})
