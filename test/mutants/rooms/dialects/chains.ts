/** Faults of chains, compactions and token counts. */
import { faults, type Mutant } from '../../fault.ts'

const FOLDER = 'proxy/dialects/responses/chains'
const COMPACTION = 'proxy/dialects/responses/compact/lanes.test.ts'
const COUNTS = 'test/e2e/image-billing.test.ts'

export const CHAINS: Mutant[] = [
  ...faults(
    `${FOLDER}/output.ts`,
    `${FOLDER}/output.test.ts`,
    // Upstreams look for another upstream's ids; items of hosted tools lack required fields.
    ["const IDENTITY = ['id', 'status']", "const IDENTITY = ['status']"],
    [
      'if (!SELF_CONTAINED.has(item.type) && !isClientSearch && encryptedOf(item) === undefined) return text',
      '',
    ],
  ),
  ...faults(
    `${FOLDER}/tap.ts`,
    `${FOLDER}/tap.test.ts`,
    // Parallel items are in the wrong order.
    ['this.#seen.toSorted((a, b) => a.index - b.index)', 'this.#seen'],
    // An endless answer fills the memory.
    ['if (this.#length > this.#maxLength) {', 'if (false) {'],
    // A failed answer can be continued.
    ["['failed', 'cancelled',", "['cancelled',"],
  ),
  ...faults(
    `${FOLDER}/rewrite.ts`,
    `${FOLDER}/rewrite.test.ts`,
    // The new input comes before the history.
    ['[...history, ...added]', '[...added, ...history]'],
    // The upstream gets a reference to a response that it does not know.
    ['reference === undefined ? [written] : [reference, written]', '[written]'],
  ),
  ...faults(
    `${FOLDER}/history.ts`,
    `${FOLDER}/history.test.ts`,
    // Each answer comes before its input.
    ['return [...input, ...output]', 'return [...output, ...input]'],
    // A compaction is dropped, or a text that mentions one replaces the history.
    ['output.slice(output.findLastIndex(isCompaction))', 'output.slice(output.length)'],
    ["return isRecord(item) && item.type === 'compaction'", 'return isRecord(item)'],
  ),
  // Results without a call reach the upstream.
  ...faults(`${FOLDER}/stray.ts`, `${FOLDER}/stray.test.ts`, [
    'results.find((id) => !calls.has(id))',
    'results.find(() => false)',
  ]),
  // Responses are not stored by default.
  ...faults(`${FOLDER}/position.ts`, `${FOLDER}/position.test.ts`, [
    "'true or false') ?? true",
    "'true or false') ?? false",
  ]),
  // A compacted conversation is compacted again on each turn.
  ...faults(`${FOLDER}/input.ts`, `${FOLDER}/input.test.ts`, ['|| typeOf(item) !== TRIGGER', '|| true']),

  ...faults(
    'proxy/dialects/responses/compact/emulated.ts',
    'proxy/dialects/responses/compact/emulated.test.ts',
    // The model continues the work, the upstream stores the summary, and a format spoils it.
    ["if (summaryRequest.tools.length > 0) summaryRequest.toolChoice = { type: 'none' }", ''],
    ['    store: false,\n', ''],
    ["  'format',\n", ''],
    // The answer has several items, which agents refuse, or an empty summary.
    ['parts: [compaction(summary, owner)]', 'parts: [...parts, compaction(summary, owner)]'],
    ["if (summary.trim() === '' || finish.reason === 'content-filter') return", 'if (false) return'],
    // A compaction costs nothing.
    ['    ...(usage !== undefined && { usage }),\n', ''],
  ),
  // The summary is not sealed, so a client can forge it.
  ...faults('proxy/dialects/responses/compact/emulated.ts', COMPACTION, [
    "envelopes.seal({ dialect: 'responses', kind: 'compaction', value: summary })",
    'summary',
  ]),
  ...faults(
    'proxy/dialects/responses/codec/request/compactions.ts',
    'proxy/dialects/responses/codec/request/compactions.test.ts',
    // A forged compaction reaches the upstream.
    [
      "if (opened === 'foreign') return undefined",
      "if (opened === 'foreign' || opened === 'broken') return undefined",
    ],
  ),
  // A stream sends the summary before it is complete.
  ...faults('proxy/dialects/core/lanes/hub.ts', COMPACTION, [
    'emulation === undefined ? encoder : emulation.stream(encoder, view)',
    'encoder',
  ]),
  // An answer to an expanded request does not name the response that the client continued.
  ...faults('proxy/dialects/responses/chains/rewrite.ts', 'proxy/dialects/responses/chains/rewrite.test.ts', [
    '{ ...rewritten.own, continues }',
    'rewritten.own',
  ]),
  // The gateway summarises although the upstream can compact.
  ...faults('proxy/dialects/core/lanes/index.ts', 'proxy/dialects/core/lanes/index.test.ts', [
    'parsed.compacts === true && !features.compaction',
    'parsed.compacts === true',
  ]),
  ...faults(
    'proxy/dialects/responses/compact/answer.ts',
    COMPACTION,
    // The user's messages are lost, or all messages are kept.
    ['output: [...userMessages(parsed, id), ...items]', 'output: items'],
    ["isRecord(item) && item.role === 'user' && ", 'isRecord(item) && '],
  ),
  ...faults(
    'proxy/dialects/responses/compact/request.ts',
    'proxy/dialects/responses/compact/compact.test.ts',
    ['  request.compacts = true\n', ''],
  ),

  // An answer without a count is accepted.
  ...faults('proxy/dialects/messages/count/answer.ts', 'proxy/dialects/messages/count/count.test.ts', [
    '!isRecord(value) || count(value.input_tokens) === undefined',
    '!isRecord(value)',
  ]),
  ...faults(
    'proxy/pipeline/serve.ts',
    COUNTS,
    // An estimate looks like a count, and there is none if the upstream cannot count.
    ["  client.setHeader('x-sluice-estimated', 'true')\n", ''],
    ["if (!isCount || error.code !== 'upstream_error') throw error", 'if (isCount || !isCount) throw error'],
  ),
]
