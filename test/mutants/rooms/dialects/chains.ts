/** Faults of chains, compactions and counts: what goes on from an answer, and what stands for a conversation. */
import { faults, type Mutant } from '../../fault.ts'

const FOLDER = 'proxy/dialects/responses/chains'
const COMPACTION = 'proxy/dialects/responses/compact/lanes.test.ts'
const COUNTS = 'test/e2e/image-billing.test.ts'

export const CHAINS: Mutant[] = [
  ...faults(
    `${FOLDER}/output.ts`,
    `${FOLDER}/output.test.ts`,
    // Upstreams look for what another one called so; items of hosted tools lack what they must have.
    ["const IDENTITY = ['id', 'status']", "const IDENTITY = ['status']"],
    [
      'if (!SELF_CONTAINED.has(item.type) && !isClientSearch && encryptedOf(item) === undefined) return text',
      '',
    ],
  ),
  ...faults(
    `${FOLDER}/tap.ts`,
    `${FOLDER}/tap.test.ts`,
    // Items that came side by side stand in the wrong order.
    ['this.#seen.toSorted((a, b) => a.index - b.index)', 'this.#seen'],
    // An answer without end fills the memory.
    ['if (this.#length > this.#maxLength) {', 'if (false) {'],
    // A failed answer is gone on from.
    ["['failed', 'cancelled',", "['cancelled',"],
  ),
  ...faults(
    `${FOLDER}/rewrite.ts`,
    `${FOLDER}/rewrite.test.ts`,
    // The question stands before all that was said.
    ['[...history, ...added]', '[...added, ...history]'],
    // An upstream is told to go on from what it does not know.
    ['reference === undefined ? [written] : [reference, written]', '[written]'],
  ),
  ...faults(
    `${FOLDER}/history.ts`,
    `${FOLDER}/history.test.ts`,
    // Each answer stands before its question.
    ['return [...input, ...output]', 'return [...output, ...input]'],
    // A compaction is dropped with what it stands for, or a text that names one takes all before it away.
    ['output.slice(output.findLastIndex(isCompaction))', 'output.slice(output.length)'],
    ["return isRecord(item) && item.type === 'compaction'", 'return isRecord(item)'],
  ),
  // Results of calls that nobody made reach the upstream.
  ...faults(`${FOLDER}/stray.ts`, `${FOLDER}/stray.test.ts`, [
    'results.find((id) => !calls.has(id))',
    'results.find(() => false)',
  ]),
  // Nothing is stored unless it is asked for.
  ...faults(`${FOLDER}/position.ts`, `${FOLDER}/position.test.ts`, [
    "'true or false') ?? true",
    "'true or false') ?? false",
  ]),
  // A compacted conversation is compacted again with each turn.
  ...faults(`${FOLDER}/input.ts`, `${FOLDER}/input.test.ts`, ['|| typeOf(item) !== TRIGGER', '|| true']),

  ...faults(
    'proxy/dialects/responses/compact/emulated.ts',
    'proxy/dialects/responses/compact/emulated.test.ts',
    // The model goes on with the work instead, an upstream keeps the summary, and a format spoils it.
    ["if (summaryRequest.tools.length > 0) summaryRequest.toolChoice = { type: 'none' }", ''],
    ['    store: false,\n', ''],
    ["  'format',\n", ''],
    // Agents fail over more than one item, and over none.
    ['parts: [compaction(summary, owner)]', 'parts: [...parts, compaction(summary, owner)]'],
    ["if (summary.trim() === '' || finish.reason === 'content-filter') return", 'if (false) return'],
    // A compaction costs nothing.
    ['    ...(usage !== undefined && { usage }),\n', ''],
  ),
  // A client writes what the user has said.
  ...faults('proxy/dialects/responses/compact/emulated.ts', COMPACTION, [
    "envelopes.seal({ dialect: 'responses', kind: 'compaction', value: summary })",
    'summary',
  ]),
  ...faults(
    'proxy/dialects/responses/codec/request/compactions.ts',
    'proxy/dialects/responses/codec/request/compactions.test.ts',
    // A forged compaction goes to an upstream as if it were its own.
    [
      "if (opened === 'foreign') return undefined",
      "if (opened === 'foreign' || opened === 'broken') return undefined",
    ],
  ),
  // A stream tells the summary before it is complete.
  ...faults('proxy/dialects/core/lanes/hub.ts', COMPACTION, [
    'emulation === undefined ? encoder : emulation.stream(encoder, view)',
    'encoder',
  ]),
  // What an upstream shortens itself is summarised by the gateway.
  ...faults('proxy/dialects/core/lanes/index.ts', 'proxy/dialects/core/lanes/index.test.ts', [
    'parsed.compacts === true && !features.compaction',
    'parsed.compacts === true',
  ]),
  ...faults(
    'proxy/dialects/responses/compact/answer.ts',
    COMPACTION,
    // What the user said is lost, or what everybody said is kept.
    ['output: [...userMessages(parsed, id), ...items]', 'output: items'],
    ["isRecord(item) && item.role === 'user' && ", 'isRecord(item) && '],
  ),
  ...faults(
    'proxy/dialects/responses/compact/request.ts',
    'proxy/dialects/responses/compact/compact.test.ts',
    ['  request.compacts = true\n', ''],
  ),

  // An answer without a count is one.
  ...faults('proxy/dialects/messages/count/answer.ts', 'proxy/dialects/messages/count/count.test.ts', [
    '!isRecord(value) || count(value.input_tokens) === undefined',
    '!isRecord(value)',
  ]),
  ...faults(
    'proxy/pipeline/serve.ts',
    COUNTS,
    // An estimate passes for a count, and there is none where the upstream cannot count.
    ["  client.setHeader('x-sluice-estimated', 'true')\n", ''],
    ["if (!isCount || error.code !== 'upstream_error') throw error", 'if (isCount || !isCount) throw error'],
  ),
]
