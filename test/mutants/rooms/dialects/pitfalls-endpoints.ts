/** Faults of conversations, sockets and images known from other gateways, by the numbers of the list. */
import { faults, type Mutant } from '../../fault.ts'

const CONVERSATIONS = 'test/conformance/endpoints/pitfalls-conversations.test.ts'
const IMAGES = 'test/conformance/endpoints/pitfalls-images.test.ts'
const SOCKETS = 'test/conformance/endpoints/pitfalls-sockets.test.ts'

export const PITFALLS_OF_ENDPOINTS: Mutant[] = [
  // 7.3 All events of a socket carry one stream name.
  ...faults('proxy/socket/connection.ts', SOCKETS, [
    'new SocketClient(this.#outbox, stream, ',
    'new SocketClient(this.#outbox, undefined, ',
  ]),
  // 7.4 An empty last event drops the items, and a warm-up never completes.
  ...faults(
    'proxy/dialects/responses/chains/output.ts',
    CONVERSATIONS,
    ['const output = listed.length > 0 ? listed : streamed', 'const output = listed'],
    ['withOutput(bytes, members, streamed)', 'response'],
  ),
  ...faults('proxy/dialects/responses/chains/warm-up.ts', CONVERSATIONS, [
    "  events.event('response.in_progress', { response })\n",
    '',
  ]),
  // 7.11 Only LF ends lines, and an end without a blank line hides the last image.
  ...faults('proxy/dialects/core/sse/follower.ts', IMAGES, [
    'if (!isWholeEvent(rest)) return undefined',
    'if (rest.length > 0) return undefined',
  ]),
  // 7.11 A non-event becomes a message.
  ...faults('proxy/socket/events.ts', SOCKETS, [
    'if (open === undefined) return undefined',
    'if (open === undefined) return data',
  ]),
  // 7.12 JSON is sent to a client that reads a stream, and an error is an answer.
  ...faults('proxy/dialects/images/byte-lane/answer.ts', IMAGES, [
    'events === undefined ? body : Buffer.from(toStream(value, images, events))',
    'body',
  ]),
  ...faults('proxy/dialects/embeddings/answer.ts', IMAGES, ['isRecord(value) && value.error)', 'false)']),
  // 7.13 A ping breaks image clients, and on a socket it is a message.
  ...faults('proxy/dialects/images/index.ts', IMAGES, [
    "': keep-alive\\n\\n'",
    "'event: ping\\ndata: {}\\n\\n'",
  ]),
  ...faults('proxy/socket/heartbeat.ts', SOCKETS, ['    ws.ping()\n', '    ws.send(\'{"type":"ping"}\')\n']),
  // 7.14 The upstream keeps working after a disconnect, and a slow client fills the memory.
  ...faults('proxy/socket/connection.ts', SOCKETS, [
    'for (const control of this.#calls) control.abort(new ClientGone())',
    '',
  ]),
  ...faults('proxy/socket/socket-client.ts', SOCKETS, [
    'return !this.#waits && this.#outbox.flowing ? true : this.#await()',
    'return true',
  ]),
  // 7.19 Reasoning without text is sent by id to an upstream that lacks it, and summaries open for every owner.
  ...faults('proxy/dialects/responses/chains/output.ts', CONVERSATIONS, [
    "if (item.type !== 'reasoning' || encryptedOf(item) !== undefined) return true",
    'if (isRecord(item)) return true',
  ]),
  ...faults('proxy/dialects/core/hub/envelope.ts', CONVERSATIONS, [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source text
    'const name = `carrier:${owner}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source text
    'const name = `carrier:${owner.length}`',
  ]),
  // 7.23 A wrong label is believed, and parameters of a URL are not understood.
  ...faults('proxy/dialects/images/codec/request/encode-request.ts', IMAGES, [
    'return { ...source, mediaType: type.mediaType }',
    'return source',
  ]),
  ...faults('proxy/dialects/core/neutral/media.ts', IMAGES, [
    "if (parameters.at(-1) === 'base64') {",
    "if (parameters[0] === 'base64') {",
  ]),
  // 7.24 Only one field name of images is known, and vectors stay in the upstream's order.
  ...faults('proxy/dialects/images/fields.ts', IMAGES, ['/^image(?:\\[\\d{0,3}\\])?$/', '/^image$/']),
  ...faults('proxy/dialects/embeddings/answer.ts', IMAGES, [
    'const sorted = entries.map((_, i) => places.get(i))',
    'const sorted = entries.map((entry) => places.get(entry.index ?? 0))',
  ]),
  // 7.25 A string is not an item, and an item without a type is not a message.
  ...faults(
    'proxy/dialects/responses/chains/input.ts',
    CONVERSATIONS,
    ['if (input[0] === QUOTE) return', 'if (false) return'],
    ["if (has('role')) return 'message'", ''],
  ),
]
