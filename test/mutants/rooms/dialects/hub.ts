/** Faults between two dialects: the neutral form, the preparation of requests, the choice of a lane. */
import { faults, type Mutant } from '../../fault.ts'

const RULES = 'test/e2e/dialects/rules.test.ts'

export const HUB: Mutant[] = [
  ...faults(
    'proxy/dialects/core/hub/repair.ts',
    'proxy/dialects/core/hub/repair.test.ts',
    // The model's text after its results precedes them.
    ['same.answer.answered = true', ''],
    // Of two calls with one id both get the last result.
    ['same.calls[same.results] ?? same.calls.at(-1)', 'same.calls.at(-1)'],
    // The last call, which waits for its result, gets an empty one.
    ['isTail && !item.answered ? [] : ', ''],
  ),
  // Vendor state without text is dropped.
  ...faults('proxy/dialects/core/hub/clean.ts', 'proxy/dialects/core/hub/repair.test.ts', [
    'part.carrier !== undefined || part.lostCarrier',
    'part.lostCarrier',
  ]),
  // Of two overlapping stop sequences the later one cuts.
  ...faults('proxy/dialects/core/hub/stop-search.ts', 'proxy/dialects/core/hub/stop.test.ts', [
    'this.#length - matched <= best.at',
    'this.#length - matched < best.at',
  ]),
  ...faults(
    'proxy/dialects/core/hub/stop.ts',
    'proxy/dialects/core/hub/stop.test.ts',
    // An agent does not run the calls of an answer that a stop sequence ended.
    ["this.#calls ? { reason: 'tool-calls' } : ", ''],
    // The start of a possible stop sequence is delivered too early.
    ['hit?.at ?? this.#search.safe', 'hit?.at ?? Number.POSITIVE_INFINITY'],
  ),
  // Two tools of a request share a name.
  ...faults('proxy/dialects/core/hub/tool-names.ts', 'proxy/dialects/core/hub/tool-names.test.ts', [
    ' && !this.#tools.has(tool.name)',
    '',
  ]),
  // A result has another kind than its call.
  ...faults('proxy/dialects/core/hub/tools.ts', 'proxy/dialects/core/hub/tools.test.ts', [
    'adapted.kind = this.#kind(adapted.kind)',
    'adapted.kind = adapted.kind',
  ]),
  // The input of a custom tool comes back as its JSON wrapper.
  ...faults('proxy/dialects/core/hub/tool-restore.ts', 'proxy/dialects/core/hub/tools.test.ts', [
    "typeof value.input === 'string' ? value.input : text",
    "typeof value.input === 'string' ? text : text",
  ]),
  // A model may make calls that the client did not allow.
  ...faults('proxy/dialects/core/hub/tool-choice.ts', 'proxy/dialects/core/hub/tool-choice.test.ts', [
    'tools: tools.filter((tool) => allowed.has(tool))',
    'tools',
  ]),
  ...faults(
    'proxy/dialects/core/hub/repeats.ts',
    'proxy/dialects/core/hub/repeats.test.ts',
    // Another field of an event is taken for its text.
    ["if (data.includes('\\\\')) return", ''],
    // An event with another name passes as the one before.
    ['delta === undefined || event !== this.#event', 'delta === undefined'],
  ),
  ...faults(
    'proxy/dialects/core/hub/tidy.ts',
    'proxy/dialects/core/hub/tidy.test.ts',
    // Two calls of an answer share an id, so their results cannot be matched.
    ['for (let n = 2; calls.has(own); n++)', 'for (let n = 2; false; n++)'],
    // Half a character at the end of a text is dropped silently.
    ['if (halves.delete(part.id)) emit(rest)', ''],
  ),
  ...faults(
    'proxy/dialects/core/hub/call-guard.ts',
    'test/conformance/dialects/broken-calls.test.ts',
    // Half an object is delivered as a call.
    ["isRecord(tryParse(input)) ? 'whole' : 'broken'", "'whole'"],
    // The limit excuses any call, not only the last.
    ['isCut && id === this.#last', 'isCut'],
    // A call that ends before its arguments is run without any.
    ["if (kind === 'custom' || isBlank(input)) return 'open'", "if (isBlank(input)) return 'whole'"],
    // The end of a broken call is only checked at the end of the answer.
    ['if (this.#waiting.length > 0) this.#release', "if (part.type === 'finish') this.#release"],
  ),
  // An upstream that gives no finish reason is never believed.
  ...faults('proxy/dialects/core/lanes/hub.ts', 'test/e2e/dialects/unfinished.test.ts', [
    '        features,\n',
    '',
  ]),
  // State sealed for one account opens for another.
  ...faults('proxy/dialects/core/hub/envelope.ts', 'proxy/dialects/core/hub/envelope.test.ts', [
    "  owner: string,\n  dialects: Readonly<Record<ApiName, Pick<Dialect, 'carriers'>>>,\n",
    "  _owner: string,\n  dialects: Readonly<Record<ApiName, Pick<Dialect, 'carriers'>>>,\n  owner = '',\n",
  ]),
  // State in a prompt full of numbers is not opened.
  ...faults('proxy/dialects/core/hub/envelope.ts', 'proxy/dialects/core/hub/envelope.test.ts', [
    '  return body.includes(BEGIN, from - BEGIN.length)',
    '  return false',
  ]),
  // Fields that only the client's dialect knows are dropped silently.
  ...faults('proxy/dialects/core/hub/prepare.ts', 'test/conformance/dialects/rows.test.ts', [
    'addExtLosses(carried, dialect, losses)',
    '',
  ]),
  // Upstreams without stop sequences keep writing.
  ...faults('proxy/dialects/core/hub/prepare.ts', 'proxy/dialects/core/hub/prepare.test.ts', [
    'if (stopSequences || stop.length === 0)',
    'if (stop.length >= 0)',
  ]),

  // The carrier of reasoning, which its vendor wants back, is lost at its end.
  ...faults('proxy/dialects/core/neutral/fold.ts', 'proxy/dialects/core/neutral/fold.test.ts', [
    '          part.carrier = p.carrier\n',
    '',
  ]),
  // All paragraphs of reasoning become one.
  ...faults('proxy/dialects/core/neutral/unfold.ts', 'proxy/dialects/core/neutral/fold.test.ts', [
    'id, text, paragraph })',
    'id, text, paragraph: 0 })',
  ]),
  // Broken base64 is forwarded.
  ...faults('proxy/dialects/core/neutral/media.ts', 'proxy/dialects/core/neutral/media.test.ts', [
    ' || bare.length % 4 === 1',
    '',
  ]),

  // A client sees the name of the upstream's model.
  ...faults('proxy/dialects/core/lanes/index.ts', RULES, [
    'rewriteModel: about.rewriteModel',
    'rewriteModel: false',
  ]),
  // An envelope reaches an upstream of the client's dialect unopened.
  ...faults('proxy/dialects/core/lanes/index.ts', 'proxy/dialects/core/lanes/state.test.ts', [
    'const sealed = parsed.sealed ?? isSealed(client, parsed.body)',
    'const sealed = false',
  ]),
  // While its answer streams, a large body is in memory twice.
  ...faults('proxy/dialects/core/lanes/index.ts', 'proxy/dialects/core/lanes/index.test.ts', [
    'parsed.value?.drop()',
    '',
  ]),
  // Another vendor's state, once opened, goes to an upstream of the client's dialect.
  ...faults('proxy/dialects/messages/byte-lane/state.ts', 'proxy/dialects/core/lanes/state.test.ts', [
    "opened.dialect === 'messages' && opened.kind === carrying?.kind",
    'true',
  ]),
  // A message without content is sent.
  ...faults('proxy/dialects/messages/byte-lane/state.ts', 'proxy/dialects/core/lanes/state.test.ts', [
    'removed.length > 0 && removed.length === content.length',
    'false',
  ]),
  // State that an upstream refused is sent to it again.
  ...faults('proxy/dialects/responses/byte-lane/state.ts', 'proxy/dialects/core/lanes/state.test.ts', [
    'if (!withoutCarriers) {',
    'if (true) {',
  ]),
  // A text that mentions a model is taken for its name.
  ...faults('proxy/dialects/core/json/edit.ts', 'proxy/dialects/core/lanes/byte.test.ts', [
    '\n    .filter((member) => keyOf(member) === key)',
    '',
  ]),
  // A route that should reject drops.
  ...faults('proxy/dialects/core/lanes/hub.ts', RULES, [
    "if (target.unsupported === 'Reject') refuseLosses(losses)",
    '',
  ]),
  // JSON that an upstream streams uninvited reaches the client as a stream.
  ...faults('proxy/dialects/core/lanes/byte.ts', RULES, ['!looksLikeStream(body)', 'true']),
  // An uninvited stream that was cut is presented as an answer.
  ...faults('proxy/dialects/core/lanes/byte.ts', 'proxy/dialects/core/lanes/byte.test.ts', [
    'if (!observer.finished) return',
    'if (false) return',
  ]),
  // Thousands of stop sequences are searched for at each character of an answer.
  ...faults('proxy/dialects/core/hub/prepare.ts', 'proxy/dialects/core/hub/prepare.test.ts', [
    'if (stop.length > MAX_STOPS)',
    'if (false)',
  ]),
  // Of details in pieces the vendor gets back only the first.
  ...faults('proxy/dialects/core/hub/stream.ts', 'proxy/dialects/core/hub/stream.test.ts', [
    'if (decoder.forgetsText === true)',
    'if (decoder.forgetsText !== undefined)',
  ]),
  // A call in the history names an undeclared tool.
  ...faults('proxy/dialects/core/hub/tools.ts', 'proxy/dialects/core/hub/tools.test.ts', [
    '!declared.has(keyOf(part)) && declared.has(keyOf({ kind, name }))',
    'false',
  ]),
  // A loss is reported under a name that the client never sent.
  ...faults('proxy/dialects/core/neutral/losses.ts', 'test/conformance/dialects/rows.test.ts', [
    'if (name !== undefined) return name',
    '',
  ]),
  // A field is raised, dropped or truncated silently.
  ...faults(
    'proxy/dialects/responses/codec/request/encode-request.ts',
    'test/conformance/dialects/losses.test.ts',
    ['maxOutputTokens < MIN_OUTPUT_TOKENS', 'maxOutputTokens < 1'],
  ),
  ...faults(
    'proxy/dialects/responses/codec/request/decode-input.ts',
    'test/conformance/dialects/losses.test.ts',
    [
      "keep(HERE, item, ['type', 'role', 'content', ...IDENTITY])",
      "keep(HERE, item, ['type', 'role', 'content', 'phase', ...IDENTITY])",
    ],
  ),
  ...faults('proxy/dialects/chat/codec/request/cache.ts', 'test/conformance/dialects/losses.test.ts', [
    'return isMark ? {} : { [CONTROL]: control }',
    'return {}',
  ]),
  // A cached prompt is paid in full.
  ...faults('proxy/dialects/chat/codec/request/cache.ts', 'test/conformance/dialects/rows.test.ts', [
    "if (type !== 'ephemeral' ||",
    "if (type === 'ephemeral' ||",
  ]),
  // A complete answer keeps names that only the upstream knows.
  ...faults('proxy/dialects/core/lanes/hub.ts', 'test/conformance/dialects/returns.test.ts', [
    'filtered(decoded, filters)',
    'decoded',
  ]),
]
