/** Faults of the responses dialect. */
import { faults, type Mutant } from '../../fault.ts'

export const RESPONSES: Mutant[] = [
  ...faults(
    'proxy/dialects/responses/byte-lane/stream.ts',
    'proxy/dialects/responses/byte-lane/stream.test.ts',
    // The error that ends a stream repeats the number of the event before it.
    ['this.#lastSequence() + 1', 'this.#lastSequence()'],
    // A failed response is passed on as a success.
    ["response?.status === 'failed' || ", ''],
  ),
  // Events of an item without an id name none.
  ...faults(
    'proxy/dialects/responses/byte-lane/to-stream.ts',
    'proxy/dialects/responses/byte-lane/answer.test.ts',
    ["typeof item.id === 'string' ? item :", 'true ? item :'],
  ),
  // Cache writes are billed twice.
  ...faults('proxy/dialects/responses/usage.ts', 'proxy/dialects/responses/usage.test.ts', [
    'count(inputDetails.cache_write_tokens) ?? 0, input - cachedInput)',
    'count(inputDetails.cache_write_tokens) ?? 0, input)',
  ]),

  ...faults(
    'proxy/dialects/responses/codec/answer/items.ts',
    'proxy/dialects/responses/codec/answer/items.test.ts',
    // Two calls with one id are one.
    [
      'this.#get(exactKey, type, index, id) ?? this.#get(placeKey, type, index, id)',
      'this.#get(idKey, type, index, id)',
    ],
    // A call that only the final output contains is taken for another one.
    ['told === undefined || final === undefined || told === final', 'true'],
  ),
  // Clients run a call whose item is done although the answer was cut.
  ...faults(
    'proxy/dialects/responses/codec/answer/item-draft.ts',
    'test/conformance/dialects/broken-calls.test.ts',
    ["if (this.cut) return { ...item, status: 'incomplete' }", ''],
  ),

  // The whole text repeats after its deltas.
  ...faults(
    'proxy/dialects/responses/codec/answer/item-reader-message.ts',
    'proxy/dialects/responses/codec/answer/decode-stream-gaps.test.ts',
    ['text.slice(open.sent)', 'text'],
  ),
  // The parts of parallel items mix.
  ...faults(
    'proxy/dialects/responses/codec/answer/item-queue.ts',
    'proxy/dialects/responses/codec/answer/decode-stream.test.ts',
    ['if (this.#waiting.length === 1) sink.release()', 'sink.release()'],
  ),
  ...faults(
    'proxy/dialects/responses/codec/answer/decode-stream.ts',
    'proxy/dialects/responses/codec/answer/decode-stream-end.test.ts',
    // A truncated answer is complete.
    ["type === 'response.incomplete' ? {", 'false ? {'],
    // Half an event is ignored, and with it a piece of the answer.
    ["if (data.startsWith('{')) this.failure", 'if (false) this.failure'],
  ),
  // A truncated answer with calls looks whole, and an agent runs half a call.
  ...faults(
    'proxy/dialects/responses/codec/answer/answer-finish.ts',
    'proxy/dialects/responses/codec/answer/decode-answer.test.ts',
    ["if (finish.reason === 'stop' && hasCalls)", 'if (hasCalls)'],
  ),
  // A failed response is an answer without text.
  ...faults(
    'proxy/dialects/responses/codec/answer/decode-answer.ts',
    'proxy/dialects/responses/codec/answer/decode-answer.test.ts',
    ['value.error || isFailed(value)', 'value.error'],
  ),

  // The item in which an answer was truncated looks complete.
  ...faults(
    'proxy/dialects/responses/codec/answer/item-draft.ts',
    'proxy/dialects/responses/codec/answer/encode-stream.test.ts',
    ["cut ? 'incomplete' : 'completed'", "'completed'"],
  ),
  // Clients get another vendor's sealed state without an envelope.
  ...faults(
    'proxy/dialects/responses/codec/answer/item-write.ts',
    'proxy/dialects/responses/codec/answer/encode-answer.test.ts',
    ['isOwn ? carrier.value : client.envelopes.seal(carrier)', 'carrier.value'],
  ),

  // Reasoning without its output is refused.
  ...faults(
    'proxy/dialects/responses/codec/request/write-items.ts',
    'proxy/dialects/responses/codec/request/write-items.test.ts',
    ['i < lastSaid, target', 'true, target'],
  ),
  ...faults(
    'proxy/dialects/responses/codec/request/encode-request.ts',
    'proxy/dialects/responses/codec/request/encode-request.test.ts',
    // The vendor stores data of a client that did not allow it.
    ['store ?? false', 'store ?? true'],
    // A limit that is too small is refused.
    ['Math.max(maxOutputTokens, MIN_OUTPUT_TOKENS)', 'maxOutputTokens'],
    // Encrypted reasoning is not requested, so the model forgets its reasoning.
    ['...(thinks ? [ENCRYPTED] : [])', ''],
  ),
  // Open schemas are refused because strict is the default.
  ...faults(
    'proxy/dialects/responses/codec/request/tools.ts',
    'proxy/dialects/responses/codec/request/encode-request.test.ts',
    ['strict === true && !isOpen', 'strict !== false && !isOpen'],
  ),
  // An hour of caching becomes half an hour.
  ...faults('proxy/dialects/openai/fields.ts', 'proxy/dialects/responses/codec/request/write-items.test.ts', [
    "'1h': '12h'",
    "'1h': '30m'",
  ]),
  // A conversation kept by the vendor continues elsewhere without its start.
  ...faults(
    'proxy/dialects/responses/codec/request/stateful.ts',
    'proxy/dialects/responses/codec/request/stateful.test.ts',
    ['if (isGiven(fields.previous_response_id))', 'if (false)'],
  ),
]
