import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AddressSet, isAddress, isAddressRange, networkOf, unmap } from './address.ts'

describe('addresses', () => {
  it.each([
    '192.0.2.7',
    '0.0.0.0',
    '::',
    '::1',
    '2001:db8::1',
    '2001:DB8:0:0:0:0:0:1',
    '::1.2.3.4',
    '::fffe:1.2.3.4',
  ])('accepts %s', (text) => {
    expect(isAddress(text)).toBe(true)
    expect(isAddressRange(text)).toBe(true)
  })

  it.each([
    '',
    ' 192.0.2.7',
    '192.0.2',
    '192.0.2.256',
    '192.0.2.07',
    '3221225991',
    '0xc0000207',
    '2001:db8::1::2',
    'fe80::1%eth0',
    '[::1]',
    'localhost',
    '192.0.2.7:80',
  ])('refuses %j', (text) => {
    expect(isAddress(text)).toBe(false)
    expect(isAddressRange(text)).toBe(false)
  })

  it.each([
    '::ffff:192.0.2.7',
    '::FFFF:192.0.2.7',
    '::ffff:c000:207',
    '0:0:0:0:0:ffff:192.0.2.7',
    '0:0:0:0:0:ffff:c000:0207',
    '0000:0000:0000:0000:0000:ffff:c000:0207',
    '0::ffff:c000:207',
  ])('recognises %s as IPv4-mapped', (text) => {
    expect(isAddress(text)).toBe(false)
    expect(unmap(text)).toBe('192.0.2.7')
    expect(new AddressSet(['192.0.2.7']).has(text)).toBe(true)
  })

  it.each(['192.0.2.7', '::1', 'fe80::1%eth0', '::ffff:1', '1:ffff::', 'ffff:', 'x:ffff:1.2.3.4', ''])(
    'leaves %j unchanged',
    (text) => {
      expect(unmap(text)).toBe(text)
    },
  )
})

describe('ranges', () => {
  it.each(['192.0.2.0/24', '192.0.2.7/24', '0.0.0.0/0', '192.0.2.7/32', '2001:db8::/32', '::/0', '::1/128'])(
    'accepts %s',
    (text) => {
      expect(isAddressRange(text)).toBe(true)
      expect(isAddress(text)).toBe(false)
    },
  )

  it.each([
    '192.0.2.0/33',
    '2001:db8::/129',
    '192.0.2.0/024',
    '192.0.2.0/',
    '192.0.2.0/-1',
    '192.0.2.0/+8',
    '192.0.2.0/8/8',
    '/8',
    '::ffff:192.0.2.0/120',
    'fe80::%eth0/64',
    '192.0.2.0/1e1',
  ])('refuses %s', (text) => {
    expect(isAddressRange(text)).toBe(false)
    expect(() => new AddressSet([text])).toThrow(RangeError)
  })

  it('never quotes the entry in its error', () => {
    expect(() => new AddressSet(['secret-looking'])).toThrow(/^not an address or a CIDR range$/)
  })

  it.each([
    ['192.0.2.0/24', ['192.0.2.0', '192.0.2.255', '::ffff:192.0.2.9'], ['192.0.1.255', '192.0.3.0', '::1']],
    ['10.0.0.128/25', ['10.0.0.128', '10.0.0.255'], ['10.0.0.127', '10.0.1.0']],
    ['192.0.2.7', ['192.0.2.7'], ['192.0.2.6', '192.0.2.8']],
    ['2001:db8::/33', ['2001:db8::', '2001:db8:7fff:ffff::1'], ['2001:db8:8000::', '2001:db7:ffff::']],
    ['0.0.0.0/0', ['203.0.113.1'], ['2001:db8::1']],
    ['::/0', ['2001:db8::1', '::1'], ['203.0.113.1', '::ffff:203.0.113.1']],
    ['2001:db8::7/128', ['2001:db8::7', '2001:db8:0::0:7'], ['2001:db8::8']],
  ])('%s has exact bounds', (range, inside, outside) => {
    const set = new AddressSet([range])
    expect(inside.filter((address) => !set.has(address))).toEqual([])
    expect(outside.filter((address) => set.has(address))).toEqual([])
  })

  it('never contains text that is not an address, and is empty without entries', () => {
    expect(new AddressSet(['0.0.0.0/0', '::/0']).has('localhost')).toBe(false)
    expect(new AddressSet([]).has('192.0.2.7')).toBe(false)
  })

  it('agrees with bit arithmetic on IPv4', () => {
    const address = fc.nat(2 ** 32 - 1)
    const text = (n: number) => [n >>> 24, (n >>> 16) & 255, (n >>> 8) & 255, n & 255].join('.')
    fc.assert(
      fc.property(address, fc.nat(32), fc.nat(31), (base, bits, flip) => {
        const other = (base ^ (1 << flip)) >>> 0
        const set = new AddressSet([`${text(base)}/${bits}`])
        expect(set.has(text(base))).toBe(true)
        expect(set.has(text(other))).toBe(31 - flip >= bits)
      }),
    )
  })
})

describe('networks of clients', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1:2:3:4', 'fe80:0:0:0::/64'],
    ['1::2:3:4:5:6', '1:0:0:2::/64'],
  ])('%s belongs to %s', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })
})
