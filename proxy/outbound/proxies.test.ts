import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { proxyChooser } from './proxies.ts'

const PROXIES = { http: 'http://plain.test:3128', https: 'http://secure.test:3129' }

/** True if the URL is called through a proxy. */
const proxied = (url: string, direct: string[]) => proxyChooser(PROXIES, direct)(new URL(url)) !== undefined

describe('which proxy', () => {
  test('depends on the scheme of the upstream', () => {
    const choose = proxyChooser(PROXIES, [])
    expect(choose(new URL('http://a.example'))?.origin.host).toBe('plain.test:3128')
    expect(choose(new URL('https://a.example'))?.origin.host).toBe('secure.test:3129')
    expect(proxyChooser({ https: PROXIES.https }, [])(new URL('http://a.example'))).toBeUndefined()
    expect(proxyChooser({}, [])(new URL('https://a.example'))).toBeUndefined()
  })

  test('its user and password are moved from the URL to a header', () => {
    const choose = proxyChooser({ http: 'http://us%40er:p%3Aw@proxy.test' }, [])
    const proxy = choose(new URL('http://a.example'))
    expect(proxy?.origin.href).toBe('http://proxy.test/')
    // printf 'us@er:p:w' | base64
    expect(proxy?.headers).toEqual({ 'proxy-authorization': 'Basic dXNAZXI6cDp3' })
    expect(proxyChooser(PROXIES, [])(new URL('http://a.example'))?.headers).toEqual({})
  })
})

describe('called directly', () => {
  test.each([
    'http://localhost:1',
    'http://localhost.:1',
    'https://127.0.0.1',
    'https://127.9.9.9:444',
    'http://0x7f.1',
    'http://[::1]:80',
    'http://[::ffff:127.0.0.1]',
  ])('%s, always', (url) => expect(proxied(url, [])).toBe(false))

  test.each<[entry: string, direct: string[], proxied: string[]]>([
    ['*', ['http://a.example', 'https://192.0.2.1'], []],
    [
      'a.example',
      ['http://a.example', 'https://A.EXAMPLE:99', 'http://x.a.example', 'http://a.example.'],
      ['http://ba.example', 'http://a.example.com', 'http://example'],
    ],
    ['.a.example', ['http://a.example', 'http://x.y.a.example'], ['http://ba.example']],
    ['*.a.example', ['http://x.a.example'], ['http://ba.example']],
    ['A.Example.', ['http://a.example'], ['http://b.example']],
    ['a.example:8443', ['https://a.example:8443', 'http://x.a.example:8443'], ['https://a.example']],
    ['a.example:443', ['https://a.example'], ['http://a.example', 'https://a.example:444']],
    ['a.example:80', ['http://a.example'], ['https://a.example']],
    ['192.0.2.1', ['http://192.0.2.1', 'http://192.0.2.1:8'], ['http://192.0.2.10', 'http://1.192.0.2']],
    ['192.0.2.1:8', ['http://192.0.2.1:8'], ['http://192.0.2.1']],
    ['192.0.2.0/28', ['http://192.0.2.15'], ['http://192.0.2.16', 'http://192.0.2.0.example']],
    ['2001:db8::1', ['http://[2001:db8::1]', 'http://[2001:db8:0::1]:5'], ['http://[2001:db8::2]']],
    ['[2001:db8::1]', ['http://[2001:db8::1]'], ['http://[2001:db8::2]']],
    ['[2001:db8::1]:5', ['http://[2001:db8::1]:5'], ['http://[2001:db8::1]']],
    ['2001:db8::/32', ['http://[2001:db8:9::1]'], ['http://[2001:db9::1]']],
    ['1', [], ['http://192.0.2.1']],
    ['b.example c.example', ['http://b.example', 'http://c.example'], ['http://a.example']],
    ['http://a.example', [], ['http://a.example']],
    ['', [], ['http://a.example']],
    ['.', [], ['http://a.example']],
    ['192.0.2.0/99', [], ['http://192.0.2.1']],
  ])('%s', (entry, direct, through) => {
    for (const url of direct) expect([url, proxied(url, ['unrelated.example', entry])]).toEqual([url, false])
    for (const url of through) expect([url, proxied(url, ['unrelated.example', entry])]).toEqual([url, true])
  })

  test('a host that is listed, itself or by its domain; no entry throws', () => {
    fc.assert(
      fc.property(fc.domain(), fc.string(), (host, other) => {
        const url = `https://${host}`
        expect(proxied(url, [host])).toBe(false)
        expect(proxied(`https://x.${host}`, [other, `.${host}`])).toBe(false)
        expect(() => proxied(url, [other])).not.toThrow()
      }),
    )
  })
})
