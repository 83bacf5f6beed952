/** Faults of how the relay is built into the program: its path, its settings, its environment. */
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
  // What is on its way to a client is thrown away although the length shows that more should come.
  ...faults('proxy/relay/exchange.ts', 'proxy/relay/exchange-hostile.test.ts', [
    " || res.hasHeader('content-length')",
    '',
  ]),

  ...faults(
    'proxy/server/app.ts',
    CALLERS,
    // What guards the path at an ingress does not know the others.
    ['/^\\/api\\/proxy$/', '/^\\/api\\/proxy\\/?$/'],
    ['/^\\/api\\/proxy$/', '/^\\/api\\/proxy$/i'],
    ['/^\\/api\\/proxy$/', '/^(?:\\/api)?\\/proxy$/'],
    // A link in a page makes a call.
    ["RELAY_PATH,\n    only('POST'),", "RELAY_PATH,\n    only('GET', 'POST'),"],
  ),

  // Settings that are read and not heeded.
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
  // The operator's proxy for channels gets what strangers send.
  ...faults('proxy/settings.ts', OUTBOUND_PROXY, [
    'proxy: env.SLUICE_RELAY_PROXY',
    'proxy: env.SLUICE_HTTP_PROXY',
  ]),

  // A variable that is set for something else switches the checks off.
  ...faults('proxy/outbound/checked.ts', TLS, ['rejectUnauthorized: true,', '']),
  // The certificate of any name stands for any other.
  ...faults('proxy/outbound/checked.ts', TLS, [
    'rejectUnauthorized: true,',
    'rejectUnauthorized: true, checkServerIdentity: () => undefined,',
  ]),
  // An upstream that serves many names shows the certificate of another one.
  ...faults('proxy/outbound/checked.ts', TLS, ['...(isIP(hostname) === 0 && { servername: hostname }),', '']),
  // Keys in paths and queries come to be in the log.
  ...faults('proxy/relay/serve-relay.ts', SECRETS, [
    "url === null || url.origin === 'null' ? undefined : url.origin",
    "url === null || url.origin === 'null' ? undefined : url.href",
  ]),
]
