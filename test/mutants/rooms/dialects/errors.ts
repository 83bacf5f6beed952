/** Faults in reading JSON, event streams and upstream errors. */
import { faults, type Mutant } from '../../fault.ts'

export const ERRORS: Mutant[] = [
  ...faults(
    'proxy/dialects/core/json/body.ts',
    'proxy/dialects/core/json/body.test.ts',
    // Gateway and upstream read different models from one body.
    ['if (seen.has(key))', 'if (false)'],
    // A small body of brackets holds up all others for 20 ms.
    ['isQuickToParse(text) ? undefined', 'true ? undefined'],
    ['if (escaped) throw', 'if (false) throw'],
  ),
  ...faults(
    'proxy/dialects/core/json/find-members.ts',
    'proxy/dialects/core/json/find-members.test.ts',
    // A field that is written twice is found once.
    ['ends.length === count ?', 'ends.length >= count ?'],
    // What a prompt quotes is taken for a field.
    [' && !isEscaped(text, quote)', ''],
    // Keys that JSON.parse puts into another order are taken for each other.
    ['if (text.charCodeAt(start - 1) !== QUOTE || !text.startsWith(key, start)) return undefined', ''],
    // A body beyond ASCII is cut apart at the wrong bytes.
    ['text.length === body.length ?', 'true ?'],
    // A body of colons holds up all others.
    ['else if (--others < 0) return undefined', ''],
  ),
  // A message of a WebSocket is parsed whatever it holds.
  ...faults('proxy/dialects/core/json/limits.ts', 'proxy/dialects/core/json/body.test.ts', [
    'text.length <= MOST_CHARACTERS',
    'true',
  ]),
  ...faults(
    'proxy/dialects/core/json/shape.ts',
    'proxy/dialects/core/json/shape.test.ts',
    // A body of many brackets passes.
    ['this.#values += 1 + Math.max(0, commas)', 'this.#values += Math.max(0, commas)'],
    // A client hides a tool that costs money from the gateway, in a list.
    ['for (const item of items) if (isObject(item)) this.add(item, depth + 1)', 'void depth'],
    // A deep body fails without an answer.
    ['if (depth > maxDepth) throw tooDeep(maxDepth)', ''],
  ),
  // Text disguised as a file is held as cheaply as one.
  ...faults('proxy/dialects/core/json/weigh.ts', 'proxy/dialects/core/json/weigh.test.ts', [
    'FILE_FIELD.test(field) && ',
    '',
  ]),
  // A body with its fields in another order is cut apart.
  ...faults('proxy/dialects/core/json/splice.ts', 'proxy/dialects/chat/request.test.ts', [
    'cuts.toSorted((a, b) => a.start - b.start)',
    'cuts',
  ]),

  ...faults(
    'proxy/dialects/core/sse/reader.ts',
    'proxy/dialects/core/sse/reader.test.ts',
    // A field without a colon is taken for another one.
    ["(after === end || lines[after] === ':')", "lines[after] === ':'"],
    // A byte order mark hides the first event.
    ['=== BYTE_ORDER_MARK ? 1 : 0', '=== BYTE_ORDER_MARK ? 0 : 0'],
    // Of multi-line data only the last line is read.
    ['data === undefined ? value :', 'true ? value :'],
    // A last event without a blank line is lost, and with it the end of an answer.
    ['  }\n  if (data !== undefined) each(event, data)', '  }'],
  ),
  // An event whose blank line is split is not found.
  ...faults('proxy/dialects/core/sse/splitter.ts', 'proxy/dialects/core/sse/splitter.test.ts', [
    'const before = chunk[i - 1] ?? this.#last',
    'const before = chunk[i - 1] ?? 0',
  ]),

  ...faults(
    'proxy/dialects/core/errors/context-length.ts',
    'proxy/dialects/core/errors/context-length.test.ts',
    // Agents that read the numbers shorten a prompt too little.
    ['const all = used + (output ?? 0)', 'const all = used'],
    // Agents shorten a prompt forever because the numbers say that it fits.
    ['if (all <= limit) return NUMBERLESS', ''],
  ),
  // Text of an upstream, such as a host or a key, reaches a client.
  ...faults(
    'proxy/dialects/core/errors/read.ts',
    'proxy/dialects/core/errors/read.test.ts',
    ["'The upstream refused the request as invalid.'", 'error.text'],
    // A model that an upstream no longer has is the caller's mistake.
    ["if (hasMeaning(error, 'modelGone')) return 'model_gone'", ''],
    // A channel account without money is the caller's mistake, and no other channel is tried.
    ["if (describes(error, 'quota')) return 'quota'", ''],
  ),
  ...faults(
    'proxy/dialects/core/errors/sanitise.ts',
    'proxy/dialects/core/errors/sanitise.test.ts',
    // A channel's credential appears in an error.
    ['withoutSecrets(searched, known.secrets)', 'searched'],
    // A truncated key at the end of the text is not recognized.
    ['head.slice(0, Math.max(0, head.search(/\\s\\S*$/)))', 'head'],
    // An id after a keyword is shown.
    ['text.replace(IDS, maskedId)', 'text'],
  ),
  ...faults(
    'proxy/dialects/core/errors/suspects.ts',
    'proxy/dialects/core/errors/sanitise.test.ts',
    // The host of an upstream is shown.
    ['if (SUFFIXES.has(last.toLowerCase())) return true', ''],
    // A key without a known prefix is shown.
    ['return parts.some(isRandom)', 'return false'],
  ),
  ...faults(
    'proxy/pipeline/attempt/caller-error.ts',
    'test/e2e/upstream-error-messages.test.ts',
    // A channel that must not be quoted is quoted.
    [" || channel.errorMessages === 'Generic'", ''],
  ),
  // A conversation whose items an upstream has forgotten cannot be continued.
  ...faults('proxy/dialects/core/errors/read.ts', 'proxy/dialects/core/errors/carriers.test.ts', [
    'status === 400 || status === 404 ? carrierRefusal',
    'status === 400 ? carrierRefusal',
  ]),
  // A code inside the details is not read.
  ...faults('proxy/dialects/core/errors/upstream-error.ts', 'proxy/dialects/messages/threads.test.ts', [
    'details.error_code, ',
    '',
  ]),
  // Agents do not learn which field to omit.
  ...faults('proxy/dialects/core/errors/param.ts', 'proxy/dialects/core/errors/refusals.test.ts', [
    'mentioned.flatMap(withParents).find(known)',
    'mentioned.find(known)',
  ]),
  // Clients wait a thousand times too long.
  ...faults('proxy/dialects/core/errors/retry-after.ts', 'proxy/dialects/core/errors/read.test.ts', [
    "unit?.toLowerCase() === 'ms' ? Number(number) / 1000",
    "unit?.toLowerCase() === 'ms' ? Number(number)",
  ]),
  // An answer with unreadable text is a success without text.
  ...faults('proxy/dialects/core/errors/unreadable.ts', 'proxy/dialects/core/errors/unreadable.test.ts', [
    "return ''\n  throw new UnreadableAnswer()",
    "return ''\n  return ''",
  ]),
]
