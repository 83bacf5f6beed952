import { isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AddressSet } from './address.ts'
import { type AllowEntry, parseAllowEntry } from './relay-target.ts'

describe('entries of SLUICE_RELAY_ALLOW', () => {
  it.each<[string, AllowEntry]>([
    ['localhost', { host: 'localhost' }],
    ['localhost.', { host: 'localhost' }],
    ['127.0.0.1.', { address: '127.0.0.1' }],
    ['LocalHost:3000', { host: 'localhost', port: 3000 }],
    ['api.example.com', { host: 'api.example.com' }],
    ['api.example.com.:443', { host: 'api.example.com', port: 443 }],
    ['my_host.example.com:1', { host: 'my_host.example.com', port: 1 }],
    ['xn--bcher-kva.example:65535', { host: 'xn--bcher-kva.example', port: 65_535 }],
    ['1password.com', { host: '1password.com' }],
    ['10.example', { host: '10.example' }],
    ['127.0.0.1', { address: '127.0.0.1' }],
    ['127.0.0.1:80', { address: '127.0.0.1', port: 80 }],
    ['::1', { address: '::1' }],
    ['::1:80', { address: '::1:80' }],
    ['[::1]', { address: '::1' }],
    ['[::1]:80', { address: '::1', port: 80 }],
    ['10.0.0.0/8', { range: '10.0.0.0/8' }],
    ['fd00::/8', { range: 'fd00::/8' }],
    ['::/0', { range: '::/0' }],
  ])('reads %s', (text, entry) => {
    expect(parseAllowEntry(text)).toEqual(entry)
  })

  it.each([
    '',
    ' ',
    'local host',
    'http://localhost',
    'localhost/',
    'localhost:',
    'localhost:0',
    'localhost:65536',
    'localhost:-1',
    'localhost:+80',
    'localhost:80:80',
    'localhost:８０',
    '.localhost',
    'a..b',
    '*.example.com',
    'user@example.com',
    'bücher.example',
    '-a.example.com',
    'a-.example.com',
    `${'a'.repeat(64)}.com`,
    `${'a.'.repeat(126)}com`,
    '127.1',
    '2130706433',
    '0x7f.1',
    '0x7f000001',
    '0177.0.0.1',
    '1.2.3.256',
    '127.0.0.1:99999',
    '[127.0.0.1]',
    '[127.0.0.1]:80',
    '[localhost]:80',
    '[::1',
    '::1]',
    '[::1]80',
    '[::1]:',
    '[]:80',
    '::ffff:127.0.0.1',
    '[::ffff:127.0.0.1]:80',
    'fe80::1%eth0',
    '[fe80::1%eth0]:80',
    '10.0.0.0/33',
    '10.0.0.0/8:80',
    '10.0.0.0/',
    '/8',
    '::ffff:10.0.0.0/104',
    'localhost/8',
  ])('refuses %j', (text) => {
    expect(parseAllowEntry(text)).toBeUndefined()
  })

  it('either refuses a text or reads the same host as a URL does', () => {
    const piece = fc.constantFrom(
      '[',
      ']',
      ':',
      '::',
      '.',
      '/',
      '%',
      '0',
      '1',
      '255',
      'f',
      'ffff',
      'a',
      '-',
      'x',
      '0x',
    )
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(piece).map((pieces) => pieces.join('')),
      fc.domain(),
      fc.ipV4(),
      fc.ipV6(),
    )
    fc.assert(
      fc.property(text, (input) => {
        const entry = parseAllowEntry(input)
        if (entry === undefined) return
        if ('range' in entry) expect(() => new AddressSet([entry.range])).not.toThrow()
        else if ('address' in entry) expect(isIP(entry.address)).not.toBe(0)
        // A URL parses the host in the same way, so that they can be compared as text.
        else expect(new URL(`http://${entry.host}/`).hostname).toBe(entry.host)
      }),
    )
  })
})
