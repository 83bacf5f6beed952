/** TLS to upstreams: the certificate must be that of the name in the URL, although an address is what is connected to. */
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
    // It would let everybody in.
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
  })
})
afterAll(async () => {
  await gateway.stop()
  await names.close()
  for (const each of [authority, stranger, trust]) each.remove()
})

/** An upstream with this certificate, its port, and what reached it. */
async function upstreamWith(tls: Pair) {
  const asked: { host: string | undefined; servername: string | false | null | undefined }[] = []
  const server = createServer(tls, (req, res) => {
    asked.push({
      host: req.headers.host,
      servername: 'servername' in req.socket ? (req.socket.servername as string) : '',
    })
    res.end('secret no more')
  })
  const { origin } = await listen(server, 'https')
  return { port: Number(new URL(origin).port), asked }
}

test('the right certificate: the call is made, under the name', async () => {
  const { port, asked } = await upstreamWith(authority.issue(NAME))
  const answer = await relay(gateway, envelope(`https://${NAME}:${port}/v1`))
  expect(answer).toMatchObject({ status: 200, bytes: Buffer.from('secret no more') })
  expect(asked).toEqual([{ host: `${NAME}:${port}`, servername: NAME }])
})

test('an address in the URL must be in the certificate', async () => {
  const right = await upstreamWith(authority.issue('127.0.0.1'))
  expect((await relay(gateway, envelope(`https://127.0.0.1:${right.port}/`))).status).toBe(200)
  const wrong = await upstreamWith(authority.issue(NAME))
  expect((await relay(gateway, envelope(`https://127.0.0.1:${wrong.port}/`))).code).toBe('upstream_error')
  expect(wrong.asked).toEqual([])
})

test.each<[string, () => Pair]>([
  ['of another name', () => authority.issue('other.example.com')],
  ['of the address only', () => authority.issue('127.0.0.1')],
  ['of a name above', () => authority.issue('*.com', 'example.com')],
  ['of an authority that nobody knows', () => stranger.issue(NAME)],
  ['that is out of date', () => expired],
])('a certificate %s: 502, and nothing is sent', async (_name, issue) => {
  const { port, asked } = await upstreamWith(issue())
  const answer = await relay(gateway, envelope(`https://${NAME}:${port}/`))
  expect(answer).toMatchObject({ status: 502, code: 'upstream_error' })
  expect(answer.message).not.toMatch(/certificate|127\.0\.0\.1|example/i)
  expect(asked).toEqual([])
})
