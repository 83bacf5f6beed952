/** The relay: which addresses it may call, who may use it, and how much. */
import { z } from 'zod'
import { parseAllowEntry } from '../relay-target.ts'
import { bound, count, flag, list, proxyUrl, ranges, time } from './fields.ts'

export const relaySettings = {
  SLUICE_RELAY_MODE: z
    .enum(['off', 'allowlist', 'public'])
    .default('public')
    .describe(
      'What POST /api/proxy may call. `off`: nothing. `allowlist`: only what SLUICE_RELAY_ALLOW names. `public`: also every public address.',
    ),
  SLUICE_RELAY_ALLOW: list()
    .refine(
      (texts) => texts.every((text) => parseAllowEntry(text) !== undefined),
      'must be hosts, host:port, addresses or CIDR ranges, separated by commas',
    )
    .transform((texts) => texts.flatMap((text) => parseAllowEntry(text) ?? []))
    .describe(
      'Hosts, host:port, addresses and CIDR ranges that the relay may call even if they are not public, separated by commas. ' +
        '`localhost` means 127.0.0.1 and ::1. A host may resolve to private addresses; addresses of metadata services must be allowed by a range.',
    ),
  SLUICE_RELAY_DENY: ranges().describe(
    'Addresses and CIDR ranges that the relay never calls, such as public addresses of your own pods, services, nodes and load balancers.',
  ),
  SLUICE_RELAY_PORTS: list()
    .refine((texts) => texts.every(isPort), 'must be ports, separated by commas')
    .transform((texts): ReadonlySet<number> => new Set(texts.map(Number)))
    .describe('Ports that the relay may call, in addition to those in SLUICE_RELAY_ALLOW; default: all.'),
  SLUICE_RELAY_REQUIRE_API_KEY: flag().describe(
    'Whether callers of the relay need an API key of the gateway, in the x-api-key header.',
  ),
  SLUICE_RELAY_MAX_IN_FLIGHT: count(1_000).describe(
    'Maximum number of relay requests in flight. Beyond it, new ones are answered 503.',
  ),
  SLUICE_RELAY_MAX_IN_FLIGHT_PER_CLIENT: bound().describe(
    'Maximum number of relay requests in flight from one client (its key where keys are required, else its address); 0 for no limit. Beyond it, new ones are answered 429.',
  ),
  SLUICE_RELAY_REQUESTS_PER_MINUTE: bound().describe(
    'Relay requests per minute that each proxy accepts from one client; 0 for no limit.',
  ),
  SLUICE_RELAY_CONNECT_TIMEOUT: time('10s').describe('Time for the relay to connect.'),
  SLUICE_RELAY_TIMEOUT: time('250s').describe(
    'Time for a whole relay request. Beside the time to connect, the relay has no other time-out.',
  ),
  SLUICE_RELAY_RESOLVERS: list()
    .refine(
      (texts) => texts.every(isServer),
      'must be addresses, with or without a port, separated by commas',
    )
    .describe(
      'Name servers with which the relay resolves names that are not in SLUICE_RELAY_ALLOW, such as 9.9.9.9 or [2620:fe::fe]:53; default: those of the system.',
    ),
  SLUICE_RELAY_PROXY: proxyUrl().describe(
    'HTTP proxy for the relay. An https:// proxy needs a certificate from a public authority. It receives checked addresses, never names. Without this setting, the relay uses no proxy.',
  ),
}

function isPort(text: string): boolean {
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535
}

function isServer(text: string): boolean {
  const entry = parseAllowEntry(text)
  return entry !== undefined && 'address' in entry
}
