/** Faults of embeddings and images: order of vectors, parts of forms, and charges. */
import { faults, type Mutant } from '../../fault.ts'

const VECTORS = 'proxy/dialects/embeddings'
const IMAGES = 'proxy/dialects/images'
const MONEY = 'test/e2e/image-billing.test.ts'

export const IMAGE_FAULTS: Mutant[] = [
  ...faults(
    `${VECTORS}/vectors.ts`,
    `${VECTORS}/vectors.test.ts`,
    // Clients get other numbers than the upstream sent.
    ['view.setFloat32(i * FLOAT_BYTES, number, true)', 'view.setFloat32(i * FLOAT_BYTES, number, false)'],
    ['numbers.push(view.getFloat32(at, true))', 'numbers.push(view.getFloat32(at, false))'],
  ),
  ...faults(
    `${VECTORS}/answer.ts`,
    `${VECTORS}/answer.test.ts`,
    // Clients get vectors of other inputs, or of none.
    ['entries.map((_, i) => places.get(i))', 'entries.map((entry) => places.get(entry.index ?? 0))'],
    [
      "if (answer.data.length !== wanted.count || given.length !== wanted.count) return badAnswer('wrong_count')",
      '',
    ],
    ["if (encoding === 'float') return decode(value)", ''],
    // Bytes of another type are read as float32.
    ["if (ownNumbers) return value === '' ? undefined : value", ''],
  ),
  ...faults(
    `${VECTORS}/request.ts`,
    `${VECTORS}/request.test.ts`,
    // Each token counts as an input, and costs nothing.
    [
      "Array.isArray(input) && typeof input[0] !== 'number' ? input.length : 1",
      'Array.isArray(input) ? input.length : 1',
    ],
    [', ...(tokens !== undefined && { tokens })', ''],
  ),

  ...faults(
    `${IMAGES}/form/scanner.ts`,
    `${IMAGES}/form/parse.test.ts`,
    // A line of an image that starts like the boundary ends it, and a boundary without a line end counts.
    [
      'return bytes[at] === CR && bytes[at + 1] === LF ? { next: at + 2 } : undefined',
      'return { next: at + 2 }',
    ],
    ['bytes.indexOf(this.#delimiter, search)', 'bytes.indexOf(this.#line, search)'],
    ['this.#parts++ === this.#maxParts', 'false'],
  ),
  // A name adds parameters.
  ...faults(`${IMAGES}/form/write.ts`, `${IMAGES}/request.test.ts`, ['/["\\r\\n]/g', '/[\\r\\n]/g']),
  // The gateway reads one of two names, the upstream the other.
  ...faults(`${IMAGES}/form/parameters.ts`, `${IMAGES}/form/parse.test.ts`, [' || parameters.has(name)', '']),
  // A file with the boundary in it adds fields.
  ...faults(`${IMAGES}/edit-form.ts`, `${IMAGES}/request.test.ts`, [
    'const boundary = newBoundary()',
    'const boundary = readBoundary(contentType)',
  ]),
  // The gateway checks one of two models, the upstream uses the other.
  ...faults(`${IMAGES}/fields.ts`, `${IMAGES}/request.test.ts`, [
    "if (this.#seen.has(name)) throw refusal(name, 'appears twice in the form')",
    '',
  ]),
  // Images of any size are accepted.
  ...faults(`${IMAGES}/request.ts`, `${IMAGES}/request.test.ts`, [
    'if (decodedLength(url) > MAX_IMAGE_BYTES)',
    'if (false)',
  ]),
  // A boundary in two pieces becomes part of an image.
  ...faults(`${IMAGES}/form/scanner.ts`, `${IMAGES}/form/scanner.test.ts`, [
    '      ? bytes.length - begun.length\n',
    '      ? bytes.length\n',
  ]),
  // A model after the files is not checked.
  ...faults(`${IMAGES}/upload/upload.ts`, `${IMAGES}/upload/upload.test.ts`, [
    'if (this.hasFile && mustComeBeforeFiles(head)) throw tooLate(head.name)',
    '',
  ]),

  ...faults(
    `${IMAGES}/byte-lane/stream.ts`,
    `${IMAGES}/byte-lane/stream.test.ts`,
    // A partial image is complete, the first of several images ends the stream, and only one is charged.
    ['return this.#completed > 0 && !this.#isPending', 'return this.#completed > 0 || this.#isPending'],
    ['this.#completed < (this.request.head.images ?? 1)', 'this.#completed === 0'],
    ['{ ...this.usage, images: this.#completed }', '{ ...this.usage, images: 1 }'],
  ),
  ...faults(
    `${IMAGES}/codec/request/decode-request.ts`,
    `${IMAGES}/codec/request/decode-request.test.ts`,
    // The client requests several images and gets one.
    ['if ((head.images ?? 1) > 1)', 'if (false)'],
  ),
  // The first turn is the prompt.
  ...faults(`${IMAGES}/codec/request/encode-request.ts`, `${IMAGES}/codec/request/encode-request.test.ts`, [
    'const last = turns.at(-1)',
    'const last = turns.at(0)',
  ]),
  // The client requests an image and gets text.
  ...faults(`${IMAGES}/codec/answer/encode-answer.ts`, 'proxy/dialects/core/hub/images.test.ts', [
    'if (parts.some(isImage)) return undefined',
    'if (parts.length > 0) return undefined',
  ]),

  // Accounts without funds start images, on each lane.
  ...faults(
    'proxy/pipeline/billing/charge.ts',
    MONEY,
    ['Math.max(texts, imageTokens(images))', 'texts'],
    ['outputTokens, tier, images, calls }', 'outputTokens, tier, calls }'],
  ),
  ...faults('proxy/pipeline/serve.ts', MONEY, ['makesImages ? 1 : 0', '0']),
  // Images cost nothing if the upstream reports no usage.
  ...faults(
    'proxy/ledger/bill.ts',
    'proxy/ledger/bill.test.ts',
    ['deltas > 0 || images > 0 ||', 'deltas > 0 ||'],
    ['    images,\n  }\n', '  }\n'],
  ),
  ...faults(
    'contract/endpoints.ts',
    'contract/endpoints.test.ts',
    // Endpoints reach upstreams that lack them, and counting costs money.
    [
      "return features[serving.feature] === true ? 'byte' : serving.else",
      "return features[serving.feature] === false ? serving.else : serving.else ?? 'byte'",
    ],
    ['    unbilled: true,\n', ''],
  ),
]
