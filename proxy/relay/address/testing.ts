/** For tests of the address policy: rules, look-ups without a network, and an independent oracle. */
import { parseAllowEntry } from '../../../contract/relay-target.ts'
import { GatewayError } from '../../errors.ts'
import { AddressPolicy, type AddressRules } from './policy.ts'
import type { Lookups } from './resolve.ts'

export const PUBLIC_ADDRESS = '93.184.215.14'

/** Resolves every name to the same addresses and records the calls. */
export class FixedLookups implements Lookups {
  readonly calls: string[] = []
  readonly #answers: string[]

  constructor(...answers: string[]) {
    this.#answers = answers
  }

  async system(name: string): Promise<string[]> {
    this.calls.push(`system ${name}`)
    return this.#answers
  }

  async dns(name: string): Promise<string[]> {
    this.calls.push(`dns ${name}`)
    return this.#answers
  }
}

/** Public mode, empty lists, every name resolves to a public address; `given` overrides this. */
export function makePolicy(
  { allow = '', ...rules }: Partial<Omit<AddressRules, 'allow'>> & { allow?: string } = {},
  lookups: Lookups = new FixedLookups(PUBLIC_ADDRESS),
): AddressPolicy {
  const entries = allow === '' ? [] : allow.split(',').map((text) => parseAllowEntry(text))
  return new AddressPolicy(
    {
      mode: 'public',
      allow: entries.filter((entry) => entry !== undefined),
      deny: [],
      ports: new Set(),
      resolvers: [],
      ownPorts: () => new Set(),
      ...rules,
    },
    lookups,
  )
}

/** The addresses at which a URL may be called, joined with spaces, or the code of its refusal. */
export async function verdict(policy: AddressPolicy, url: string): Promise<string> {
  try {
    return (await policy.target(url, new AbortController().signal)).addresses.join(' ')
  } catch (error) {
    if (error instanceof GatewayError && error.param === 'url') return error.code
    throw error
  }
}

/** An address as a number, with its family. */
export interface Bits {
  value: bigint
  width: 32 | 128
}

/** Parses the usual spellings of addresses, with a dotted tail too; does not detect errors. */
export function bitsOf(text: string): Bits {
  if (!text.includes(':')) {
    const value = text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n)
    return { value, width: 32 }
  }
  const dotted = /[0-9.]+\.[0-9]+$/.exec(text)?.[0]
  const low = dotted === undefined ? 0n : bitsOf(dotted).value
  const plain =
    dotted === undefined
      ? text
      : `${text.slice(0, -dotted.length)}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}`
  const [head = '', tail] = plain.split('::')
  const groups = (part: string | undefined) => (part === undefined || part === '' ? [] : part.split(':'))
  const zeros = 8 - groups(head).length - groups(tail).length
  const all = [
    ...groups(head),
    ...new Array<string>(tail === undefined ? 0 : zeros).fill('0'),
    ...groups(tail),
  ]
  return { value: all.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n), width: 128 }
}

interface Range extends Bits {
  prefix: number
}

export function rangeOf(text: string): Range {
  const [address = '', prefix] = text.split('/')
  const bits = bitsOf(address)
  return { ...bits, prefix: prefix === undefined ? bits.width : Number(prefix) }
}

export function isWithin(address: Bits, { value, width, prefix }: Range): boolean {
  const rest = BigInt(width - prefix)
  return address.width === width && address.value >> rest === value >> rest
}

/** The refused ranges as the registries write them, independent of the policy's own table. */
export const REFUSED_RANGES = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4', '255.255.255.255'],
  ...['168.63.129.16', '100.100.100.200', '192.0.0.192', '169.254.169.254'],
  ...['::/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '2002::/16', '2001::/32', '2001::/23'],
  ...[
    'fe80::/10',
    'fec0::/10',
    'fc00::/7',
    'ff00::/8',
    '100::/64',
    '2001:db8::/32',
    '3fff::/20',
    '5f00::/16',
  ],
  ...['fd00:ec2::254', 'fd20:ce::254', '::1'],
].map(rangeOf)

const MAPPED = rangeOf('::ffff:0:0/96')
const UNICAST = rangeOf('2000::/3')

/** Whether the public relay may call an address. */
export function mayBeCalled(address: Bits): boolean {
  if (isWithin(address, MAPPED)) return mayBeCalled({ value: address.value & 0xffffffffn, width: 32 })
  if (address.width === 128 && !isWithin(address, UNICAST)) return false
  return !REFUSED_RANGES.some((range) => isWithin(address, range))
}

/** Plain text: dotted, or eight groups. */
export function textOf({ value, width }: Bits): string {
  const size = width === 32 ? 8 : 16
  const parts = Array.from({ length: width / size }, (_, i) =>
    Number((value >> BigInt(width - size * (i + 1))) & ((1n << BigInt(size)) - 1n)),
  )
  return width === 32 ? parts.join('.') : parts.map((part) => part.toString(16)).join(':')
}
