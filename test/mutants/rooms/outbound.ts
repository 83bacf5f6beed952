/** Faults of the ways to upstreams and Redis: certificates, authorities, HTTP proxies. */
import { faults, type Mutant } from '../fault.ts'

const OUTBOUND = 'proxy/outbound/outbound.test.ts'
const PROXIES = 'proxy/outbound/proxies.test.ts'
const REDIS_TLS = 'test/conformance/store/redis-tls.test.ts'

export const OUTBOUND_WAYS: Mutant[] = [
  ...faults(
    'proxy/outbound/connectors.ts',
    OUTBOUND,
    // The channel's certificate is never shown.
    [
      'createSecureContext({ ca: ca ?? authorities, ...own })',
      'createSecureContext({ ca: ca ?? authorities })',
    ],
    // The file's authorities vouch for a channel that named its own.
    [
      'createSecureContext({ ca: ca ?? authorities, ...own })',
      'createSecureContext({ ca: authorities ?? ca, ...own })',
    ],
  ),
  // A renewed certificate waits for a restart.
  ...faults('proxy/outbound/dispatchers.ts', OUTBOUND, [
    'isDeepStrictEqual(open.shape, shape)',
    'open.shape.origin === shape.origin',
  ]),
  // A certificate that cannot be used is told as a connection that failed somehow.
  ...faults('proxy/outbound/failure.ts', OUTBOUND, ["  ['ERR_OSSL_', 'tls'],\n", '']),
  ...faults(
    'proxy/outbound/proxied.ts',
    OUTBOUND,
    // In the tunnel the channel's own authority is forgotten.
    ['timeout: timeoutMs, ...tls }', 'timeout: timeoutMs, ...tls, secureContext: trust }'],
    // The name that the channel expects counts for nothing in a tunnel.
    ['timeout: timeoutMs, ...tls }', 'timeout: timeoutMs, secureContext: tls.secureContext }'],
    // The proxy is told a name that is none, and one at an IPv6 address is refused.
    ['{ servername: _upstream, ...options }, callback', 'options, callback'],
    // A proxy that says nothing keeps a request for as long as the client waits.
    ['callback(new errors.ConnectTimeoutError(), null)', 'undefined'],
    // What the proxy answers instead of a tunnel is taken for one.
    ['status >= 200 && status < 300', 'status >= 200'],
    // Proxy credentials are not sent.
    ['headers: proxy.headers,', 'headers: {},'],
    // A proxy that is away counts against the upstream.
    ['else callback(proxyFault(error), null)', 'else callback(error, null)'],
  ),
  // The proxy's demand for credentials is told to the client as its own fault.
  ...faults('proxy/outbound/exchange.ts', OUTBOUND, [
    'controller !== null && error instanceof errors.InvalidArgumentError',
    'false',
  ]),
  ...faults(
    'proxy/outbound/proxies.ts',
    PROXIES,
    // Servers beside the gateway are called through a proxy elsewhere.
    ["host === 'localhost' || LOOPBACK.has(host)", "host === 'localhost'"],
    // Hosts that only end alike are called directly.
    ['other.endsWith(`.', 'other.endsWith(`'],
    // An entry with a port counts for all ports.
    ['(exception.port ?? port) === port', 'true'],
    // Hosts below a domain go through the proxy all the same.
    [' || (isIP(other) === 0 &&', ' || (other === host &&'],
  ),
  ...faults('proxy/outbound/settings.ts', OUTBOUND, [
    // A file of authorities takes the public ones away.
    "[...getCACertificates('default'), readAuthorities(path)]",
    '[readAuthorities(path)]',
  ]),
  ...faults('store/redis/client.ts', REDIS_TLS, ['tls: tls ?? {}', 'tls: {}']),
  ...faults(
    'store/redis/tls.ts',
    'store/redis/tls.test.ts',
    // A renewed certificate is shown after a restart only.
    ['found.ca !== seen.ca || found.cert !== seen.cert || found.key !== seen.key', 'found.ca !== seen.ca'],
    // A file that cannot be read for a moment takes Redis away.
    ['        lastReason = reason\n      }', '        lastReason = reason\n        throw error\n      }'],
  ),
  ...faults(
    'controller/compile/tls.ts',
    'controller/compile/cases.test.ts',
    // A key of another certificate is served, and every request fails.
    ["    case 'pair':\n      refuse(", "    case 'pair':\n      void ("],
  ),
  // The controller does not read the Secret of a certificate, nor hear that it was renewed.
  ...faults('controller/source/cluster/references.ts', 'controller/source/cluster/references.test.ts', [
    '[spec.tls?.caRef, spec.tls?.clientCertificateRef]',
    '[spec.tls?.caRef]',
  ]),
  // A proxy of another kind in the environment keeps the program from starting.
  ...faults('contract/env.ts', 'contract/env.test.ts', [
    'if (environment.shape[setting].safeParse(value).success) given[setting] = value',
    'if (value !== name) given[setting] = value',
  ]),
]
