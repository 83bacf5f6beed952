/** TLS to upstreams: the certificate must match the name in the URL, although the relay connects to an address. */
import { createServer } from 'node:https'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listen } from '../../../proxy/outbound/testing.ts'
import type { RunningGateway } from '../../harness/gateway.ts'
import { type NameServer, startNameServer } from '../../harness/name-server.ts'
import { type Authority, createAuthority, type Pair } from '../../harness/pki.ts'
import { expiredPair, type TrustFile, trustFile } from './certificates.ts'
import { envelope, relay, startRelay } from './setup.ts'

const NAME = 'api.example.com'

let authority: Authority
let stranger: Authority
let trust: TrustFile
let names: NameServer
let expired: Pair
let gateway: RunningGateway
beforeAll(async () => {
  authority = createAuthority()
  stranger = createAuthority()
  expired = expiredPair(NAME)
  trust = trustFile(authority.ca, expired.cert)
  names = await startNameServer()
  names.set(NAME, ['127.0.0.1'])
  gateway = await startRelay({
    NODE_EXTRA_CA_CERTS: trust.path,
    SLUICE_RELAY_RESOLVERS: names.address,
    // Would turn off certificate checks.
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
  })
})
afterAll(async () => {
  await gateway.stop()
  await names.close()
  for (const each of [authority, stranger, trust]) each.remove()
})

/** Starts an upstream with this certificate; returns its port and the requests that reach it. */
async function upstreamWith(tls: Pair) {
  const requests: { host: string | undefined; servername: string | false | null | undefined }[] = []
  const server = createServer(tls, (req, res) => {
    requests.push({
      host: req.headers.host,
      servername: 'servername' in req.socket ? (req.socket.servername as string) : '',
    })
    res.end('secret no more')
  })
  const { origin } = await listen(server, 'https')
  return { port: Number(new URL(origin).port), requests }
}

test('makes the call under the name if the certificate matches', async () => {
  const { port, requests } = await upstreamWith(authority.issue(NAME))
  const answer = await relay(gateway, envelope(`https://${NAME}:${port}/v1`))
  expect(answer).toMatchObject({ status: 200, bytes: Buffer.from('secret no more') })
  expect(requests).toEqual([{ host: `${NAME}:${port}`, servername: NAME }])
})

test('requires the address in the certificate if the URL has an address', async () => {
  const right = await upstreamWith(authority.issue('127.0.0.1'))
  expect((await relay(gateway, envelope(`https://127.0.0.1:${right.port}/`))).status).toBe(200)
  const wrong = await upstreamWith(authority.issue(NAME))
  expect((await relay(gateway, envelope(`https://127.0.0.1:${wrong.port}/`))).code).toBe('upstream_error')
  expect(wrong.requests).toEqual([])
})

test.each<[string, () => Pair]>([
  ['for another name', () => authority.issue('other.example.com')],
  ['for the address only', () => authority.issue('127.0.0.1')],
  ['for a parent domain', () => authority.issue('*.com', 'example.com')],
  ['of an unknown authority', () => stranger.issue(NAME)],
  ['that has expired', () => expired],
])('answers 502 and sends nothing with a certificate %s', async (_name, issue) => {
  const { port, requests } = await upstreamWith(issue())
  const answer = await relay(gateway, envelope(`https://${NAME}:${port}/`))
  expect(answer).toMatchObject({ status: 502, code: 'upstream_error' })
  expect(answer.message).not.toMatch(/certificate|127\.0\.0\.1|example/i)
  expect(requests).toEqual([])
})
