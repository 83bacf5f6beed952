/** Turns the environment into the settings of each part of a proxy. */

import { totalmem } from 'node:os'
import { AddressSet } from '../contract/address.ts'
import { SOCKET_ENDPOINT } from '../contract/endpoints.ts'
import type { Environment } from '../contract/env.ts'
import type { Limits } from './pipeline/limits.ts'
import type { RelaySettings } from './relay/relay.ts'
import type { HttpLimits } from './server/http-server.ts'
import type { LoadLimits } from './server/overload.ts'
import { FIXED_LIMITS, type SocketLimits } from './socket/limits.ts'

/** Share of the body memory for the relay, and for WebSockets: neither can take the memory of other requests. */
const RELAY_SHARE = 1 / 4

/** Memory for bodies, in bytes: of requests with a key, of relayed requests, and of messages on WebSockets. */
export function bodyMemoryOf(env: Environment): { requests: number; relay: number; sockets: number } {
  const all = env.SLUICE_BODY_MEMORY_BYTES ?? memoryLimit(env) / 4
  return { requests: all * (1 - 2 * RELAY_SHARE), relay: all * RELAY_SHARE, sockets: all * RELAY_SHARE }
}

export function limitsOf(env: Environment): Limits {
  return {
    // A body that could never be held is too large: 413, not a 503 that invites a retry.
    maxBodyBytes: Math.min(env.SLUICE_MAX_BODY_BYTES, Math.floor(bodyMemoryOf(env).requests)),
    maxUploadBytes: env.SLUICE_MAX_UPLOAD_BYTES,
    maxInflatedBytes: env.SLUICE_MAX_INFLATED_BYTES,
    endpointBytes: env.SLUICE_ENDPOINT_BODY_BYTES,
    maxAnswerBytes: env.SLUICE_MAX_ANSWER_BYTES,
    maxEventBytes: env.SLUICE_MAX_EVENT_BYTES,
    json: {
      ...jsonLimitsOf(env),
      form: {
        maxParts: env.SLUICE_MAX_FORM_PARTS,
        maxFiles: env.SLUICE_MAX_FORM_FILES,
        maxFileBytes: env.SLUICE_MAX_FILE_BYTES,
        maxFieldBytes: env.SLUICE_MAX_FIELD_BYTES,
      },
    },
    streamKeepAliveMs: env.SLUICE_STREAM_KEEPALIVE,
    clientStallMs: env.SLUICE_CLIENT_STALL_TIMEOUT,
  }
}

function jsonLimitsOf(env: Environment) {
  return {
    maxDepth: env.SLUICE_MAX_JSON_DEPTH,
    maxKeys: env.SLUICE_MAX_JSON_KEYS,
    maxValues: env.SLUICE_MAX_JSON_VALUES,
  }
}

export function relaySettingsOf(env: Environment, ownPorts: () => ReadonlySet<number>): RelaySettings {
  return {
    mode: env.SLUICE_RELAY_MODE,
    allow: env.SLUICE_RELAY_ALLOW,
    deny: env.SLUICE_RELAY_DENY,
    ports: env.SLUICE_RELAY_PORTS,
    resolvers: env.SLUICE_RELAY_RESOLVERS,
    ownPorts,
    requireApiKey: env.SLUICE_RELAY_REQUIRE_API_KEY,
    maxInFlight: env.SLUICE_RELAY_MAX_IN_FLIGHT,
    maxInFlightPerClient: env.SLUICE_RELAY_MAX_IN_FLIGHT_PER_CLIENT,
    requestsPerMinute: env.SLUICE_RELAY_REQUESTS_PER_MINUTE,
    connectMs: env.SLUICE_RELAY_CONNECT_TIMEOUT,
    totalMs: env.SLUICE_RELAY_TIMEOUT,
    bodyBytes: bodyMemoryOf(env).relay,
    proxy: env.SLUICE_RELAY_PROXY,
  }
}

export function loadLimitsOf(env: Environment): LoadLimits {
  return {
    maxInFlight: env.SLUICE_MAX_IN_FLIGHT,
    maxInFlightPerClient: env.SLUICE_MAX_IN_FLIGHT_PER_CLIENT,
    maxLoopDelayMs: env.SLUICE_MAX_LOOP_DELAY,
    maxMemoryBytes: (memoryLimit(env) * env.SLUICE_MAX_MEMORY_PERCENT) / 100,
  }
}

/** This process's share of the memory limit of the container, or of the machine. */
function memoryLimit({ SLUICE_WORKERS }: Environment): number {
  // 0 without a container.
  return Math.min(process.constrainedMemory() || Infinity, totalmem()) / SLUICE_WORKERS
}

export function socketLimitsOf(env: Environment): SocketLimits {
  return {
    ...FIXED_LIMITS,
    maxMessageBytes: Math.min(
      env.SLUICE_SOCKET_MAX_MESSAGE_BYTES,
      env.SLUICE_ENDPOINT_BODY_BYTES.get(SOCKET_ENDPOINT) ?? Infinity,
      Math.floor(bodyMemoryOf(env).sockets),
    ),
    maxHeldBytes: bodyMemoryOf(env).sockets,
    maxFragments: env.SLUICE_SOCKET_MAX_FRAGMENTS,
    json: jsonLimitsOf(env),
    // Leave room for one event of the largest size.
    maxUnsentBytes: 8 * FIXED_LIMITS.highWaterBytes + env.SLUICE_MAX_EVENT_BYTES,
    messageMs: env.SLUICE_REQUEST_TIMEOUT,
    stallMs: env.SLUICE_CLIENT_STALL_TIMEOUT,
    pingMs: env.SLUICE_SOCKET_PING,
    pongMs: env.SLUICE_SOCKET_PONG_TIMEOUT,
    maxAgeMs: env.SLUICE_SOCKET_MAX_AGE,
  }
}

export function httpLimitsOf(env: Environment): HttpLimits {
  return {
    // Node does not accept a time for headers that is longer than the time for the whole request.
    headersTimeoutMs: Math.min(env.SLUICE_HEADERS_TIMEOUT, env.SLUICE_REQUEST_TIMEOUT),
    requestTimeoutMs: env.SLUICE_REQUEST_TIMEOUT,
    idleTimeoutMs: env.SLUICE_IDLE_TIMEOUT,
    clientStallMs: env.SLUICE_CLIENT_STALL_TIMEOUT,
    maxHeaderBytes: env.SLUICE_MAX_HEADER_BYTES,
    maxHeaders: env.SLUICE_MAX_HEADERS,
    maxConnections: env.SLUICE_MAX_CONNECTIONS,
    maxConnectionsPerClient: env.SLUICE_MAX_CONNECTIONS_PER_CLIENT,
    maxRequestsPerConnection: env.SLUICE_MAX_REQUESTS_PER_CONNECTION,
    trustedProxies: new AddressSet(env.SLUICE_TRUSTED_PROXIES),
  }
}
