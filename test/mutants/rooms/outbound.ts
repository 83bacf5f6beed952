/** Faults of the connections to upstreams and Redis: certificates, authorities, HTTP proxies. */
import { faults, type Mutant } from '../fault.ts'

const OUTBOUND = 'proxy/outbound/outbound.test.ts'
const PROXIES = 'proxy/outbound/proxies.test.ts'
const REDIS_TLS = 'test/conformance/store/redis-tls.test.ts'

export const OUTBOUND_WAYS: Mutant[] = [
  ...faults(
    'proxy/outbound/connectors.ts',
    OUTBOUND,
    // The channel's certificate is never presented.
    [
      'createSecureContext({ ca: ca ?? authorities, ...own })',
      'createSecureContext({ ca: ca ?? authorities })',
    ],
    // The file's authorities are trusted for a channel that named its own.
    [
      'createSecureContext({ ca: ca ?? authorities, ...own })',
      'createSecureContext({ ca: authorities ?? ca, ...own })',
    ],
  ),
  // A renewed certificate takes effect only after a restart.
  ...faults('proxy/outbound/dispatchers.ts', OUTBOUND, [
    'JSON.stringify([namespace, shape])',
    'JSON.stringify([namespace, shape.origin])',
  ]),
  ...faults(
    'proxy/outbound/dispatchers.ts',
    'proxy/outbound/dispatchers.test.ts',
    // Namespaces share connections.
    ['JSON.stringify([namespace, shape])', 'JSON.stringify(shape)'],
    // A channel that is removed closes the connections of the others.
    ['if (channels.size > 0) return', ''],
    // Connections that no channel uses stay open.
    ['channels.delete(key)\n    if (channels.size > 0)', 'if (channels.size > 0)'],
  ),
  // An unusable certificate is reported as an unspecific connection failure.
  ...faults('proxy/outbound/failure.ts', OUTBOUND, ["  ['ERR_OSSL_', 'tls'],\n", '']),
  // The proxy's refusal is taken for a tunnel.
  ...faults('proxy/outbound/proxied.ts', 'proxy/outbound/checked.test.ts', [
    'status >= 200 && status < 300',
    'status >= 200',
  ]),
  ...faults(
    'proxy/outbound/proxied.ts',
    OUTBOUND,
    // A tunnel ignores the channel's own authority.
    ['timeout: timeoutMs, ...tls }', 'timeout: timeoutMs, ...tls, secureContext: trust }'],
    // A tunnel ignores the server name that the channel expects.
    ['timeout: timeoutMs, ...tls }', 'timeout: timeoutMs, secureContext: tls.secureContext }'],
    // The proxy gets an invalid server name, and one at an IPv6 address is refused.
    ['{ servername: _upstream, ...options }, callback', 'options, callback'],
    // A silent proxy keeps a request for as long as the client waits.
    ['callback(new errors.ConnectTimeoutError(), null)', 'undefined'],
    // Proxy credentials are not sent.
    ['headers: proxy.headers,', 'headers: {},'],
    // A proxy that is down counts against the upstream.
    ['else callback(proxyFault(error), null)', 'else callback(error, null)'],
  ),
  // The proxy's demand for credentials is reported as the client's fault.
  ...faults('proxy/outbound/exchange.ts', OUTBOUND, [
    'controller !== null && error instanceof errors.InvalidArgumentError',
    'false',
  ]),
  ...faults(
    'proxy/outbound/proxies.ts',
    PROXIES,
    // Servers next to the gateway are called through a distant proxy.
    ["host === 'localhost' || LOOPBACK.has(host)", "host === 'localhost'"],
    // Hosts that merely end alike are called directly.
    ['other.endsWith(`.', 'other.endsWith(`'],
    // An entry with a port matches all ports.
    ['(exception.port ?? port) === port', 'true'],
    // Hosts below a domain still go through the proxy.
    [' || (isIP(other) === 0 &&', ' || (other === host &&'],
  ),
  ...faults('proxy/outbound/settings.ts', OUTBOUND, [
    // A file of authorities disables the public ones.
    "[...getCACertificates('default'), readAuthorities(path)]",
    '[readAuthorities(path)]',
  ]),
  ...faults('store/redis/client.ts', REDIS_TLS, ['tls: tls ?? {}', 'tls: {}']),
  ...faults(
    'store/redis/tls.ts',
    'store/redis/tls.test.ts',
    // A renewed certificate is presented only after a restart.
    ['found.ca !== seen.ca || found.cert !== seen.cert || found.key !== seen.key', 'found.ca !== seen.ca'],
    // A file that is unreadable for a moment disconnects Redis.
    ['        lastReason = reason\n      }', '        lastReason = reason\n        throw error\n      }'],
  ),
  ...faults(
    'controller/compile/tls.ts',
    'controller/compile/cases.test.ts',
    // The key of another certificate is served, and every request fails.
    ["    case 'pair':\n      refuse(", "    case 'pair':\n      void ("],
  ),
  // The controller neither reads the Secret of a certificate nor notices its renewal.
  ...faults('controller/source/cluster/references.ts', 'controller/source/cluster/references.test.ts', [
    'spec.tls?.caRef, spec.tls?.clientCertificateRef]',
    'spec.tls?.caRef]',
  ]),
  // A proxy of another kind in the environment prevents the start.
  ...faults('contract/env.ts', 'contract/env.test.ts', [
    'if (environment.shape[setting].safeParse(value).success) given[setting] = value',
    'if (value !== name) given[setting] = value',
  ]),
]
