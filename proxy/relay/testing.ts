/** A server that relays to loopback, for the tests of this folder. */
import { createServer, type IncomingMessage } from 'node:http'
import { AddressSet } from '../../contract/address.ts'
import type { KeyRecord } from '../../contract/table/records.ts'
import { GatewayError } from '../errors.ts'
import type { CheckedTarget } from '../outbound/checked.ts'
import { listen, type TestServer } from '../outbound/testing.ts'
import { Revocation } from '../pipeline/admission/revocation.ts'
import { BodyMemory } from '../pipeline/body/memory.ts'
import { BodyTurns } from '../pipeline/body/turns.ts'
import type { Ports } from '../pipeline/ports.ts'
import { requestControl } from '../pipeline/request/client.ts'
import { Journal } from '../pipeline/request/journal.ts'
import { Shutdown } from '../pipeline/request/shutdown.ts'
import type { RequestFacts } from '../telemetry/metrics.ts'
import type { RequestRecord } from '../telemetry/request-log.ts'
import { createRelay, type Relay, type RelaySettings } from './relay.ts'
import { serveRelay } from './serve-relay.ts'

export const UPSTREAM_KEY = 'upstream-key-of-the-caller'

const SETTINGS: RelaySettings = {
  mode: 'allowlist',
  allow: [{ range: '127.0.0.0/8' }, { address: '::1' }],
  deny: [],
  ports: new Set(),
  resolvers: [],
  ownPorts: () => new Set(),
  requireApiKey: false,
  maxInFlight: 100,
  maxInFlightPerClient: 0,
  requestsPerMinute: 0,
  bodyBytes: 1_000_000_000,
  connectMs: 5_000,
  totalMs: 20_000,
  proxy: undefined,
}

export interface TestRelay extends TestServer {
  relay: Relay
  revocation: Revocation
  shutdown: Shutdown
  /** Log lines and counts of the finished requests. */
  lines: RequestRecord[]
  facts: RequestFacts[]
  /** Causes of internal errors. */
  unexpected: unknown[]
}

interface TestRelayOptions {
  settings?: Partial<RelaySettings>
  /** Replaces the real policy. */
  policy?: Relay['policy']
  findKey?: (hash: string) => Promise<KeyRecord | undefined>
}

export async function startRelay({ settings, policy, findKey }: TestRelayOptions = {}): Promise<TestRelay> {
  const lines: RequestRecord[] = []
  const facts: RequestFacts[] = []
  const unexpected: unknown[] = []
  const revocation = new Revocation(findKey ?? (async () => undefined))
  const shutdown = new Shutdown()
  const journal = new Journal(
    { write: (line) => void lines.push(line), errorAnswer: () => ({}) },
    { finished: (fact) => void facts.push(fact), attempt: () => undefined, unpaid: () => undefined },
  )
  const ports = {
    admission: {
      follower: { key: findKey ?? (async () => undefined) },
      trustedProxies: new AddressSet([]),
      revocation,
    },
    bodies: {
      limits: {
        maxBodyBytes: 50_000_000,
        maxUploadBytes: 50_000_000,
        maxInflatedBytes: 50_000_000,
        endpointBytes: new Map(),
        json: { maxDepth: 100, maxKeys: 1_000 },
      },
      memory: new BodyMemory(Infinity),
      turns: new BodyTurns(2, () => performance.now()),
    },
    journal,
  } as unknown as Ports
  const built = createRelay({ ...SETTINGS, ...settings })
  const relay = policy === undefined ? built : { ...built, policy }
  const api = createServer((req, res) => {
    const control = requestControl(res, shutdown)
    serveRelay(ports, relay, { requestId: 'req_test', req, res, control }).catch((error: unknown) => {
      const known = GatewayError.from(error)
      if (known.code === 'internal_error') unexpected.push(known.cause)
      if (res.headersSent) {
        res.destroy()
        return
      }
      res.writeHead(known.status, {
        'x-sluice-error': known.code,
        'retry-after': String(known.retryAfterSeconds ?? 0),
      })
      res.end(JSON.stringify({ error: { code: known.code, message: known.message, param: known.param } }))
    })
  })
  const server = await listen(api, 'http')
  return { ...server, relay, revocation, shutdown, lines, facts, unexpected }
}

/** A policy that resolves any name to these addresses. */
export function resolvesTo(...addresses: string[]): NonNullable<Relay['policy']> {
  return {
    async target(text): Promise<CheckedTarget> {
      const url = new URL(text)
      const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
      return { url, hostname: url.hostname.replace(/^\[|\]$/g, ''), port, addresses }
    },
    isAllowed: (address) => addresses.includes(address),
  }
}

export const HEADERS = { authorization: `Bearer ${UPSTREAM_KEY}`, 'content-type': 'application/json' }

/** The body that a caller posts. */
export function relayBody(url: string, format = 'openai', body = '{"model":"m"}'): string {
  return `{"url":${JSON.stringify(url)},"format":${JSON.stringify(format)},"body":${body}}`
}

/** The upstream's requests, with their whole bodies. */
export async function textOf(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
