/** Faults of the chat dialect. */
import { faults, type Mutant } from '../../fault.ts'

export const CHAT: Mutant[] = [
  // Streams report no usage and are billed by estimate.
  ...faults('proxy/dialects/chat/byte-lane/splice.ts', 'proxy/dialects/chat/request.test.ts', [
    'edits.addStreamUsage && head.stream && !asksUsagePlainly(request)',
    'false',
  ]),
  // A usage of the prompt alone, sent with the first chunk, makes the whole answer free.
  ...faults('proxy/dialects/chat/byte-lane/stream.ts', 'proxy/dialects/chat/byte-lane/stream.test.ts', [
    'return this.#deltasAtUsage === this.delivered.deltas ? this.#usage : undefined',
    'return this.#usage',
  ]),
  ...faults(
    'proxy/dialects/core/sse/shape.ts',
    'proxy/dialects/core/sse/shape.test.ts',
    // A text in Chinese is charged three quarters of its tokens.
    ['if (code >= WIDE.from && code <= WIDE.to) weight++\n    else if', 'if'],
    // The last usage is overlooked if it equals the one before.
    ['|| USAGE.test(event)', ''],
  ),
  ...faults('contract/text.ts', 'contract/text.test.ts', [
    'code >= WIDE_FROM && (code < SURROGATES.from || code > SURROGATES.to)',
    'false',
  ]),
  ...faults(
    'proxy/dialects/chat/byte-lane/stream.ts',
    'proxy/dialects/chat/byte-lane/stream.test.ts',
    // A client gets an event without choices that it did not request.
    ['this.#options.addedUsage && !this.request.head.wantsStreamUsage', 'false'],
    // A cut stream ends in [DONE].
    ['if (!this.finished || this.done) return last', 'if (this.done) return last'],
    // A cut stream looks finished because the server always sends [DONE].
    ['!this.finished && (this.#options.finishReason || !this.#hasContent)', 'false'],
    // Usage in the middle of an answer ends it.
    ['this.#hasContent && this.#deltasAtEnd === this.delivered.deltas', 'this.#deltasAtUsage >= 0'],
    // An upstream's JSON error page reaches the client.
    ['!Array.isArray(chunk.choices) && !isRecord(chunk.usage)', 'false'],
  ),

  ...faults(
    'proxy/dialects/chat/codec/request/tools.ts',
    'test/conformance/dialects/rows.test.ts',
    // Clients of Mistral are refused.
    ['isAbsent && isRecord(tool.function)', 'false'],
    ["if (choice === ANY) return { type: 'required' }", ''],
  ),
  // Clients of Groq are refused.
  ...faults('proxy/dialects/chat/codec/request/thinking.ts', 'test/conformance/dialects/rows.test.ts', [
    'given === UNSET ? undefined : ',
    '',
  ]),
  ...faults(
    'proxy/dialects/core/sse/follower.ts',
    'proxy/dialects/core/sse/follower.test.ts',
    // An upstream's error text passes in an event of the dialect's shape.
    ["isRecord(value) && !value.error && value.type !== 'error'", 'isRecord(value)'],
    // An error page in the middle of a stream passes.
    ['NO_FIELD.test(lines) ? this.fail(BAD_EVENT) :', ''],
    // Empty events cost as much as an upstream likes.
    ['return this.#quiet.admit() ? verdict : this.fail(TOO_QUIET)', 'return verdict'],
  ),
  // An event that only resembles the one before passes unparsed.
  ...faults(
    'proxy/dialects/core/sse/shape.ts',
    'proxy/dialects/core/sse/shape.test.ts',
    ['return stop === end ? weight : -1', 'return stop >= 0 ? weight : -1'],
    ['if (code < SPACE) return -1', ''],
  ),
  ...faults('proxy/pipeline/attempt/mask.ts', 'proxy/pipeline/attempt/mask.test.ts', [
    // An upstream that quotes its key reveals it to clients.
    'secrets.reduce(without, bytes)',
    'bytes',
  ]),

  ...faults(
    'proxy/dialects/chat/codec/answer/decode-stream.ts',
    'proxy/dialects/chat/codec/answer/decode-stream-end.test.ts',
    // A stream without its end is a complete answer.
    ['(this.#ended || this.#isProven)', 'this.#started'],
    // [DONE] alone ends an answer.
    ['if (this.#isProven || (!this.#needsReason && this.#hasContent))', 'if (true)'],
    // Usage in the middle of an answer ends it.
    ['      this.#counted = false\n', ''],
    // Usage before any content ends an answer.
    ['isRecord(chunk.usage) && this.#hasContent', 'isRecord(chunk.usage)'],
  ),
  ...faults(
    'proxy/dialects/chat/codec/answer/decode-stream.ts',
    'proxy/dialects/chat/codec/answer/decode-stream.test.ts',
    // An empty delta opens a part.
    ["if (content !== '') this.#write('text', content, logprobs)", "this.#write('text', content, logprobs)"],
    // Reasoning sent both as text and as details is doubled.
    ['if (!this.#hasPlainReasoning) {', 'if (this.#open !== undefined) {'],
  ),
  ...faults(
    'proxy/dialects/chat/codec/answer/stream-calls.ts',
    'proxy/dialects/chat/codec/answer/decode-stream.test.ts',
    // Calls with the same number become one.
    [
      "if (id !== '' && call.id !== '') return id !== call.id",
      "if (id !== '' && call.id !== '') return false",
    ],
    // Arguments before the name are lost.
    ['      call.input += text\n      if (call.id', '      if (call.id'],
  ),
  // A call without a name, which no client can run, is an answer.
  ...faults(
    'proxy/dialects/chat/codec/answer/decode-answer.ts',
    'proxy/dialects/chat/codec/answer/answer.test.ts',
    ['if (callsOf(message).some(isNameless)) return', 'if (false) return'],
  ),
  // An empty custom tool is called instead of the function beside it.
  ...faults(
    'proxy/dialects/chat/codec/answer/call-body.ts',
    'proxy/dialects/chat/codec/answer/answer.test.ts',
    ["if (call.type === 'function') return asFunction", "if (call.type === 'function') return asCustom"],
    ["asCustom.name !== '' || asCustom.input !== ''", 'true'],
  ),
  // Missing arguments become an object in a truncated call.
  ...faults(
    'proxy/dialects/chat/codec/answer/encode-stream.ts',
    'test/conformance/dialects/broken-calls.test.ts',
    ['call === undefined || cut', 'call === undefined'],
  ),
  // An image precedes the JSON that a client parses.
  ...faults('proxy/dialects/core/neutral/media.ts', 'test/conformance/dialects/images-beside-json.test.ts', [
    ' || format !== undefined',
    '',
  ]),
  // An answer that an upstream broke off is taken for a whole one.
  ...faults(
    'proxy/dialects/chat/codec/answer/finish.ts',
    'proxy/dialects/chat/codec/answer/decode-stream-end.test.ts',
    ['return FAILURES.has(reason)', 'return false'],
  ),
  // Paragraphs of reasoning run together.
  ...faults(
    'proxy/dialects/chat/codec/answer/encode-stream.ts',
    'proxy/dialects/chat/codec/reasoning.test.ts',
    ["this.#field('reasoning_content', PARAGRAPH)", ''],
  ),
  ...faults(
    'proxy/dialects/chat/codec/answer/encode-stream.ts',
    'proxy/dialects/chat/codec/answer/encode-stream.test.ts',
    // A client that did not request usage gets an event without choices.
    ['if (this.#wantsUsage && usage !== undefined)', 'if (usage !== undefined)'],
  ),
  ...faults(
    'proxy/dialects/chat/codec/request/encode-messages.ts',
    'proxy/dialects/chat/codec/request/upstream-content.test.ts',
    // Media are in a tool result, where chat upstreams refuse them.
    ["later.push({ type: 'text', text: label }, encodePart", 'parts.push(encodePart'],
  ),
  ...faults(
    'proxy/dialects/chat/codec/request/encode-messages.ts',
    'proxy/dialects/chat/codec/request/upstream-features.test.ts',
    // Models get the reasoning of earlier turns, which some refuse.
    ["return features.reasoningHistory === 'CurrentTurn' && isCurrent", 'return true'],
  ),
  // An open schema is sent as strict, which is refused.
  ...faults(
    'proxy/dialects/core/neutral/closed-schema.ts',
    'proxy/dialects/chat/codec/request/upstream-features.test.ts',
    ['names.some((name) => !required.includes(name))', 'false'],
  ),
  // A client asks for little reasoning, and the upstream gets a request for none.
  ...faults(
    'proxy/dialects/core/neutral/effort.ts',
    'proxy/dialects/chat/codec/request/upstream-features.test.ts',
    ["level === 'none' && wanted !== 'none'", 'false'],
  ),
  // Envelopes that do not open are sent to an upstream as its own state.
  ...faults('proxy/dialects/chat/codec/reasoning.ts', 'proxy/dialects/chat/codec/reasoning.test.ts', [
    "if (carrier === 'broken') part.lostCarrier = true",
    "if (carrier === 'broken') return",
  ]),
]
