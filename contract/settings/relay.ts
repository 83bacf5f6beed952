/** The relay: where it may call, who may use it, and how much. */
import { z } from 'zod'
import { parseAllowEntry } from '../relay-target.ts'
import { bound, count, flag, list, proxyUrl, ranges, time } from './fields.ts'

export const relaySettings = {
  SLUICE_RELAY_MODE: z
    .enum(['off', 'allowlist', 'public'])
    .default('public')
    .describe(
      'Where POST /api/proxy may call: nowhere, what SLUICE_RELAY_ALLOW names, or every public address beside it.',
    ),
  SLUICE_RELAY_ALLOW: list()
    .refine(
      (texts) => texts.every((text) => parseAllowEntry(text) !== undefined),
      'must be hosts, host:port, addresses or CIDR ranges, separated by commas',
    )
    .transform((texts) => texts.flatMap((text) => parseAllowEntry(text) ?? []))
    .describe(
      'Hosts, host:port, addresses and CIDR ranges that the relay may call although they are not public, separated by commas. ' +
        '`localhost` means 127.0.0.1 and ::1. A host may have private addresses; those of metadata services need a range of their own.',
    ),
  SLUICE_RELAY_DENY: ranges().describe(
    'Addresses and CIDR ranges that the relay never calls, such as public ones of your own network: of pods, services, nodes and load balancers.',
  ),
  SLUICE_RELAY_PORTS: list()
    .refine((texts) => texts.every(isPort), 'must be ports, separated by commas')
    .transform((texts): ReadonlySet<number> => new Set(texts.map(Number)))
    .describe('Ports that the relay may call, beside those of SLUICE_RELAY_ALLOW; default all.'),
  SLUICE_RELAY_REQUIRE_API_KEY: flag(false).describe(
    'Whether callers of the relay need an API key of the gateway, in x-api-key.',
  ),
  SLUICE_RELAY_MAX_IN_FLIGHT: count(1_000).describe(
    'Relayed requests in flight beyond which new ones are answered 503.',
  ),
  SLUICE_RELAY_MAX_IN_FLIGHT_PER_CLIENT: bound().describe(
    'Relayed requests in flight of one client (its key where one is required, else its address) beyond which it is answered 429; 0 for no bound.',
  ),
  SLUICE_RELAY_REQUESTS_PER_MINUTE: bound().describe(
    'Relayed requests a minute of one client and one proxy; 0 for no bound.',
  ),
  SLUICE_RELAY_CONNECT_TIMEOUT: time('10s').describe('Time for the relay to connect.'),
  SLUICE_RELAY_TIMEOUT: time('250s').describe('Time for a whole relayed request; the relay has no other.'),
  SLUICE_RELAY_RESOLVERS: list()
    .refine(
      (texts) => texts.every(isServer),
      'must be addresses, with a port or without, separated by commas',
    )
    .describe(
      'Name servers that the relay asks for names that SLUICE_RELAY_ALLOW does not have, such as 9.9.9.9 or [2620:fe::fe]:53; default those of the system.',
    ),
  SLUICE_RELAY_PROXY: proxyUrl().describe(
    'HTTP proxy, vouched for by a public authority where it is https://, through which the relay calls; it gets addresses that were checked, never names. Without it the relay uses none.',
  ),
}

function isPort(text: string): boolean {
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535
}

function isServer(text: string): boolean {
  const entry = parseAllowEntry(text)
  return entry !== undefined && 'address' in entry
}
