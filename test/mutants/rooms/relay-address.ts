/** Faults of the addresses that the relay may call. */
import { faults, type Mutant } from '../fault.ts'

const POLICY = 'proxy/relay/address/policy.test.ts'
const SPELLINGS = 'proxy/relay/address/spellings.test.ts'
const PROPERTIES = 'proxy/relay/address/spellings.property.test.ts'
const RESOLVE = 'proxy/relay/address/resolve.test.ts'

export const RELAY_ADDRESS: Mutant[] = [
  ...faults(
    'proxy/relay/address/denied.ts',
    SPELLINGS,
    // Azure's metadata service reveals its secrets to any caller.
    ["{ range: '168.63.129.16', why: 'wire server of Azure' },", ''],
    // 0.0.0.0 is this machine.
    ["'0.0.0.0/8'", "'0.0.0.1/32'"],
    // An IPv4 address inside an IPv6 one is not detected.
    ["'::/3'", "'::/16'"],
    ["'2002::/16'", "'2002::/128'"],
    ["'2001::/23'", "'2001::/64'"],
    // Private IPv6 networks are open.
    ["range: '8000::/1'", "range: '8000::/2'"],
  ),
  // A range is wider in the table than in the registry: half of a provider's NAT is called.
  ...faults('proxy/relay/address/denied.ts', PROPERTIES, ["'100.64.0.0/10'", "'100.64.0.0/11'"]),
  // A listed name that points to the metadata service reads its credentials.
  ...faults('proxy/relay/address/denied.ts', POLICY, [' && !metadata.has(address)', '']),

  // A range of all IPv6 opens all of IPv4.
  ...faults('contract/address.ts', 'contract/address.test.ts', [
    'this.#lists[family].check(plain, family)',
    'Object.values(this.#lists).some((list) => list.check(plain, family))',
  ]),

  ...faults(
    'proxy/relay/address/url.ts',
    SPELLINGS,
    // The part before an @ looks like the host to people and other parsers.
    ["if (authority.includes('@'))", 'if (/.@/.test(new URL(text).username))'],
    // Tabs and line ends vanish, and a backslash becomes a slash.
    ['if (UNSEEN.test(text))', 'if (/ /.test(text))'],
    // A name with a trailing dot is another name.
    ['if (/[^.]\\.$/.test(url.hostname))', 'if (false)'],
    // The same with two trailing dots, and with a number in place of a name.
    ['/[^.]\\.$/', '/\\.$/'],
    // Other schemes, and http:host.
    ['/^https?:\\/\\/([^/?#]+)/i', '/^[a-z]+:\\/*([^/?#]+)/i'],
    ['text.length > MAX_CHARACTERS', 'text.length > MAX_CHARACTERS + 1'],
  ),

  ...faults(
    'proxy/relay/address/names.ts',
    SPELLINGS,
    // Services of the cluster are called by name.
    ["  'svc',\n", ''],
    ['labels.length >= 2 &&', ''],
    ['labels.every((label) => LABEL.test(label)) &&', ''],
  ),

  ...faults(
    'proxy/relay/address/allow-list.ts',
    POLICY,
    // A service next to the listed one is called.
    ['[this.#groups.get(undefined), this.#groups.get(port)]', '[...this.#groups.values()]'],
    ['entry.host === LOCALHOST ? LOOPBACKS : []', '[]'],
  ),

  ...faults(
    'proxy/relay/address/policy.ts',
    POLICY,
    // One allowed address excuses a forbidden one.
    ['!addresses.every(isGood)', '!addresses.some(isGood)'],
    // A listed range overrides the denial.
    [' || this.#deny.has(address)', ''],
    // The gateway relays to itself.
    ['this.#rules.ownPorts().has(port) && isOwnAddress(address)', 'false'],
    // Only the first addresses are checked.
    ['new Set(answers.map(unmap))', 'new Set(answers.slice(0, MAX_ADDRESSES).map(unmap))'],
    // An allow list lists nothing.
    ["mode === 'public' && (ports", "(mode === 'public' || mode === 'allowlist') && (ports"],
    ['ports.has(port)', 'true'],
    // A search domain turns a public name into a service of the cluster.
    ["isListed ? 'system' : 'dns'", "'system'"],
    // A listed host may be anything.
    ['if (isListed) return mayBeHost(address)', 'if (isListed) return true'],
    // A refusal reveals that an internal name exists.
    [
      'if (!isListed && !isPublicName(hostname)) throw refused()',
      "if (!isListed && !isPublicName(hostname)) throw new GatewayError('address_refused', 'SLUICE_RELAY_ALLOW does not have it, or it does not resolve.')",
    ],
    // A socket to another address is trusted.
    ['return isAddress(plain) && new AddressSet(addresses).has(plain)', 'return isAddress(plain)'],
  ),
  // An invalid text passes for an address.
  ...faults('proxy/relay/address/policy.ts', PROPERTIES, ['!isAddress(address) || ', '']),

  ...faults('proxy/relay/address/own-addresses.ts', POLICY, [
    'new AddressSet(all.map((entry) => entry.address)).has(address)',
    'false',
  ]),

  ...faults(
    'proxy/relay/address/resolve.ts',
    RESOLVE,
    // A name whose servers fail for one family is never called.
    [
      "answer.status === 'fulfilled' ? answer.value : []",
      "answer.status === 'fulfilled' ? answer.value : [answer.reason]",
    ],
    // The setting is not used.
    ['if (this.#servers.length > 0) resolver', 'if (this.#servers.length > 1) resolver'],
  ),
  // The attacker's name server stalls the request.
  ...faults(
    'kit/time.ts',
    RESOLVE,
    ['if (signal.aborted) onAbort()', 'if (false) onAbort()'],
    ["signal.addEventListener('abort', onAbort)", ''],
  ),

  // Names that URLs read as addresses, or differently.
  ...faults(
    'contract/relay-target.ts',
    'contract/relay-target.test.ts',
    [" && !/^\\d+$|^0x/.test(labels.at(-1) ?? '')", ''],
    ['port < 1 || ', ''],
    ['isIPv6(bracketed) && isAddressRange(bracketed)', 'isIPv6(bracketed)'],
  ),
]
