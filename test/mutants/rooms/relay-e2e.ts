/** Faults of the relay's place in the program: its path, its settings, its environment. */
import { faults, type Mutant } from '../fault.ts'

const ADDRESSES = 'test/e2e/relay/addresses.test.ts'
const CALLERS = 'test/e2e/relay/callers.test.ts'
const KEYS = 'test/e2e/relay/gateway-keys.test.ts'
const NAMES = 'test/e2e/relay/names.test.ts'
const OUTBOUND_PROXY = 'test/e2e/relay/outbound-proxy.test.ts'
const REFUSALS = 'test/e2e/relay/refusals.test.ts'
const SECRETS = 'test/e2e/relay/secrets.test.ts'
const TLS = 'test/e2e/relay/tls.test.ts'

export const RELAY_E2E: Mutant[] = [
  // Data in flight to a client is discarded although the length announces more.
  ...faults('proxy/relay/exchange.ts', 'proxy/relay/exchange-hostile.test.ts', [
    " || res.hasHeader('content-length')",
    '',
  ]),

  ...faults(
    'proxy/server/app.ts',
    CALLERS,
    // An ingress rule for the path does not match its variants.
    ['/^\\/api\\/proxy$/', '/^\\/api\\/proxy\\/?$/'],
    ['/^\\/api\\/proxy$/', '/^\\/api\\/proxy$/i'],
    ['/^\\/api\\/proxy$/', '/^(?:\\/api)?\\/proxy$/'],
    // A link in a page makes a call.
    ["RELAY_PATH, ['POST'],", "RELAY_PATH, ['GET', 'POST'],"],
  ),

  // Settings are read but have no effect.
  ...faults('proxy/open/edge.ts', ADDRESSES, ['servers.push(api, admin)', 'servers.push(api)']),
  ...faults('proxy/open/edge.ts', ADDRESSES, ['servers.push(api, admin)', 'servers.push(admin)']),
  ...faults(
    'proxy/settings.ts',
    REFUSALS,
    ['mode: env.SLUICE_RELAY_MODE', "mode: 'public'"],
    ['deny: env.SLUICE_RELAY_DENY', 'deny: []'],
    ['ports: env.SLUICE_RELAY_PORTS', 'ports: new Set()'],
    ['maxInFlight: env.SLUICE_RELAY_MAX_IN_FLIGHT,', 'maxInFlight: env.SLUICE_MAX_IN_FLIGHT,'],
    ['maxInFlightPerClient: env.SLUICE_RELAY_MAX_IN_FLIGHT_PER_CLIENT', 'maxInFlightPerClient: 0'],
    ['requestsPerMinute: env.SLUICE_RELAY_REQUESTS_PER_MINUTE', 'requestsPerMinute: 0'],
  ),
  ...faults('proxy/settings.ts', NAMES, ['resolvers: env.SLUICE_RELAY_RESOLVERS', 'resolvers: []']),
  ...faults('proxy/settings.ts', KEYS, [
    'requireApiKey: env.SLUICE_RELAY_REQUIRE_API_KEY',
    'requireApiKey: false',
  ]),
  // The operator's proxy for channels gets requests of strangers.
  ...faults('proxy/settings.ts', OUTBOUND_PROXY, [
    'proxy: env.SLUICE_RELAY_PROXY',
    'proxy: env.SLUICE_HTTP_PROXY',
  ]),

  // A variable with another purpose disables the checks.
  ...faults('proxy/outbound/checked.ts', TLS, ['rejectUnauthorized: true,', '']),
  // A certificate for any name is valid for every other.
  ...faults('proxy/outbound/checked.ts', TLS, [
    'rejectUnauthorized: true,',
    'rejectUnauthorized: true, checkServerIdentity: () => undefined,',
  ]),
  // An upstream with many names presents the certificate of another one.
  ...faults('proxy/outbound/checked.ts', TLS, ['...(isIP(hostname) === 0 && { servername: hostname }),', '']),
  // Keys in paths and queries are logged.
  ...faults('proxy/relay/serve-relay.ts', SECRETS, [
    "url === null || url.origin === 'null' ? undefined : url.origin",
    "url === null || url.origin === 'null' ? undefined : url.href",
  ]),
]
