/** Faults known from other gateways, by the numbers of the conformance suite's list. */
import { faults, type Mutant } from '../../fault.ts'

const STREAMS = 'test/conformance/dialects/pitfalls-streams.test.ts'
const TRANSPORT = 'test/conformance/dialects/pitfalls-transport.test.ts'
const HISTORY = 'test/conformance/dialects/pitfalls-history.test.ts'
const REQUESTS = 'test/conformance/dialects/pitfalls-requests.test.ts'

export const PITFALLS: Mutant[] = [
  // 7.1 Tool indexes count blocks, or are all the same.
  ...faults('proxy/dialects/chat/codec/answer/encode-stream.ts', STREAMS, [
    'const index = this.#calls.size\n',
    'const index = this.#calls.size + 1\n',
  ]),
  // 7.2 There is one current block, in which parallel calls mix.
  ...faults('proxy/dialects/messages/codec/answer/encode-stream.ts', STREAMS, [
    'else if (part.id !== this.#current) this.#hold(part)',
    'else if (part.id !== this.#current && this.#current === undefined) this.#hold(part)',
  ]),
  // 7.3 All items have index 0.
  ...faults('proxy/dialects/responses/codec/answer/encode-stream.ts', STREAMS, [
    'new Draft(item, this.#drafts.length)',
    'new Draft(item, 0)',
  ]),
  // 7.3 The part of a summary is not opened.
  ...faults('proxy/dialects/responses/codec/answer/encode-item-stream.ts', STREAMS, [
    "writer.event('response.reasoning_summary_part.added', { ...place, part })",
    '',
  ]),
  // 7.4 Items open without their empty lists.
  ...faults('proxy/dialects/responses/codec/answer/item-draft.ts', STREAMS, [
    'item: begun(this.item)',
    'item: { id: this.item.id, type: this.item.type }',
  ]),
  // 7.4 Delta events do not count.
  ...faults('proxy/dialects/responses/codec/answer/answer-events.ts', STREAMS, [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source text
    '${head}${this.#sequence++}',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source text
    '${head}${this.#sequence}',
  ]),
  // 7.5 The input of a stream is 0 at its start and missing at its end.
  ...faults('proxy/dialects/messages/codec/answer/message-counts.ts', STREAMS, [
    'return { input_tokens: inputEstimate(client), output_tokens: 1 }',
    'return { input_tokens: 0, output_tokens: 1 }',
  ]),
  ...faults('proxy/dialects/messages/codec/answer/encode-stream.ts', STREAMS, [
    'writeCounts(part, this.#client)',
    '{ output_tokens: part.usage?.output ?? 0 }',
  ]),
  // 7.6 A call starts without its empty input, and arguments in the start are not read.
  ...faults('proxy/dialects/messages/codec/answer/block-write-stream.ts', STREAMS, [
    "this.#client), input: {} }, 'tool_use')",
    "this.#client) }, 'tool_use')",
  ]),
  ...faults('proxy/dialects/messages/codec/answer/block-read-stream.ts', STREAMS, [
    "if (open.empty && open.input !== '') this.#emit({ type: 'tool-call-delta', id, text: open.input })",
    '',
  ]),
  // 7.7 The last block stays open, and an agent sees the end of the answer although tools are called.
  ...faults('proxy/dialects/messages/codec/answer/block-events.ts', STREAMS, [
    "this.event({ type: 'content_block_stop', index: this.#index })",
    '',
  ]),
  ...faults('proxy/dialects/chat/codec/answer/finish.ts', STREAMS, [
    "if (reason === 'stop' && hasCalls) return { reason: 'tool-calls' }",
    '',
  ]),
  // 7.8 The first of several usages counts, and an empty finish_reason is one.
  ...faults(
    'proxy/dialects/chat/codec/answer/decode-stream.ts',
    STREAMS,
    ['if (usage !== undefined) this.#usage = usage', 'if (usage !== undefined) this.#usage ??= usage'],
    ['if (isText(reason)) this.#reason = reason', "if (typeof reason === 'string') this.#reason = reason"],
    // 7.9 Content beside an empty reasoning_content is lost.
    [
      'const { content, tool_calls: calls } = delta',
      "const { content, tool_calls: calls }: Fields = 'reasoning_content' in delta ? {} : delta",
    ],
  ),
  // 7.10 Content beside calls is null for upstreams that refuse it.
  ...faults('proxy/dialects/chat/codec/request/encode-messages.ts', HISTORY, [
    "calls.length > 0 && writer.features.nullContent ? null : ''",
    "calls.length > 0 ? null : ''",
  ]),
  // 7.10 Arguments of nothing stay nothing, which no client can parse.
  ...faults('proxy/dialects/responses/codec/answer/encode-item.ts', STREAMS, [
    "kind === 'function' && input === '' ? '{}' : input",
    "kind === 'function' && input === '' ? '' : input",
  ]),
  ...faults('proxy/dialects/messages/codec/request/encode-blocks.ts', HISTORY, [
    "input.trim() === '' ? {} : ",
    '',
  ]),
  // 7.11 Lines that end in CR are one line, and an end without a blank line hides the last event.
  ...faults('proxy/dialects/core/sse/reader.ts', TRANSPORT, [
    "text.includes('\\r') ? text.replace(/\\r\\n?/g, '\\n') : text",
    'text',
  ]),
  ...faults('proxy/dialects/core/hub/stream.ts', TRANSPORT, [
    "if (rest !== '') readEvents",
    'if (false) readEvents',
  ]),
  // 7.12 An uninvited stream is not an answer, and an error in place of one is ignored.
  ...faults('proxy/dialects/core/hub/whole.ts', TRANSPORT, ['if (!looksLikeStream(body)) {', 'if (body) {']),
  ...faults('proxy/dialects/messages/codec/answer/decode-stream.ts', TRANSPORT, [
    "if (type === 'error' || value.error) this.failure",
    'if (false) this.failure',
  ]),
  // 7.13 A ping breaks clients of responses.
  ...faults('proxy/dialects/responses/index.ts', TRANSPORT, [
    "': keep-alive\\n\\n'",
    "'event: ping\\ndata: {}\\n\\n'",
  ]),
  // 7.15 Half characters are sent on, and whole ones are broken.
  ...faults('proxy/dialects/core/hub/clean.ts', HISTORY, [
    '{ ...part, text: part.text.toWellFormed() }',
    'part',
  ]),
  ...faults('proxy/dialects/core/hub/tidy.ts', TRANSPORT, [
    "(halves.get(part.id) ?? '') + part.text",
    'part.text',
  ]),
  // 7.16 Consecutive messages share a role, the first is the assistant's, or so is the last where that is refused.
  ...faults(
    'proxy/dialects/messages/codec/request/encode-turns.ts',
    HISTORY,
    ['if (last?.role === role) last.blocks', 'if (false) last.blocks'],
    ["if (messages[0]?.role !== 'user') messages.unshift({ role: 'user', blocks: [] })", ''],
    ['const continues = writer.features.prefill && ', 'const continues = '],
    ['if (writer.features.systemTurns) {', 'if (true) {'],
  ),
  // 7.16 Results without a call are kept, calls without a result are not answered, and ids repeat.
  ...faults(
    'proxy/dialects/core/hub/repair.ts',
    HISTORY,
    ['item.calls.map(resultOf)', 'item.calls.flatMap(({ result }) => result ?? [])'],
    ['call.result = callId', 'call.result ??= callId'],
    ['const callId = this.#freeId(part.callId)', 'const callId = part.callId'],
  ),
  // 7.16 Empty texts are refused.
  ...faults('proxy/dialects/messages/codec/request/encode-turns.ts', HISTORY, [
    'return blocks.length === 0 ? PLACEHOLDER : { role, content: blocks }',
    'return { role, content: blocks }',
  ]),
  // 7.17 Redacted reasoning becomes reasoning in history and is lost from streams; a second signature is ignored.
  ...faults('proxy/dialects/messages/codec/request/encode-blocks.ts', HISTORY, [
    "if (carrier.kind === 'redacted') return { type: 'redacted_thinking', data: carrier.value }",
    '',
  ]),
  ...faults('proxy/dialects/messages/codec/answer/block-write-stream.ts', TRANSPORT, [
    'if (redacted !== undefined) this.#complete(redacted)',
    '',
  ]),
  ...faults('proxy/dialects/messages/codec/answer/block-read-stream.ts', TRANSPORT, [
    "this.#prose(index, 'reasoning').carrier = {",
    "this.#prose(index, 'reasoning').carrier ??= {",
  ]),
  // 7.18 The reasoning of a turn with calls is lost.
  ...faults('proxy/dialects/chat/codec/request/encode-messages.ts', HISTORY, [
    "if (text !== '') message.reasoning_content = text",
    '',
  ]),
  // 7.19 Items of another vendor bring their ids, and our own have no prefix.
  ...faults('proxy/dialects/responses/codec/request/encode-input.ts', HISTORY, [
    "{ type: 'function_call', call_id",
    "{ type: 'function_call', id: callId, call_id",
  ]),
  ...faults('proxy/dialects/responses/codec/answer/encode-item.ts', TRANSPORT, [
    "function_call: 'fc'",
    "function_call: 'call'",
  ]),
  // 7.20 Fields that the upstream refuses are sent.
  ...faults(
    'proxy/dialects/chat/codec/request/encode-request.ts',
    REQUESTS,
    ['const byNewName = features.maxCompletionTokens', 'const byNewName = false'],
    ['stream && (features.streamUsage || wantsStreamUsage)', 'stream'],
  ),
  ...faults('proxy/dialects/messages/codec/request/encode-request.ts', REQUESTS, [
    "const free = writer.features.sampling && thinking?.type !== 'enabled'",
    "const free = thinking?.type !== 'enabled'",
  ]),
  ...faults('proxy/dialects/responses/codec/request/encode-request.ts', REQUESTS, [
    'if (writer.features.sampling !== false) return',
    'if (true) return',
  ]),
  // 7.21 The client's betas are lost, and a version is missing.
  ...faults('proxy/dialects/messages/byte-lane/headers.ts', REQUESTS, [
    '...(beta !== undefined && {',
    '...(false && {',
  ]),
  ...faults('proxy/dialects/messages/codec/request/encode-request.ts', REQUESTS, [
    "limitMarks(body, writer)\n  const headers: Record<string, string> = { 'anthropic-version': API_VERSION }",
    'limitMarks(body, writer)\n  const headers: Record<string, string> = {}',
  ]),
  // 7.22 An agent does not learn that its prompt is too long, and safeguards are dropped silently.
  ...faults('proxy/dialects/messages/error.ts', TRANSPORT, [
    "if (code !== 'context_length_exceeded') return message",
    'return message',
  ]),
  ...faults('proxy/dialects/core/lanes/hub.ts', REQUESTS, ['client.refuseStateful?.(original)', 'void 0']),
  // 7.22 A broken stream ends as a success.
  ...faults('proxy/dialects/chat/error.ts', TRANSPORT, [
    '(openaiErrorBody(error))}\\n\\n',
    '(openaiErrorBody(error))}\\n\\ndata: [DONE]\\n\\n',
  ]),
  // 7.23 The upstream refuses images with a charset, without padding, or under a wrong name.
  ...faults(
    'proxy/dialects/core/neutral/media.ts',
    REQUESTS,
    ["parameters.at(-1) === 'base64'", "parameters[0] === 'base64'"],
    ["return bare.padEnd(Math.ceil(bare.length / 4) * 4, '=')", 'return bare'],
  ),
  ...faults('proxy/dialects/messages/codec/request/encode-blocks.ts', REQUESTS, [
    'const media_type = sniffMediaType(base64) ?? named',
    'const media_type = named',
  ]),
  // 7.25 Messages without a type are refused.
  ...faults('proxy/dialects/responses/codec/request/decode-input.ts', REQUESTS, [
    "if (isAbsent && item.role !== undefined) return 'message'",
    '',
  ]),
]
