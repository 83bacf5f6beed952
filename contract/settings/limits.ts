/** Bounds on what clients and upstreams may send, and how long they may take. */
import { z } from 'zod'
import { ENDPOINTS } from '../endpoints.ts'
import { bound, bytes, count, list, MIB, time } from './fields.ts'

/** The endpoints of the API, and the relay. */
const BOUNDED = [...Object.keys(ENDPOINTS), 'relay']

const MOST_BYTES = 1_073_741_824

/** By endpoint, as `name=bytes` separated by commas. */
function endpointBytes() {
  return list()
    .refine(
      (texts) => texts.every((text) => boundIn(text) !== undefined),
      `must be name=bytes separated by commas, with names of ${BOUNDED.join(', ')} and 1024 to ${MOST_BYTES} bytes`,
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
  SLUICE_MAX_BODY_BYTES: bytes(64 * MIB).describe('Largest request body that is held in memory.'),
  SLUICE_MAX_UPLOAD_BYTES: bytes(850 * MIB).describe(
    'Largest form with pictures to edit. One that is larger than SLUICE_MAX_BODY_BYTES is passed on while it comes, so that only one upstream can be asked, and needs its text fields before its files.',
  ),
  SLUICE_ENDPOINT_BODY_BYTES: endpointBytes().describe(
    'Lower bounds than SLUICE_MAX_BODY_BYTES for single endpoints, such as `embeddings=1048576,relay=4194304`.',
  ),
  SLUICE_BODY_MEMORY_BYTES: z.coerce
    .number()
    .int()
    .min(MIB)
    .optional()
    .describe(
      'Most that the bodies of all requests in flight may take, a quarter of it those of the relay and a quarter messages of WebSockets; beyond, new ones are answered 503. Default a quarter of the memory that the process may use.',
    ),
  SLUICE_MAX_LARGE_BODIES_PER_KEY: count(2).describe(
    'Request bodies above 1 MiB of one key (at the relay without keys: of one client address) that are parsed at a time; others wait their turn, and all of them together leave half of the time to other clients.',
  ),
  SLUICE_MAX_INFLATED_BYTES: bytes(32 * MIB).describe('Largest request body after gzip is undone.'),
  SLUICE_MAX_ANSWER_BYTES: bytes(64 * MIB).describe('Largest answer of an upstream that is not a stream.'),
  SLUICE_MAX_EVENT_BYTES: bytes(32 * MIB).describe('Largest event in an upstream stream.'),
  SLUICE_MAX_JSON_DEPTH: count(64).describe('Deepest nesting of a JSON request.'),
  SLUICE_MAX_JSON_KEYS: count(50_000).describe('Most object keys in a JSON request.'),
  SLUICE_MAX_JSON_VALUES: count(500_000).describe(
    'Most values in a JSON request, those in lists among them.',
  ),
  SLUICE_MAX_FORM_PARTS: count(80).describe('Most parts of a form.'),
  SLUICE_MAX_FORM_FILES: count(17).describe('Most files in a form: 16 pictures and a mask.'),
  SLUICE_MAX_FILE_BYTES: bytes(50 * MIB).describe('Largest file in a form.'),
  SLUICE_MAX_FIELD_BYTES: bytes(MIB).describe('Largest text field in a form.'),
  SLUICE_MAX_HEADER_BYTES: bytes(16_384, MIB).describe(
    'Largest head of a request: its first line and its headers.',
  ),
  SLUICE_MAX_HEADERS: count(100).describe('Most headers of a request.'),
  SLUICE_MAX_CONNECTIONS: count(10_000).describe('Client connections that a proxy accepts.'),
  SLUICE_MAX_CONNECTIONS_PER_CLIENT: bound().describe(
    'Connections of one address; 0 for no bound. SLUICE_TRUSTED_PROXIES have none.',
  ),
  SLUICE_MAX_REQUESTS_PER_CONNECTION: count(1_000).describe('Requests after which a connection is closed.'),
  SLUICE_MAX_IN_FLIGHT: count(10_000).describe('Requests in flight beyond which new ones are answered 503.'),
  SLUICE_MAX_IN_FLIGHT_PER_CLIENT: bound().describe(
    'Requests in flight of one client address beyond which it is answered 429; 0 for no bound.',
  ),
  SLUICE_MAX_LOOP_DELAY: time('500ms').describe(
    'Delay of the event loop (99th percentile over two seconds) beyond which new requests are answered 503.',
  ),
  SLUICE_MAX_MEMORY_PERCENT: z.coerce
    .number()
    .int()
    .min(1)
    .max(100)
    .default(85)
    .describe('Share of its memory limit that a process may take before new requests are answered 503.'),
  SLUICE_HEADERS_TIMEOUT: time('10s').describe('Time for a client to send its request headers.'),
  SLUICE_REQUEST_TIMEOUT: time('120s').describe(
    'Time for a client to send its whole request, or a whole message of a WebSocket once 4 KiB of it have come.',
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
  SLUICE_SOCKET_MAX_MESSAGE_BYTES: bytes(64 * MIB).describe('Largest message of a WebSocket.'),
  SLUICE_SOCKET_MAX_FRAGMENTS: count(1_024).describe(
    'Most frames that a message of a WebSocket may come in.',
  ),
}
