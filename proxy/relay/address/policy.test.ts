import { networkInterfaces } from 'node:os'
import { describe, expect, test } from 'vitest'
import { isOwnAddress } from './own-addresses.ts'
import { FixedLookups, makePolicy, PUBLIC_ADDRESS, verdict } from './testing.ts'

const REFUSED = 'address_refused'

/** The result for `url` if every name resolves to `answer`. */
type Case = [url: string, verdict: string, answer?: string]

async function expectEach(rules: Parameters<typeof makePolicy>[0], cases: Case[]) {
  const found = await Promise.all(
    cases.map(async ([url, , answer = PUBLIC_ADDRESS]) => {
      const policy = makePolicy(rules, new FixedLookups(...answer.split(' ')))
      return [url, await verdict(policy, url), answer]
    }),
  )
  expect(found).toEqual(cases.map(([url, expected, answer = PUBLIC_ADDRESS]) => [url, expected, answer]))
}

describe('the lists', () => {
  test('localhost stands for its name and both loopback addresses', async () => {
    const both = '127.0.0.1 ::1'
    await expectEach({ allow: 'localhost' }, [
      ['http://localhost/', both],
      ['http://LOCALHOST.:8080/', both],
      ['http://127.0.0.1:9/', '127.0.0.1'],
      ['http://0x7f.1/', '127.0.0.1'],
      ['http://[::ffff:127.0.0.1]/', '127.0.0.1'],
      ['http://[::1]/', '::1'],
      ['http://127.0.0.2/', REFUSED],
      ['http://0.0.0.0/', REFUSED],
      ['http://[::]/', REFUSED],
      ['http://[::127.0.0.1]/', REFUSED],
      ['http://foo.localhost/', REFUSED],
      ['http://example.com/', REFUSED, '10.0.0.1'],
    ])
    const lookups = new FixedLookups(PUBLIC_ADDRESS)
    await verdict(makePolicy({ allow: 'localhost' }, lookups), 'http://localhost/')
    expect(lookups.calls).toEqual([])
  })

  test('an entry with a port applies to that port alone', async () => {
    await expectEach({ allow: 'localhost:3000,10.0.0.1:80,[fd00::1]:443,db.lan:5000' }, [
      ['http://localhost:3000/', '127.0.0.1 ::1'],
      ['http://127.0.0.1:3000/', '127.0.0.1'],
      ['http://localhost:3001/', REFUSED],
      ['http://127.0.0.1:3001/', REFUSED],
      ['http://10.0.0.1/', '10.0.0.1'],
      ['http://10.0.0.1:81/', REFUSED],
      ['https://10.0.0.1/', REFUSED],
      ['https://[fd00::1]/', 'fd00::1'],
      ['http://[fd00::1]/', REFUSED],
      ['http://db.lan:5000/', PUBLIC_ADDRESS],
      ['http://db.lan/', REFUSED],
    ])
  })

  test('a listed host may be private, and is never metadata, link-local or reserved', async () => {
    await expectEach({ allow: 'redis' }, [
      ['http://redis/', PUBLIC_ADDRESS],
      ['http://redis./', '10.0.0.1 fd00::1', '10.0.0.1 fd00::1'],
      ['http://redis/', '127.0.0.1', '127.0.0.1'],
      ['http://redis/', '100.64.0.1', '100.64.0.1'],
      ['http://redis/', '192.168.0.1', '::ffff:192.168.0.1'],
      ['http://redis/', '172.16.0.1 ::1', '172.16.0.1 ::1'],
      ...[
        '169.254.169.254',
        '169.254.0.1',
        '100.100.100.200',
        '192.0.0.192',
        '168.63.129.16',
        'fd00:ec2::254',
        'fd20:ce::254',
        'fe80::1',
        'fe80::1%eth0',
        '0.0.0.0',
        '::',
        '224.0.0.1',
        'ff02::1',
        '240.0.0.1',
        '64:ff9b::a00:1',
        '::ffff:169.254.169.254',
        '10.0.0.1 169.254.169.254',
      ].map((answer): Case => ['http://redis/', REFUSED, answer]),
      ['http://other/', REFUSED, '10.0.0.1'],
      ['http://x.redis/', PUBLIC_ADDRESS],
      ['http://x.redis/', REFUSED, '10.0.0.1'],
      ['http://10.0.0.1/', REFUSED],
    ])
  })

  test('the system resolves a listed host, the public DNS every other', async () => {
    const lookups = new FixedLookups(PUBLIC_ADDRESS)
    const policy = makePolicy({ allow: 'redis,api.example.com:8443' }, lookups)
    for (const url of ['http://redis/', 'https://api.example.com:8443/', 'https://api.example.com/'])
      await verdict(policy, url)
    expect(lookups.calls).toEqual(['system redis', 'system api.example.com', 'dns api.example.com'])
  })

  test('a range allows addresses, even metadata services, but no names', async () => {
    await expectEach({ allow: '10.0.0.0/8,169.254.169.254,fe80::/10' }, [
      ['http://10.1.2.3/', '10.1.2.3'],
      ['http://169.254.169.254/', '169.254.169.254'],
      ['http://169.254.169.253/', REFUSED],
      ['http://[fe80::1]/', 'fe80::1'],
      ['http://example.com/', '10.1.2.3', '10.1.2.3'],
      ['http://example.com/', `10.1.2.3 ${PUBLIC_ADDRESS}`, `10.1.2.3 ${PUBLIC_ADDRESS}`],
      ['http://example.com/', REFUSED, '10.1.2.3 192.168.0.1'],
      ['http://redis/', REFUSED, '10.1.2.3'],
      ['http://x.svc/', REFUSED, '10.1.2.3'],
    ])
  })

  test('a listed address is allowed for a listed host even if it is reserved', async () => {
    await expectEach({ allow: 'metadata.lan,169.254.169.254' }, [
      ['http://metadata.lan/', '169.254.169.254', '169.254.169.254'],
      ['http://metadata.lan/', REFUSED, '169.254.169.253'],
    ])
  })

  test('a range of one family does not affect the other', async () => {
    await expectEach({ allow: '::/0' }, [
      ['http://127.0.0.1/', REFUSED],
      ['http://[::ffff:127.0.0.1]/', REFUSED],
      ['http://[::1]/', '::1'],
    ])
    await expectEach({ deny: ['::/0'] }, [
      ['http://8.8.8.8/', '8.8.8.8'],
      ['http://[2606:4700::1]/', REFUSED],
    ])
  })
})

test('in allow list mode only listed destinations may be called', async () => {
  await expectEach({ mode: 'allowlist', allow: 'api.example.com,8.8.0.0/16,internal.lan:8080' }, [
    ['https://api.example.com/', PUBLIC_ADDRESS],
    ['https://api.example.com/', '10.0.0.1', '10.0.0.1'],
    ['https://www.example.com/', REFUSED],
    ['https://www.example.com/', '8.8.8.8', '8.8.8.8'],
    ['https://www.example.com/', REFUSED, `8.8.8.8 ${PUBLIC_ADDRESS}`],
    ['https://8.8.8.8/', '8.8.8.8'],
    ['https://9.9.9.9/', REFUSED],
    ['http://internal.lan:8080/', PUBLIC_ADDRESS],
    ['http://internal.lan/', REFUSED],
  ])
  await expectEach({ mode: 'allowlist' }, [['https://example.com/', REFUSED]])
})

test('a denied destination is never called', async () => {
  const deny = ['8.8.8.0/24', '10.0.0.1', '::1', '2606:4700::/32']
  await expectEach({ deny, allow: '8.8.8.8,10.0.0.0/8,localhost,redis' }, [
    ['http://8.8.8.8/', REFUSED],
    ['http://[::ffff:8.8.8.8]/', REFUSED],
    ['http://8.8.9.1/', '8.8.9.1'],
    ['http://10.0.0.1/', REFUSED],
    ['http://10.0.0.2/', '10.0.0.2'],
    ['http://redis/', REFUSED, '10.0.0.1'],
    ['http://localhost/', REFUSED],
    ['http://127.0.0.1/', '127.0.0.1'],
    ['http://example.com/', REFUSED, `${PUBLIC_ADDRESS} 2606:4700::1`],
  ])
})

test('the port list applies to unlisted destinations', async () => {
  await expectEach({ ports: new Set([443, 8443]), allow: '10.0.0.1,10.0.0.2:81,redis' }, [
    ['https://example.com/', PUBLIC_ADDRESS],
    ['http://example.com:443/', PUBLIC_ADDRESS],
    ['https://example.com:8443/', PUBLIC_ADDRESS],
    ['http://example.com/', REFUSED],
    ['http://8.8.8.8/', REFUSED],
    ['http://10.0.0.1:25/', '10.0.0.1'],
    ['http://10.0.0.2:81/', '10.0.0.2'],
    ['http://redis:6379/', PUBLIC_ADDRESS],
  ])
})

describe('the gateway’s own ports', () => {
  const rules = { ownPorts: () => new Set([8080]), allow: '0.0.0.0/0,::/0,localhost,redis' }

  test('are never called, whatever is allowed', async () => {
    await expectEach(rules, [
      ['http://localhost:8080/', REFUSED],
      ['http://localhost:8081/', '127.0.0.1 ::1'],
      ['http://127.0.0.1:8080/', REFUSED],
      ['http://127.99.0.1:8080/', REFUSED],
      ['http://[::ffff:127.0.0.1]:8080/', REFUSED],
      ['http://[::1]:8080/', REFUSED],
      ['http://0.0.0.0:8080/', REFUSED],
      ['http://[::]:8080/', REFUSED],
      ['http://redis:8080/', REFUSED, `${PUBLIC_ADDRESS} 127.0.0.1`],
      ['http://redis:8080/', PUBLIC_ADDRESS],
      ['http://8.8.8.8:8080/', '8.8.8.8'],
    ])
  })

  test('are not called at the addresses of this machine’s interfaces either', async () => {
    const all = Object.values(networkInterfaces()).flatMap((entries) => entries ?? [])
    const policy = makePolicy(rules)
    expect(all.length).toBeGreaterThan(0)
    for (const { address, family } of all) {
      const host = family === 'IPv4' ? address : `[${address}]`
      expect(isOwnAddress(address)).toBe(true)
      expect(await verdict(policy, `http://${host}:8080/`)).toBe(REFUSED)
      expect(await verdict(policy, `http://${host}:8081/`)).not.toBe(REFUSED)
    }
    expect(isOwnAddress('8.8.8.8')).toBe(false)
  })

  test('are read at each call', async () => {
    const own = new Set<number>()
    const policy = makePolicy({ allow: 'localhost', ownPorts: () => own })
    expect(await verdict(policy, 'http://127.0.0.1:9000/')).toBe('127.0.0.1')
    own.add(9000)
    expect(await verdict(policy, 'http://127.0.0.1:9000/')).toBe(REFUSED)
  })
})

describe('a target', () => {
  const signal = new AbortController().signal

  test.each([
    ['https://Example.COM./v1?a=1#f', 'https://example.com/v1?a=1', 'example.com', 443],
    ['http://example.com:8080', 'http://example.com:8080/', 'example.com', 8080],
    ['http://example.com:443/', 'http://example.com:443/', 'example.com', 443],
    ['http://0x08080808/', 'http://8.8.8.8/', '8.8.8.8', 80],
    ['https://[2606:4700:0::1]/', 'https://[2606:4700::1]/', '2606:4700::1', 443],
    ['https://[::ffff:8.8.8.8]/', 'https://[::ffff:808:808]/', '8.8.8.8', 443],
  ])('for %s is parsed once', async (text, href, hostname, port) => {
    const target = await makePolicy().target(text, signal)
    expect([target.url.href, target.hostname, target.port]).toEqual([href, hostname, port])
  })

  test('has at most 16 addresses, after a check of all answers', async () => {
    const many = Array.from({ length: 40 }, (_, i) => `8.8.8.${i}`)
    const found = await makePolicy({}, new FixedLookups(...many)).target('http://example.com/', signal)
    expect(found.addresses).toEqual(many.slice(0, 16))
    const spoilt = makePolicy({}, new FixedLookups(...many, '10.0.0.1'))
    expect(await verdict(spoilt, 'http://example.com/')).toBe(REFUSED)
  })

  test('allows the remote address of its socket, and no other', () => {
    const policy = makePolicy()
    const target = { addresses: ['8.8.8.8', '2606:4700::1'] }
    for (const good of ['8.8.8.8', '::ffff:8.8.8.8', '2606:4700::1', '2606:4700:0:0:0:0:0:1'])
      expect(policy.isAllowed(good, target)).toBe(true)
    for (const bad of ['8.8.8.9', '127.0.0.1', '::8.8.8.8', '2606:4700::1%eth0', '', 'localhost'])
      expect(policy.isAllowed(bad, target)).toBe(false)
  })
})

test('all refusals have the same message', async () => {
  const failing = { system: () => Promise.reject(new Error('x')), dns: () => Promise.reject(new Error('x')) }
  const cases = [
    makePolicy().target('http://10.0.0.1/', new AbortController().signal),
    makePolicy().target('http://redis/', new AbortController().signal),
    makePolicy({}, new FixedLookups('10.0.0.1')).target('http://example.com/', new AbortController().signal),
    makePolicy({}, new FixedLookups()).target('http://example.com/', new AbortController().signal),
    makePolicy({}, failing).target('http://example.com/', new AbortController().signal),
    makePolicy({ allow: 'redis' }, failing).target('http://redis/', new AbortController().signal),
  ]
  const messages = await Promise.all(
    cases.map((call) =>
      call.then(
        () => 'called',
        (error: Error) => `${error.message} ${JSON.stringify(error)} ${String(error.cause)}`,
      ),
    ),
  )
  expect(new Set(messages).size).toBe(1)
  expect(messages[0]).toContain('SLUICE_RELAY_ALLOW')
  expect(messages[0]).toContain('does not resolve')
  expect(messages[0]).not.toContain('10.0.0.1')
})
