/** Faults of the messages dialect. */
import { faults, type Mutant } from '../../fault.ts'

export const MESSAGES: Mutant[] = [
  // An error event named only in its event line reaches the client.
  ...faults('proxy/dialects/core/sse/follower.ts', 'proxy/dialects/messages/byte-lane/stream.test.ts', [
    "event !== 'error' && isRecord(value)",
    'isRecord(value)',
  ]),
  // A call of an answer names another thing: JavaScript drops the last digits of an id.
  ...faults(
    'proxy/dialects/messages/codec/long-inputs.ts',
    'proxy/dialects/messages/codec/long-inputs.test.ts',
    ['withLongInputs(value, () => text) : value', 'value : value'],
  ),
  // Clients run a call whose block has stopped although the answer was cut.
  ...faults(
    'proxy/dialects/messages/codec/answer/block-write-stream.ts',
    'test/conformance/dialects/broken-calls.test.ts',
    ['if (part.cut) this.#abandon()', 'if (false) this.#abandon()'],
  ),
  // A call that was cut before its arguments is run without any.
  ...faults(
    'proxy/dialects/messages/codec/answer/block-read.ts',
    'test/conformance/dialects/broken-calls.test.ts',
    ["input: isEmptyObject(input) ? '' : inputText(input)", 'input: inputText(input)'],
  ),
  // A tool's input comes twice.
  ...faults(
    'proxy/dialects/messages/byte-lane/answer.ts',
    'proxy/dialects/messages/byte-lane/answer.test.ts',
    ['skeleton: { ...block, input: {} }', 'skeleton: block'],
  ),
  // The end of a stream, which has no input count, makes the input free.
  ...faults('proxy/dialects/messages/usage.ts', 'proxy/dialects/messages/usage.test.ts', [
    '([, value]) => value !== null',
    '() => true',
  ]),

  ...faults(
    'proxy/dialects/messages/codec/answer/decode-stream.ts',
    'proxy/dialects/messages/codec/answer/decode-stream.test.ts',
    ['this.#usage = mergeUsage(this.#usage, value.usage)', 'this.#usage = value.usage'],
    // A stream that ends with a block is a complete answer.
    ['return this.done', 'return this.#begun'],
  ),
  ...faults(
    'proxy/dialects/messages/codec/answer/block-read-stream.ts',
    'proxy/dialects/messages/codec/answer/block-read-stream.test.ts',
    // A call without arguments has none that a client could parse.
    [
      "if (open.empty && open.input !== '') this.#emit({ type: 'tool-call-delta'",
      "if (open.input === '') this.#emit({ type: 'tool-call-delta'",
    ],
    // A signature in the start of a block is lost.
    ['      open.carrier = part.carrier\n', ''],
  ),
  // The signature of reasoning without text is lost, and the next request is refused.
  ...faults(
    'proxy/dialects/messages/codec/answer/block-read.ts',
    'proxy/dialects/messages/codec/answer/decode-answer.test.ts',
    ['const signed = typeof', 'const signed = texts.length > 0 && typeof'],
  ),
  // An agent does not run calls beside end_turn.
  ...faults(
    'proxy/dialects/messages/codec/answer/stop-reason.ts',
    'proxy/dialects/messages/codec/answer/decode-answer.test.ts',
    ["const reason = stopped ? (hasCalls ? 'tool-calls' : 'stop') : reported", 'const reason = reported'],
  ),

  // Agents show an empty context.
  ...faults(
    'proxy/dialects/messages/codec/answer/message-counts.ts',
    'proxy/dialects/messages/codec/answer/encode-stream.test.ts',
    [' || totalInput(usage) === 0', ''],
  ),
  // Clients get another vendor's sealed state without an envelope.
  ...faults(
    'proxy/dialects/messages/codec/answer/block-write.ts',
    'proxy/dialects/messages/codec/answer/encode-answer.test.ts',
    ['return client.envelopes.seal(carrier)', 'return carrier.value'],
  ),
  // An empty text opens a block.
  ...faults(
    'proxy/dialects/messages/codec/answer/block-write-stream.ts',
    'proxy/dialects/messages/codec/answer/block-write-stream.test.ts',
    ["    if (text === '') return\n    this.#open()", '    this.#open()'],
  ),
  // Events that arrive while another part is written are lost.
  ...faults(
    'proxy/dialects/messages/codec/answer/encode-stream.ts',
    'proxy/dialects/messages/codec/answer/encode-stream-order.test.ts',
    [
      '    this.#current = undefined\n    this.#writeHeld()',
      '    this.#current = undefined\n    this.#waiting.clear()',
    ],
  ),

  ...faults(
    'proxy/dialects/messages/codec/request/encode-blocks.ts',
    'proxy/dialects/messages/codec/request/encode-thinking.test.ts',
    // Another vendor's state is sent as a signature.
    ["if (carrier?.dialect === 'messages') {", 'if (carrier !== undefined) {'],
  ),
  // The earliest cache marks are kept, so the long tail of a conversation is not cached.
  ...faults(
    'proxy/dialects/messages/codec/request/cache.ts',
    'proxy/dialects/messages/codec/request/cache.test.ts',
    ['marked.slice(0, -MAX_MARKS)', 'marked.slice(MAX_MARKS)'],
  ),
  ...faults(
    'proxy/dialects/messages/codec/request/encode-turns.ts',
    'proxy/dialects/messages/codec/request/encode-turns.test.ts',
    // Text precedes the results in a message, which is refused.
    ['return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))]', 'return blocks'],
    // Trailing white space of a prefill is refused.
    ['const text = last.text.trimEnd()', 'const text = last.text'],
  ),
  ...faults(
    'proxy/dialects/messages/codec/request/encode-thinking.ts',
    'proxy/dialects/messages/codec/request/encode-thinking.test.ts',
    // Models with a reasoning budget refuse a history of calls without reasoning.
    ['if (callsWithoutThinking(messages))', 'if (false)'],
    // The budget is larger than the limit.
    ['if (budget < maxTokens) return', 'if (budget > 0) return'],
  ),
  // A schema with limits that the API refuses passes unchanged.
  ...faults(
    'proxy/dialects/messages/codec/request/json-schema.ts',
    'proxy/dialects/messages/codec/request/json-schema.test.ts',
    ['out.additionalProperties = false', ''],
  ),
  // An envelope that does not open is taken for a signature of the vendor.
  ...faults(
    'proxy/dialects/messages/codec/request/decode-blocks.ts',
    'proxy/dialects/messages/codec/request/decode-request.test.ts',
    ["if (opened === 'broken') return { lostCarrier: true }", "if (opened === 'broken') return {}"],
  ),
]
