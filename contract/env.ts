/**
 * The environment of every program, read once at start. docs/environment.md is made from this table, and the
 * programs print it, secrets left out, when they start.
 */
import { z } from 'zod'
import { AddressSet } from './address.ts'
import { DURATION, parseDuration } from './duration.ts'

const port = (value: number) => {
  const error = 'must be a port, 0 to 65535'
  return z.coerce.number({ error }).int({ error }).min(0, { error }).max(65535, { error }).default(value)
}
const bytes = (value: number, max = 1_073_741_824) =>
  z.coerce.number().int().min(1024).max(max).default(value)
const count = (value: number) => z.coerce.number().int().min(1).max(10_000_000).default(value)
const time = (value: string) =>
  z
    .string()
    .min(2)
    .regex(DURATION, 'must be a duration such as 30s, 5m or 1h30m')
    .default(value)
    .transform((text) => parseDuration(text))
const listed = (text: string) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
const redisUrl = z
  .string()
  .refine(
    (text) => listed(text).length > 0 && listed(text).every(isRedisAddress),
    'must be redis:// or rediss:// addresses, separated by commas; in a password % is written %25, a comma %2C',
  )
  .optional()

function isRedisAddress(text: string): boolean {
  if (!/^rediss?:\/\/./.test(text)) return false
  try {
    const { username, password, pathname } = new URL(text)
    decodeURIComponent(username)
    decodeURIComponent(password)
    return /^(\/\d*)?$/.test(pathname)
  } catch {
    return false
  }
}
const MIB = 1_048_576

export const environment = z.object({
  SLUICE_PORT: port(8080).describe('Port of the API. 0 takes a free one.'),
  SLUICE_ADMIN_PORT: port(8081).describe(
    'Port of metrics, health and what the command line reads. 0 takes a free one.',
  ),
  SLUICE_HOST: z.string().optional().describe('Address to listen on; default all interfaces.'),
  SLUICE_CONFIG_DIR: z
    .string()
    .optional()
    .describe('Folder of resources, read by `sluice dev`; default the quickstart example.'),
  SLUICE_NAMESPACE: z
    .string()
    .default('default')
    .describe(
      'Namespace of the resources in a folder; in a cluster, the one of the Lease, default that of the pod.',
    ),
  SLUICE_REDIS_URL: redisUrl.describe(
    'The Redis that controller and proxies share, as redis:// or rediss:// with user and password where they are needed; several addresses separated by commas are nodes of one Cluster.',
  ),
  SLUICE_STATE_REDIS_URL: redisUrl.describe(
    'A Redis of its own for conversations and the request log; default SLUICE_REDIS_URL.',
  ),
  SLUICE_SEALING_KEYS_FILE: z
    .string()
    .optional()
    .describe(
      'File with the keys that seal what is stored in Redis and what clients carry; see docs/redis.md. Read again when ' +
        'it changes. `sluice dev` without it makes a key that ends with the process.',
    ),
  SLUICE_WATCH_NAMESPACES: z
    .string()
    .default('')
    .transform(listed)
    .describe('Namespaces that the controller watches, separated by commas; default all.'),
  SLUICE_LEASE_NAME: z
    .string()
    .default('sluice-controller')
    .describe('Lease that decides which controller leads.'),
  SLUICE_LEASE_DURATION: time('15s').describe(
    'How long a controller that stopped answering stays leader; it renews its Lease in a fraction of it.',
  ),
  SLUICE_INSTANCE: z
    .string()
    .max(128)
    .regex(/^[-.\w]+$/, 'may have letters, digits, -, _ and .')
    .optional()
    .describe('Name of this process among its peers; default the host name and a random part.'),
  SLUICE_KEY_MAX_AGE: time('10m').describe(
    'How long a proxy serves what it knows of API keys while Redis is away; after that their requests are answered 503.',
  ),
  SLUICE_ADMIN_TOKEN: z
    .string()
    .min(16)
    .optional()
    .describe(
      'Token for the guarded paths of the admin port. Without it they answer loopback addresses only.',
    ),
  SLUICE_ADMIN_URLS: z
    .string()
    .default('')
    .transform(listed)
    .describe(
      'Admin ports that the command line asks, separated by commas; default http://127.0.0.1:8081, else the pods of the cluster.',
    ),
  SLUICE_TRUSTED_PROXIES: z
    .string()
    .default('')
    .transform(listed)
    .refine((ranges) => {
      try {
        return new AddressSet(ranges) !== undefined
      } catch {
        return false
      }
    }, 'must be addresses or CIDR ranges, separated by commas')
    .describe('Addresses or CIDR ranges of the ingress, whose X-Forwarded-For is believed.'),
  SLUICE_ALLOW_EMPTY_TABLE: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')
    .describe('Lets a table without routes replace one with routes.'),
  SLUICE_MAX_BODY_BYTES: bytes(64 * MIB).describe('Largest request body that is held in memory.'),
  SLUICE_MAX_UPLOAD_BYTES: bytes(850 * MIB).describe(
    'Largest form with pictures to edit. One that is larger than SLUICE_MAX_BODY_BYTES is passed on while it comes, so that only one upstream can be asked, and needs its text fields before its files.',
  ),
  SLUICE_MAX_INFLATED_BYTES: bytes(32 * MIB).describe('Largest request body after gzip is undone.'),
  SLUICE_MAX_ANSWER_BYTES: bytes(64 * MIB).describe('Largest answer of an upstream that is not a stream.'),
  SLUICE_MAX_EVENT_BYTES: bytes(32 * MIB).describe('Largest event in an upstream stream.'),
  SLUICE_CONVERSATION_TTL: time('24h').describe(
    'How long a stored conversation is kept after it was last needed.',
  ),
  SLUICE_BINDING_DAYS: count(30).describe(
    'Days for which it is known which channel keeps a response that its upstream stores.',
  ),
  SLUICE_MAX_EXCHANGE_BYTES: bytes(4 * MIB, 256 * MIB).describe(
    'Most that one request and its answer may take of a stored conversation; larger ones are served and not stored.',
  ),
  SLUICE_MAX_CONVERSATION_BYTES: bytes(64 * MIB).describe(
    'Most that the stored conversations of one account may take; beyond, answers are served and not stored.',
  ),
  SLUICE_MAX_JSON_DEPTH: count(64).describe('Deepest nesting of a JSON request.'),
  SLUICE_MAX_JSON_KEYS: count(50_000).describe('Most object keys in a JSON request.'),
  SLUICE_MAX_CONNECTIONS: count(10_000).describe('Client connections that a proxy accepts.'),
  SLUICE_MAX_IN_FLIGHT: count(10_000).describe('Requests in flight beyond which new ones are answered 503.'),
  SLUICE_HEADERS_TIMEOUT: time('10s').describe('Time for a client to send its request headers.'),
  SLUICE_REQUEST_TIMEOUT: time('120s').describe(
    'Time for a client to send its whole request, or a whole message of a WebSocket.',
  ),
  SLUICE_IDLE_TIMEOUT: time('65s').describe(
    'How long an idle client connection is kept; above the load balancer’s.',
  ),
  SLUICE_STREAM_KEEPALIVE: time('15s').describe('Silence in a stream after which a keep-alive is sent.'),
  SLUICE_CLIENT_STALL_TIMEOUT: time('60s').describe('How long a client may leave a stream unread.'),
  SLUICE_SOCKET_PING: time('20s').describe(
    'Silence on a WebSocket after which its client is asked for a sign of life.',
  ),
  SLUICE_SOCKET_PONG_TIMEOUT: time('10s').describe(
    'Time for that sign; without one the connection is cut off.',
  ),
  SLUICE_SOCKET_MAX_AGE: time('60m').describe(
    'Age of a WebSocket at which it takes no more requests; its client opens a new one.',
  ),
  SLUICE_SOCKET_MEMORY_BYTES: bytes(512 * MIB).describe(
    'Most that all WebSockets of a proxy together remember of answers, for requests that go on from them; one of them remembers at most 64 MiB.',
  ),
  SLUICE_DRAIN_TIMEOUT: time('620s').describe(
    'How long requests in flight may take to finish after SIGTERM.',
  ),
  SLUICE_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Program log level.'),
  SLUICE_LOG_UPSTREAM_BODIES: z
    .enum(['full', 'redacted'])
    .default('full')
    .describe(
      'Whether the request log quotes upstream error bodies (credentials masked; they may quote the request).',
    ),
})
export type Environment = z.output<typeof environment>

/** Names whose values are never printed. */
const SECRET_NAMES = new Set(['SLUICE_ADMIN_TOKEN', 'SLUICE_REDIS_URL', 'SLUICE_STATE_REDIS_URL'])

/**
 * What Kubernetes injects for a Service called sluice or sluice-admin: SLUICE_SERVICE_HOST, and under the very names of
 * two settings SLUICE_PORT=tcp://10.0.0.1:8080 and SLUICE_ADMIN_PORT.
 */
const SERVICE_LINK = /^(tcp|udp|sctp):\/\//

/**
 * Parses the environment; an empty value counts as unset. `unknown` lists SLUICE_ names that are no settings, for a
 * warning only, because Kubernetes puts such names there too. Throws EnvironmentError with one line for each name at
 * fault.
 */
export function readEnvironment(env: Record<string, string | undefined>): {
  env: Environment
  unknown: string[]
} {
  const given: Record<string, string> = {}
  const unknown: string[] = []
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith('SLUICE_') || value === undefined || value === '') continue
    if (Object.hasOwn(environment.shape, name) && !SERVICE_LINK.test(value)) given[name] = value
    else unknown.push(name)
  }
  const parsed = environment.safeParse(given)
  if (!parsed.success)
    throw new EnvironmentError(
      parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n'),
    )
  return { env: parsed.data, unknown }
}

export class EnvironmentError extends Error {
  override name = 'EnvironmentError'
}

/** The environment for the log at start: secrets show only that they are set. */
export function redactedEnvironment(env: Environment): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      SECRET_NAMES.has(name) && value !== undefined ? '(set)' : value,
    ]),
  )
}
