/** No spelling of an address reaches this machine: a server on all its addresses gets no connection. */
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SPELLINGS } from '../../../proxy/relay/address/spellings.cases.ts'
import type { RunningGateway } from '../../harness/gateway.ts'
import { startCanary } from './canary.ts'
import { envelope, relay, relayOfTest, startRelay } from './setup.ts'

const interfaces = Object.values(networkInterfaces()).flatMap((entries) => entries ?? [])
const v4 = interfaces.filter(({ family }) => family === 'IPv4').map(({ address }) => address)
const v6 = interfaces.filter(({ family }) => family === 'IPv6').map(({ address }) => address)

/** All spellings of an IPv4 address as the host of a URL. */
function spellings(address: string): string[] {
  const bytes = address.split('.').map(Number)
  const [a = 0, b = 0, c = 0, d = 0] = bytes
  const number = ((a * 256 + b) * 256 + c) * 256 + d
  const hex = (value: number) => value.toString(16)
  return [
    address,
    `${address}.`,
    `${number}`,
    `0x${hex(number)}`,
    `0${number.toString(8)}`,
    bytes.map((byte) => `0x${hex(byte)}`).join('.'),
    bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    address.replaceAll('.', '。'),
    address.replaceAll('.', '%2e'),
    address.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    `[::ffff:${address}]`,
    `[::ffff:${hex(a * 256 + b)}:${hex(c * 256 + d)}]`,
  ]
}

/** The same, and IPv6 addresses that embed it. */
function allSpellings(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
  const [high, low] = [a * 256 + b, c * 256 + d].map((group) => group.toString(16))
  return [
    ...spellings(address),
    `[::${address}]`,
    `[::ffff:0:${address}]`,
    `[64:ff9b::${address}]`,
    `[2002:${high}:${low}::1]`,
  ]
}

/** The corpus's URLs that must be refused, with this port unless they have one. */
const refusedUrls = (port: number) =>
  SPELLINGS.filter(([, verdict]) => /^[a-z]+_[a-z]+$/.test(verdict)).map(([url]) =>
    url.replace(/^(https?:\/\/(?:\[[^\]/]*\]|[^/:[\]]+))(?=\/)/i, `$1:${port}`),
  )

/** Calls the URLs and counts the answers by error code. */
async function codesOf(gateway: RunningGateway, urls: string[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const next = urls.values()
  const worker = async () => {
    for (const url of next) {
      const { status, code } = await relay(gateway, envelope(url))
      const name = status === 400 ? String(code) : `${status} for ${url}`
      counts[name] = (counts[name] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: 8 }, worker))
  return counts
}

describe('without an allow list', () => {
  let gateway: RunningGateway
  beforeAll(async () => {
    // An empty value counts as unset. No name server listens on port 1, so every lookup fails at once.
    gateway = await startRelay({ SLUICE_RELAY_ALLOW: '', SLUICE_RELAY_RESOLVERS: '127.0.0.1:1' })
  })
  afterAll(() => gateway.stop())

  test('refuses every address of this machine', async () => {
    const canary = await startCanary()
    const local = ['127.0.0.1', '127.0.0.53', '127.255.255.254', '0.0.0.0', '0.1.2.3', ...v4].flatMap(
      allSpellings,
    )
    const names = [
      'localhost',
      'LOCALHOST.',
      'x.localhost',
      'ip6-localhost',
      'localhost.localdomain',
      'localtest.local',
    ]
    const ipv6 = ['::1', '::', '0:0:0:0:0:0:0:1', '::127.0.0.1', 'fe80::1', ...v6].map(
      (address) => `[${address}]`,
    )
    const urls = [...local, ...names, ...ipv6].flatMap((host) => [
      `http://${host}:${canary.port}/`,
      `https://${host}:${canary.port}/`,
    ])
    const counts = await codesOf(gateway, [...urls, ...refusedUrls(canary.port)])
    expect(Object.keys(counts).sort()).toEqual(['address_refused', 'invalid_request'])
    expect(counts.address_refused).toBeGreaterThan(urls.length / 2)
    expect(canary.reached).toEqual([])
  })

  test('refuses other schemes, credentials and tricks with the host', async () => {
    const canary = await startCanary()
    const inside = `127.0.0.1:${canary.port}`
    const urls = [
      ...['ftp', 'ws', 'wss', 'gopher', 'file', 'unix', 'http+unix', 'h2c', 'tcp', 'blob:http', 'HTTP+x'].map(
        (scheme) => `${scheme}://${inside}/`,
      ),
      `http:${inside}/`,
      `http:/${inside}/`,
      `http:///${inside}/`,
      `http:\\\\${inside}\\`,
      `//${inside}/`,
      `http://example.com@${inside}/`,
      `http://example.com:80@${inside}/`,
      `http://@${inside}/`,
      `http://example.com%40${inside}/`,
      `http://${inside}\\@example.com/`,
      `http://${inside}#@example.com/`,
      `http://${inside}?@example.com/`,
      `http://example.com\r\nhost: ${inside}/`,
      `http://${inside}\r\n\r\nGET / HTTP/1.1/`,
      ` http://${inside}/`,
      `http://[::ffff:127.0.0.1%25lo]:${canary.port}/`,
      `http://[fe80::1%25lo]:${canary.port}/`,
    ]
    const counts = await codesOf(gateway, urls)
    expect(Object.keys(counts).sort()).toEqual(['address_refused', 'invalid_request'])
    expect(canary.reached).toEqual([])
  })

  test('refuses metadata services and private networks, all with the same message', async () => {
    const inner = [
      '169.254.169.254',
      '169.254.170.2',
      '100.100.100.200',
      '192.0.0.192',
      '168.63.129.16',
      '10.0.0.1',
    ]
    const urls = [
      ...inner.flatMap(allSpellings).map((host) => `http://${host}/latest/meta-data/`),
      ...['fd00:ec2::254', 'fd20:ce::254', 'fc00::1', 'fec0::1', 'ff02::1', '2001:db8::1'].map(
        (a) => `http://[${a}]/`,
      ),
      'http://metadata.google.internal/',
      'http://kubernetes.default.svc/',
      'http://redis:6379/',
    ]
    expect(Object.keys(await codesOf(gateway, urls))).toEqual(['address_refused'])
    const messages = [
      'http://10.0.0.1/',
      'http://redis/',
      'http://no-such-name.invalid/',
      'http://example.com:1/',
    ].map(async (url) => (await relay(gateway, envelope(url))).message)
    const texts = new Set(await Promise.all(messages))
    expect(texts.size).toBe(1)
    expect([...texts][0]).toContain('SLUICE_RELAY_ALLOW')
  })
})

test('reaches allowed addresses, which proves that the refused ones would have been reached', async () => {
  const gateway = await relayOfTest({ SLUICE_RELAY_ALLOW: `localhost,${v4.join(',')}` })
  const canary = await startCanary()
  const hosts = ['127.0.0.1', 'localhost', '0x7f000001', '2130706433', ...v4]
  for (const host of hosts)
    expect((await relay(gateway, envelope(`http://${host}:${canary.port}/`))).status).toBe(200)
  expect(canary.reached).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.1', '127.0.0.1', ...v4])
  // `localhost` allows single addresses, not a range.
  for (const host of ['127.0.0.2', '0.0.0.0', '[::]', 'x.localhost'])
    expect((await relay(gateway, envelope(`http://${host}:${canary.port}/`))).code).toBe('address_refused')
  expect(canary.reached).toHaveLength(hosts.length)
})

test('never calls the gateway itself, even if it is allowed', async () => {
  const gateway = await relayOfTest({
    SLUICE_HOST: '::',
    SLUICE_RELAY_ALLOW: 'localhost,127.0.0.0/8,0.0.0.0/0,::/0',
  })
  const canary = await startCanary()
  const hosts = [
    ...['127.0.0.1', '127.0.0.2', '0.0.0.0', '0.0.0.7', ...v4].flatMap(spellings),
    ...['::1', '::', ...v6].map((address) => `[${address}]`),
    'localhost',
  ]
  const ports = [gateway.base, gateway.admin].map((base) => new URL(base).port)
  const urls = ports.flatMap((port) => hosts.map((host) => `http://${host}:${port}/metrics`))
  expect(await codesOf(gateway, urls)).toEqual({ address_refused: urls.length })
  // The same addresses with another port are allowed.
  for (const host of ['127.0.0.2', 'localhost', ...v4])
    expect((await relay(gateway, envelope(`http://${host}:${canary.port}/`))).status).toBe(200)
})
