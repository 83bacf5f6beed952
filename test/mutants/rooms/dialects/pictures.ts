/** Faults of vectors and images: the order of vectors, the parts of a form, and the charges. */
import { faults, type Mutant } from '../../fault.ts'

const VECTORS = 'proxy/dialects/embeddings'
const IMAGES = 'proxy/dialects/images'
const MONEY = 'test/e2e/image-billing.test.ts'

export const PICTURES: Mutant[] = [
  ...faults(
    `${VECTORS}/vectors.ts`,
    `${VECTORS}/vectors.test.ts`,
    // Clients read other numbers than the upstream wrote.
    ['view.setFloat32(i * FLOAT_BYTES, number, true)', 'view.setFloat32(i * FLOAT_BYTES, number, false)'],
    ['numbers.push(view.getFloat32(at, true))', 'numbers.push(view.getFloat32(at, false))'],
  ),
  ...faults(
    `${VECTORS}/answer.ts`,
    `${VECTORS}/answer.test.ts`,
    // Vectors belong to other inputs, or to none.
    ['entries.map((_, i) => places.get(i))', 'entries.map((entry) => places.get(entry.index ?? 0))'],
    [
      "if (value.data.length !== wanted.count || given.length !== wanted.count) return failure('wrong_count')",
      '',
    ],
    ["if (encoding === 'float') return decode(value)", ''],
    // Bytes of another type are taken for numbers.
    ["if (ownNumbers) return value === '' ? undefined : value", ''],
  ),
  ...faults(
    `${VECTORS}/request.ts`,
    `${VECTORS}/request.test.ts`,
    // Each token is an input, and costs nothing.
    [
      "Array.isArray(input) && typeof input[0] !== 'number' ? input.length : 1",
      'Array.isArray(input) ? input.length : 1',
    ],
    [', ...(tokens !== undefined && { tokens })', ''],
  ),

  ...faults(
    `${IMAGES}/form/scanner.ts`,
    `${IMAGES}/form/parse.test.ts`,
    // An image ends at a line that starts like the boundary, and a boundary without its line end counts.
    [
      'return bytes[at] === CR && bytes[at + 1] === LF ? { next: at + 2 } : undefined',
      'return { next: at + 2 }',
    ],
    ['bytes.indexOf(this.#delimiter, search)', 'bytes.indexOf(this.#line, search)'],
    ['this.#parts++ === this.#maxParts', 'false'],
  ),
  // A name injects parameters.
  ...faults(`${IMAGES}/form/write.ts`, `${IMAGES}/request.test.ts`, ['/["\\r\\n]/g', '/[\\r\\n]/g']),
  // Of two names the gateway reads one and the upstream the other.
  ...faults(`${IMAGES}/form/parameters.ts`, `${IMAGES}/form/parse.test.ts`, [' || parameters.has(name)', '']),
  // A file that contains the boundary adds fields.
  ...faults(`${IMAGES}/edit-form.ts`, `${IMAGES}/request.test.ts`, [
    'const boundary = newBoundary()',
    'const boundary = readBoundary(contentType)',
  ]),
  // Of two models one is allowed and the other called.
  ...faults(`${IMAGES}/fields.ts`, `${IMAGES}/request.test.ts`, [
    "if (this.#seen.has(name)) throw refusal(name, 'appears twice in the form')",
    '',
  ]),
  // Endless images.
  ...faults(`${IMAGES}/request.ts`, `${IMAGES}/request.test.ts`, [
    'if (decodedLength(url) > MAX_PICTURE_BYTES)',
    'if (false)',
  ]),
  // A boundary in two pieces becomes part of an image.
  ...faults(`${IMAGES}/form/scanner.ts`, `${IMAGES}/form/scanner.test.ts`, [
    '      ? bytes.length - begun.length\n',
    '      ? bytes.length\n',
  ]),
  // A model after the files is called without being allowed.
  ...faults(`${IMAGES}/upload/upload.ts`, `${IMAGES}/upload/upload.test.ts`, [
    'if (this.hasFile && isRead(head)) throw tooLate(head.name)',
    '',
  ]),

  ...faults(
    `${IMAGES}/byte-lane/stream.ts`,
    `${IMAGES}/byte-lane/stream.test.ts`,
    // Half an image is complete, the first of several is the last, and only one is charged.
    ['return this.#completed > 0 && !this.#isPending', 'return this.#completed > 0 || this.#isPending'],
    ['this.#completed < (this.request.head.images ?? 1)', 'this.#completed === 0'],
    ['{ ...this.usage, images: this.#completed }', '{ ...this.usage, images: 1 }'],
  ),
  ...faults(
    `${IMAGES}/codec/request/decode-request.ts`,
    `${IMAGES}/codec/request/decode-request.test.ts`,
    // One of several requested images is made.
    ['if ((head.images ?? 1) > 1)', 'if (false)'],
  ),
  // An old turn is drawn.
  ...faults(`${IMAGES}/codec/request/encode-request.ts`, `${IMAGES}/codec/request/encode-request.test.ts`, [
    'const last = turns.at(-1)',
    'const last = turns.at(0)',
  ]),
  // An image request gets a text answer.
  ...faults(`${IMAGES}/codec/answer/encode-answer.ts`, 'proxy/dialects/core/hub/images.test.ts', [
    'if (parts.some(isPicture)) return undefined',
    'if (parts.length > 0) return undefined',
  ]),

  // Images are started that the account cannot pay, on each way to them.
  ...faults(
    'proxy/pipeline/billing/charge.ts',
    MONEY,
    ['Math.max(texts, imageTokens(images))', 'texts'],
    ['outputTokens, tier, images }', 'outputTokens, tier }'],
  ),
  ...faults('proxy/pipeline/serve.ts', MONEY, ['makesImages(api)) ? 1 : 0)', 'makesImages(api)) ? 0 : 0)']),
  // Uncounted images are free.
  ...faults(
    'proxy/ledger/bill.ts',
    'proxy/ledger/bill.test.ts',
    ['deltas > 0 || images > 0 ?', 'deltas > 0 ?'],
    ['    images,\n  }\n', '  }\n'],
  ),
  ...faults(
    'contract/endpoints.ts',
    'contract/endpoints.test.ts',
    // Upstreams get requests for features that they lack, and counting costs money.
    [
      "return features[way.feature] === true ? 'native' : way.else",
      "return features[way.feature] === false ? way.else : way.else ?? 'native'",
    ],
    ['    unbilled: true,\n', ''],
  ),
]
