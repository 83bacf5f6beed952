/** Faults of the parsers that read untrusted input. */
import { faults, type Mutant } from '../fault.ts'

const LIMITS = 'proxy/dialects/images/form/limits.test.ts'
const GZIP = 'proxy/pipeline/body/gzip.test.ts'

export const PARSERS: Mutant[] = [
  ...faults(
    'proxy/dialects/core/json/scanner.ts',
    'proxy/dialects/core/json/scanner.test.ts',
    // Parsing a list of a hundred million numbers blocks the process.
    ['else if (++values > maxValues)', 'else if (values > maxValues)'],
    // Empty nested lists are not counted.
    ['        if (++values > maxValues)', '        if (values > maxValues)'],
  ),
  ...faults(
    'proxy/dialects/core/json/disguised-keys.ts',
    'proxy/dialects/core/json/disguised-keys.test.ts',
    // Any escaped value beside a pattern in a schema is refused.
    ['colon === undefined ? []', 'false ? []'],
  ),
  ...faults('proxy/dialects/core/json/body.ts', 'proxy/dialects/core/json/body.test.ts', [
    '  if (hasDisguisedKey(text, shape))\n',
    '  if (false)\n',
  ]),
  ...faults(
    'proxy/dialects/core/json/body.ts',
    'proxy/dialects/core/json/body.test.ts',
    // The members of the body that arrived count for a body that was made from it.
    ['return scanned?.bytes === body ? scanned.members : undefined', 'return scanned?.members'],
  ),
  ...faults(
    'proxy/pipeline/body/read-body.ts',
    'proxy/pipeline/body/read-body.test.ts',
    // The members of a compressed body are those of its compressed bytes.
    ['members: membersOf(bytes, entries)', 'members: membersOf(whole(chunks), entries)'],
    // A small body with many values holds up other clients.
    [' || scanner.values > MANY_VALUES', ''],
    // A large body is read, or copied, at one go.
    ['        setImmediate(() => source.readOn())\n        return false', '        return true'],
    ['    await new Promise(setImmediate)\n', ''],
  ),

  ...faults(
    'proxy/dialects/images/fields.ts',
    LIMITS,
    // One file too many is accepted.
    ['++this.#files > this.#limits.maxFiles', 'this.#files++ > this.#limits.maxFiles'],
    // A text may be as large as a file.
    [
      'isFile(part) ? this.#limits.maxFileBytes : this.#limits.maxFieldBytes',
      'this.#limits.maxFileBytes * 2',
    ],
    // An error quotes the client's input.
    [": 'A field of the form'", ': name'],
  ),

  ...faults(
    'proxy/dialects/images/form/parse.ts',
    LIMITS,
    // The setting has no effect on forms in memory.
    ['FormScanner(boundary, maxParts, ', 'FormScanner(boundary, 64, '],
  ),

  ...faults(
    'proxy/dialects/images/form/scanner.ts',
    LIMITS,
    // One part too many is accepted.
    ['this.#parts++ === this.#maxParts', 'this.#parts++ > this.#maxParts'],
  ),

  ...faults(
    'proxy/dialects/images/upload/upload.ts',
    LIMITS,
    // The sizes of all files are added up.
    ['    this.#size = 0\n    if', '    if'],
    // Only single pieces of a file are measured.
    ['this.#size += bytes.length', 'this.#size = bytes.length'],
  ),

  ...faults(
    'proxy/pipeline/body/read-body.ts',
    GZIP,
    // Each member of a zip bomb may be as large as the limit for all.
    ['        if (size > maxBytes) throw', '        if (chunk.length > maxBytes) throw'],
    // A body of exactly the limit is refused.
    ['        if (size > maxBytes) throw', '        if (size >= maxBytes) throw'],
    // Another format is taken for gzip.
    [
      "encoding !== 'identity' && encoding !== 'gzip'",
      "encoding !== 'identity' && !encoding.includes('gzip')",
    ],
  ),

  ...faults(
    'proxy/dialects/core/neutral/keep.ts',
    'proxy/dialects/core/neutral/keep.test.ts',
    // A typed field is reported as lost.
    ['!known.has(key) && ', ''],
    // A field without a value is reported as lost.
    [' && !isEmpty(value)', ''],
    // A client's key becomes the prototype.
    [
      'const known = new Set(typed)\n  const fields = noFields()',
      'const known = new Set(typed)\n  const fields: Fields = {}',
    ],
  ),

  ...faults(
    'proxy/dialects/core/json/value.ts',
    'proxy/dialects/core/lanes/hub.test.ts',
    // A client fails a request with an unexpected error.
    ['if (error instanceof RangeError)', 'if (error instanceof SyntaxError)'],
  ),
]
