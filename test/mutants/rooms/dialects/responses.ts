/** Faults of the responses dialect. */
import { faults, type Mutant } from '../../fault.ts'

export const RESPONSES: Mutant[] = [
  ...faults(
    'proxy/dialects/responses/byte-lane/stream.ts',
    'proxy/dialects/responses/byte-lane/stream.test.ts',
    // The error event at the end of a stream repeats the number of the event before it.
    ['this.#lastSequence() + 1', 'this.#lastSequence()'],
    // A failed response passes as a success.
    ["response?.status === 'failed' || ", ''],
  ),
  // Events of an item without an id have no id.
  ...faults(
    'proxy/dialects/responses/byte-lane/to-stream.ts',
    'proxy/dialects/responses/byte-lane/answer.test.ts',
    ["typeof item.id === 'string' ? item.id :", 'true ? item.id :'],
  ),
  // Cache writes are billed twice.
  ...faults('proxy/dialects/responses/usage.ts', 'proxy/dialects/responses/usage.test.ts', [
    'count(inputDetails.cache_write_tokens) ?? 0, input - cachedInput)',
    'count(inputDetails.cache_write_tokens) ?? 0, input)',
  ]),

  ...faults(
    'proxy/dialects/responses/codec/answer/items.ts',
    'proxy/dialects/responses/codec/answer/items.test.ts',
    // Two calls with the same id become one.
    [
      'this.#get(exactKey, type, index, id) ?? this.#get(placeKey, type, index, id)',
      'this.#get(idKey, type, index, id)',
    ],
    // A call in the final output only is taken for another call.
    ['known === undefined || final === undefined || known === final', 'true'],
  ),
  // A call in which the answer ended is done, so clients run it.
  ...faults(
    'proxy/dialects/responses/codec/answer/item-draft.ts',
    'test/conformance/dialects/broken-calls.test.ts',
    ["if (this.cut) return { ...item, status: 'incomplete' }", ''],
  ),

  // The whole text is repeated after its deltas.
  ...faults(
    'proxy/dialects/responses/codec/answer/decode-message-stream.ts',
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
    // A cut answer is complete.
    ["type === 'response.incomplete' ? {", 'false ? {'],
    // Half an event is skipped, and a piece of the answer is lost.
    ["if (data.startsWith('{')) this.failure", 'if (false) this.failure'],
  ),
  // A cut answer with calls looks complete, and an agent runs half a call.
  ...faults(
    'proxy/dialects/responses/codec/answer/answer-finish.ts',
    'proxy/dialects/responses/codec/answer/decode-answer.test.ts',
    ["if (finish.reason === 'stop' && hasCalls)", 'if (hasCalls)'],
  ),
  // A failed response becomes an answer without text.
  ...faults(
    'proxy/dialects/responses/codec/answer/decode-answer.ts',
    'proxy/dialects/responses/codec/answer/decode-answer.test.ts',
    ['value.error || isFailed(value)', 'value.error'],
  ),

  // The item in which the answer was cut looks complete.
  ...faults(
    'proxy/dialects/responses/codec/answer/item-draft.ts',
    'proxy/dialects/responses/codec/answer/encode-stream.test.ts',
    ["cut ? 'incomplete' : 'completed'", "'completed'"],
  ),
  // Clients get the state of another vendor unsealed.
  ...faults(
    'proxy/dialects/responses/codec/answer/encode-item.ts',
    'proxy/dialects/responses/codec/answer/encode-answer.test.ts',
    ['isOwn ? carrier.value : client.envelopes.seal(carrier)', 'carrier.value'],
  ),

  // Reasoning without the output after it is sent, and the upstream refuses it.
  ...faults(
    'proxy/dialects/responses/codec/request/encode-input.ts',
    'proxy/dialects/responses/codec/request/encode-input.test.ts',
    ['i < lastOutput, writer', 'true, writer'],
  ),
  ...faults(
    'proxy/dialects/responses/codec/request/encode-request.ts',
    'proxy/dialects/responses/codec/request/encode-request.test.ts',
    // The vendor stores a response that the client did not store.
    ['store ?? false', 'store ?? true'],
    // A limit below the minimum is sent, and the upstream refuses it.
    ['Math.max(limit, MIN_OUTPUT_TOKENS)', 'limit'],
    // The gateway does not request encrypted reasoning, so the model loses it between turns.
    ['...(thinks ? [ENCRYPTED] : [])', ''],
  ),
  // Open schemas become strict, and the upstream refuses them.
  ...faults(
    'proxy/dialects/responses/codec/request/tools.ts',
    'proxy/dialects/responses/codec/request/encode-request.test.ts',
    ['strict === true && !isOpen', 'strict !== false && !isOpen'],
  ),
  // A cache mark of one hour lasts half an hour.
  ...faults(
    'proxy/dialects/openai/fields.ts',
    'proxy/dialects/responses/codec/request/encode-input.test.ts',
    ["'1h': '12h'", "'1h': '30m'"],
  ),
  // A conversation that its vendor stores continues elsewhere, without its history.
  ...faults(
    'proxy/dialects/responses/codec/request/stateful.ts',
    'proxy/dialects/responses/codec/request/stateful.test.ts',
    ['if (isGiven(fields.previous_response_id))', 'if (false)'],
  ),
]
