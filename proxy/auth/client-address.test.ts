import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AddressSet } from '../../contract/address.ts'
import { clientAddress } from './client-address.ts'

const trusted = new AddressSet(['10.0.0.0/8', 'fd00::/8'])
const INGRESS = '10.0.0.1'
const CLIENT = '203.0.113.9'

describe('the connection of', () => {
  test.each([
    ['a client that claims another address', CLIENT, '192.0.2.1', CLIENT],
    ['a client on a dual-stack listener', `::ffff:${CLIENT}`, '192.0.2.1', CLIENT],
    ['an ingress', INGRESS, CLIENT, CLIENT],
    ['an ingress on a dual-stack listener', `::ffff:${INGRESS}`, CLIENT, CLIENT],
    ['an ingress over IPv6', 'fd00::1', '2001:db8::9', '2001:db8::9'],
    ['an ingress for itself', INGRESS, undefined, INGRESS],
    ['a client that is gone', undefined, CLIENT, undefined],
  ])('%s', (_, peer, header, address) => {
    expect(clientAddress(peer, header, trusted)).toBe(address)
  })

  test('without trusted proxies the header is ignored', () => {
    expect(clientAddress(INGRESS, CLIENT, new AddressSet([]))).toBe(INGRESS)
  })
})

describe('a header that an ingress forwards', () => {
  test.each([
    ['entries that the client wrote itself', `192.0.2.1, 10.9.9.9, ${CLIENT}`, CLIENT],
    ['junk that the client wrote itself', `junk, ${CLIENT}`, CLIENT],
    ['a chain of proxies', `${CLIENT}, 10.0.0.3, 10.0.0.2`, CLIENT],
    ['blanks', `  ${CLIENT}  ,10.0.0.2 `, CLIENT],
    ['a port', `${CLIENT}:4711`, CLIENT],
    ['brackets', '[2001:db8::9]', '2001:db8::9'],
    ['brackets and a port', '[2001:db8::9]:4711, 10.0.0.2:80', '2001:db8::9'],
    ['IPv6 without brackets', '2001:db8::9', '2001:db8::9'],
    ['an IPv4-mapped address', `::ffff:${CLIENT}`, CLIENT],
    ['an IPv4-mapped address in hexadecimal', '::ffff:cb00:7109', CLIENT],
    ['an IPv4-mapped proxy', `${CLIENT}, ::ffff:10.0.0.2`, CLIENT],
    ['only proxies', '10.0.0.3, 10.0.0.2', undefined],
    ['an empty header', '', undefined],
    ['an empty last entry', `${CLIENT},`, undefined],
    ['an empty entry in the middle', `${CLIENT}, , 10.0.0.2`, undefined],
    ['junk in the middle', `${CLIENT}, junk, 10.0.0.2`, undefined],
    ['a word', 'unknown', undefined],
    ['a name', 'localhost', undefined],
    ['leading zeros', '010.0.0.1', undefined],
    ['a number', '3221225991', undefined],
    ['a range', '203.0.113.0/24', undefined],
    ['an open bracket', '[2001:db8::9', undefined],
    ['an invalid port', `${CLIENT}:http`, undefined],
    ['quotes', `"${CLIENT}"`, undefined],
    ['a zone', 'fe80::1%eth0', undefined],
    ['a zone in brackets', '[fd00::1%eth0]:80', undefined],
    ['a zone in the middle', `${CLIENT}, fd00::2%eth0`, undefined],
    ['a no-break space', `\u00a0${CLIENT}`, undefined],
  ])('%s', (_, header, address) => {
    expect(clientAddress(INGRESS, header, trusted)).toBe(address)
  })
})

test('no header of a client changes the address that the ingress adds', () => {
  const written = fc.oneof(fc.string({ maxLength: 40 }), fc.ipV4(), fc.ipV6(), fc.constant(INGRESS))
  fc.assert(
    fc.property(fc.array(written, { maxLength: 5 }), (entries) => {
      expect(clientAddress(INGRESS, [...entries, CLIENT, '10.0.0.2'].join(', '), trusted)).toBe(CLIENT)
    }),
  )
})

test('the result is never a trusted address', () => {
  const entry = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.ipV4(),
    fc.ipV6(),
    fc.ipV4().map((a) => `${a}:80`),
  )
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 5 }), (entries) => {
      const address = clientAddress(INGRESS, entries.join(','), trusted)
      if (address === undefined) return
      expect(trusted.has(address)).toBe(false)
      expect(new AddressSet(['0.0.0.0/0', '::/0']).has(address)).toBe(true)
    }),
  )
})
