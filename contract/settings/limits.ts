/** Limits on the size and number of what clients and upstreams send, and on the time they take. */
import { z } from 'zod'
import { ENDPOINTS } from '../endpoints.ts'
import { bound, bytes, count, list, MIB, time } from './fields.ts'

/** Endpoints that SLUICE_ENDPOINT_BODY_BYTES may name. */
const BOUNDED = [...Object.keys(ENDPOINTS), 'relay']

const MOST_BYTES = 1_073_741_824

/** `name=bytes` pairs separated by commas. */
function endpointBytes() {
  return list()
    .refine(
      (texts) => texts.every((text) => boundIn(text) !== undefined),
      `must be name=bytes pairs separated by commas; names: ${BOUNDED.join(', ')}; sizes: 1024 to ${MOST_BYTES}`,
    )
    .refine(
      (texts) => new Set(texts.map((text) => text.split('=')[0])).size === texts.length,
      'must name each endpoint once',
    )
    .transform((texts): ReadonlyMap<string, number> => new Map(texts.flatMap((text) => boundIn(text) ?? [])))
}

function boundIn(text: string): [[string, number]] | undefined {
  const [name = '', bytes = '', ...rest] = text.split('=')
  const isBound = rest.length === 0 && BOUNDED.includes(name) && /^\d{1,10}$/.test(bytes)
  const size = Number(bytes)
  return isBound && size >= 1024 && size <= MOST_BYTES ? [[name, size]] : undefined
}

export const limitSettings = {
  SLUICE_MAX_BODY_BYTES: bytes(64 * MIB).describe('Largest request body that the proxy buffers in memory.'),
  SLUICE_MAX_UPLOAD_BYTES: bytes(850 * MIB).describe(
    'Largest image-edit form. A form larger than SLUICE_MAX_BODY_BYTES is streamed to the upstream as it arrives: it cannot be retried, and its text fields must come before its files.',
  ),
  SLUICE_ENDPOINT_BODY_BYTES: endpointBytes().describe(
    'Limits lower than SLUICE_MAX_BODY_BYTES for single endpoints, such as `embeddings=1048576,relay=4194304`.',
  ),
  SLUICE_BODY_MEMORY_BYTES: z.coerce
    .number()
    .int()
    .min(MIB)
    .optional()
    .describe(
      'Memory for the bodies of all requests in flight. The relay and WebSocket messages may each take a quarter of it. Beyond it, new requests are answered 503. Default: a quarter of the memory that the process may use.',
    ),
  SLUICE_MAX_LARGE_BODIES_PER_KEY: count(2).describe(
    'Number of large request bodies (above 1 MiB, or above 128 KiB with more than 20,000 values) that are parsed or converted at once for one key (for the relay without keys: for one client address). Others wait their turn. Together, the large bodies of one key leave half of the time to other clients.',
  ),
  SLUICE_MAX_INFLATED_BYTES: bytes(32 * MIB).describe('Largest request body after gzip decompression.'),
  SLUICE_MAX_ANSWER_BYTES: bytes(64 * MIB).describe('Largest non-streaming answer of an upstream.'),
  SLUICE_MAX_EVENT_BYTES: bytes(32 * MIB).describe('Largest event in a stream from an upstream.'),
  SLUICE_MAX_JSON_DEPTH: count(64).describe('Maximum nesting depth of a JSON request.'),
  SLUICE_MAX_JSON_KEYS: count(50_000).describe('Maximum number of object keys in a JSON request.'),
  SLUICE_MAX_JSON_VALUES: count(500_000).describe(
    'Maximum number of values in a JSON request, including those in arrays.',
  ),
  SLUICE_MAX_FORM_PARTS: count(80).describe('Maximum number of parts in a form.'),
  SLUICE_MAX_FORM_FILES: count(17).describe('Maximum number of files in a form: 16 images and a mask.'),
  SLUICE_MAX_FILE_BYTES: bytes(50 * MIB).describe('Largest file in a form.'),
  SLUICE_MAX_FIELD_BYTES: bytes(MIB).describe('Largest text field in a form.'),
  SLUICE_MAX_HEADER_BYTES: bytes(16_384, MIB).describe(
    'Maximum size of the request line and headers of a request.',
  ),
  SLUICE_MAX_HEADERS: count(100).describe('Maximum number of headers in a request.'),
  SLUICE_MAX_CONNECTIONS: count(10_000).describe('Client connections that a proxy accepts.'),
  SLUICE_MAX_CONNECTIONS_PER_CLIENT: bound().describe(
    'Connections that one client address may have; 0 for no limit. Does not apply to SLUICE_TRUSTED_PROXIES.',
  ),
  SLUICE_MAX_REQUESTS_PER_CONNECTION: count(1_000).describe(
    'Number of requests after which a connection is closed.',
  ),
  SLUICE_MAX_IN_FLIGHT: count(10_000).describe(
    'Maximum number of requests in flight. Beyond it, new ones are answered 503.',
  ),
  SLUICE_MAX_IN_FLIGHT_PER_CLIENT: bound().describe(
    'Maximum number of requests in flight from one client address; 0 for no limit. Beyond it, new ones are answered 429.',
  ),
  SLUICE_MAX_DRAINS: count(500).describe(
    'Number of calls to upstreams that go on after their client has left, to learn what they cost. Beyond it, the call is ended and an estimate is charged.',
  ),
  SLUICE_TAG_NAMES: list().describe(
    'Names that the tags of requests may have (x-sluice-tag), such as project,team. Empty: any.',
  ),
  SLUICE_MAX_LOOP_DELAY: time('500ms').describe(
    'Event loop delay (99th percentile over two seconds) beyond which new requests are answered 503.',
  ),
  SLUICE_MAX_MEMORY_PERCENT: z.coerce
    .number()
    .int()
    .min(1)
    .max(100)
    .default(85)
    .describe('Percentage of the memory limit of the process beyond which new requests are answered 503.'),
  SLUICE_HEADERS_TIMEOUT: time('10s').describe('Time for a client to send its request headers.'),
  SLUICE_REQUEST_TIMEOUT: time('120s').describe(
    'Time for a client to send its whole request, or the whole of a WebSocket message once its first 4 KiB have arrived.',
  ),
  SLUICE_IDLE_TIMEOUT: time('65s').describe(
    'How long an idle client connection is kept open. Set it higher than that of the load balancer in front.',
  ),
  SLUICE_STREAM_KEEPALIVE: time('15s').describe('Silence in a stream after which a keep-alive is sent.'),
  SLUICE_CLIENT_STALL_TIMEOUT: time('60s').describe(
    'How long a client may stop reading a stream before it is cut off.',
  ),
  SLUICE_SOCKET_PING: time('20s').describe('Silence on a WebSocket after which a ping is sent.'),
  SLUICE_SOCKET_PONG_TIMEOUT: time('10s').describe(
    'Time for the client to answer a ping; then the connection is cut off.',
  ),
  SLUICE_SOCKET_MAX_AGE: time('60m').describe(
    'Age at which a WebSocket accepts no more requests; the client has to open a new one.',
  ),
  SLUICE_SOCKET_MEMORY_BYTES: bytes(512 * MIB).describe(
    'Memory that all WebSockets of a proxy may take together to keep answers that later requests continue. A single WebSocket keeps at most 64 MiB.',
  ),
  SLUICE_SOCKET_MAX_MESSAGE_BYTES: bytes(64 * MIB).describe('Largest WebSocket message.'),
  SLUICE_SOCKET_MAX_FRAGMENTS: count(1_024).describe('Maximum number of frames in a WebSocket message.'),
}
