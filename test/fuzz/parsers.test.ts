/** Parsers of untrusted input: any text yields a result or the parser's own error, never another exception. */
import type { IncomingHttpHeaders } from 'node:http'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AddressSet, isAddress, isAddressRange, unmap } from '../../contract/address.ts'
import { parseDuration } from '../../contract/duration.ts'
import { ENDPOINTS as FACTS } from '../../contract/endpoints.ts'
import { matchesGlob } from '../../contract/glob.ts'
import { hasValidChecksum, isMintedFormat, mintKey } from '../../contract/key-format.ts'
import { formatDollars, parseDollars } from '../../contract/money.ts'
import { parseAllowEntry } from '../../contract/relay-target.ts'
import { sessionOf } from '../../proxy/affinity/session.ts'
import { clientAddress } from '../../proxy/auth/client-address.ts'
import { presentedKey } from '../../proxy/auth/credentials.ts'
import { parseJsonObject } from '../../proxy/dialects/core/json/body.ts'
import { parseArguments } from '../../proxy/dialects/core/json/exact.ts'
import { elementsOf } from '../../proxy/dialects/core/json/pieces.ts'
import type { JsonLimits } from '../../proxy/dialects/core/request.ts'
import { eventEnd, sseEvents } from '../../proxy/dialects/core/sse/events.ts'
import { EventSplitter, EventTooLarge } from '../../proxy/dialects/core/sse/splitter.ts'
import { readBoundary } from '../../proxy/dialects/images/form/boundary.ts'
import { readHeader } from '../../proxy/dialects/images/form/parameters.ts'
import { readPartHead } from '../../proxy/dialects/images/form/part-head.ts'
import { ENDPOINTS } from '../../proxy/dialects/index.ts'
import { parseAnswer } from '../../proxy/dialects/messages/codec/long-inputs.ts'
import { GatewayError } from '../../proxy/errors.ts'
import { itemQuery } from '../../proxy/pipeline/stored-responses/item-page.ts'

const LIMITS: JsonLimits = {
  maxDepth: 64,
  maxKeys: 1_000,
  maxValues: 10_000,
  form: { maxParts: 8, maxFiles: 4, maxFileBytes: 1_000, maxFieldBytes: 1_000 },
}

/** Characters with a meaning in some syntax, and troublesome ones. */
const SPECIAL = [
  ...'{}[]:,"\\\'=;/*%.-+ \t\r\n0129aAeEmsh_&?#@<>',
  '\0',
  '\u007f',
  '\u00a0',
  '\u202e',
  '\ufeff',
]
const UNICODE = ['\ud800', '\udc00', '😀', '\u0301', '\u200d']
const sign = fc.constantFrom(...SPECIAL, ...UNICODE)
const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: sign, maxLength: 40 }))
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array)),
  text.map((written) => Buffer.from(written)),
)

type ErrorClass = new (...args: never[]) => Error

/** The result, or undefined if `run` throws one of these errors. */
function unlessRefused<T>(run: () => T, ...refusals: ErrorClass[]): T | undefined {
  try {
    return run()
  } catch (error) {
    if (refusals.some((refusal) => error instanceof refusal)) return undefined
    throw error
  }
}

const forAll = <T>(arbitrary: fc.Arbitrary<T>, check: (value: T) => void) =>
  fc.assert(fc.property(arbitrary, check))

describe('a request body', () => {
  const endpoints = Object.entries(ENDPOINTS)
  /** Field names of all endpoints. */
  const names = [
    ...[
      'model',
      'messages',
      'input',
      'prompt',
      'max_tokens',
      'stream',
      'stream_options',
      'tools',
      'n',
      'size',
    ],
    ...['system', 'instructions', 'images', 'mask', 'dimensions', 'encoding_format', 'service_tier', 'speed'],
    ...[
      'previous_response_id',
      'conversation',
      'store',
      'background',
      'metadata',
      '__proto__',
      'constructor',
    ],
  ]
  const junk = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    text,
    fc.constantFrom(1e308, -0, 2 ** 53, '9'.repeat(400)),
  )
  const valid = {
    model: 'm',
    max_tokens: 1,
    prompt: 'x',
    input: 'x',
    messages: [{ role: 'user', content: 'x' }],
  }
  const body = fc
    .array(fc.tuple(fc.constantFrom(...names), junk), { maxLength: 4 })
    .map((fields) => Buffer.from(JSON.stringify({ ...valid, ...Object.fromEntries(fields) })))
  const headers: IncomingHttpHeaders = { 'content-type': 'application/json' }

  test.each(endpoints)('for %s', (_name, { api }) => {
    forAll(fc.oneof(body, bytes), (given) => {
      const parsed = unlessRefused(() => api.parseRequest(given, LIMITS, headers), GatewayError)
      if (parsed === undefined) return
      expect(parsed.head.model).not.toBe('')
      const sent = api.byteLane.splice(parsed, { model: 'other', addStreamUsage: false })
      expect(JSON.parse(sent.toString()).model).toBe('other')
    })
  })

  test('cut off or with one byte changed', () => {
    const whole = Buffer.from(JSON.stringify(valid))
    forAll(
      fc.tuple(fc.nat(whole.length), fc.integer({ min: 0, max: 255 }), fc.boolean()),
      ([at, byte, cuts]) => {
        const corrupted = cuts ? whole.subarray(0, at) : Buffer.from(whole)
        if (!cuts && at < corrupted.length) corrupted[at] = byte
        for (const [, { api }] of endpoints)
          unlessRefused(() => api.parseRequest(corrupted, LIMITS, headers), GatewayError)
      },
    )
  })

  test('finds the same members as JSON.parse', () => {
    forAll(bytes, (given) => {
      const read = unlessRefused(() => parseJsonObject(given, LIMITS, new Set()), GatewayError)
      if (read === undefined) return
      const keys = read.members.map(({ rawKey }) => JSON.parse(`"${rawKey}"`))
      expect(new Set(keys)).toEqual(new Set(Object.keys(JSON.parse(given.toString()))))
    })
  })
})

test('splits a JSON array into its elements', () => {
  forAll(fc.array(fc.jsonValue()), (list) => {
    const written = JSON.stringify(list, undefined, 1)
    expect(elementsOf(Buffer.from(written)).map((one) => JSON.parse(one))).toEqual(JSON.parse(written))
  })
})

test('tool arguments', () => {
  forAll(text, (given) => {
    parseArguments(given)
    parseAnswer(given)
  })
})

test('forms: boundary, parameters and part headers', () => {
  forAll(text, (given) => {
    readHeader(given)
    unlessRefused(() => readBoundary(`multipart/form-data; ${given}`), GatewayError)
    unlessRefused(() => readPartHead(given), GatewayError)
    unlessRefused(() => readPartHead(`content-disposition: form-data; name="a"; ${given}`), GatewayError)
  })
})

describe('events', () => {
  const piece = fc.oneof(
    fc.constantFrom('data:', 'event:', ': ', '\n', '\r', '\r\n', '\n\n', '\0', '{"a":1}', '[DONE]'),
    text,
  )
  // Only a leading byte order mark: how a later one is read depends on where the stream is cut.
  const stream = fc
    .tuple(fc.constantFrom('', '\ufeff'), fc.array(piece, { maxLength: 20 }))
    .map(([mark, pieces]) => Buffer.from(mark + pieces.join('').replaceAll('\ufeff', '')))

  test('are the same however the stream is cut', () => {
    forAll(fc.tuple(stream, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 })), ([whole, sizes]) => {
      const splitter = new EventSplitter(10_000)
      const read: Buffer[] = []
      for (let at = 0, n = 0; at < whole.length; n++) {
        const size = sizes[n % sizes.length] ?? 1
        read.push(splitter.push(whole.subarray(at, at + size)) ?? Buffer.alloc(0))
        at += size
      }
      expect(Buffer.concat([...read, splitter.rest()])).toEqual(whole)
      expect(read.filter((part) => part.length > 0).flatMap(sseEvents)).toEqual(
        sseEvents(whole.subarray(0, whole.length - restOf(whole).length)),
      )
    })
  })

  const restOf = (whole: Buffer) => {
    const splitter = new EventSplitter(10_000)
    splitter.push(whole)
    return splitter.rest()
  }

  test('never exceed the size limit', () => {
    forAll(fc.tuple(stream, fc.integer({ min: 1, max: 20 })), ([whole, limit]) => {
      const splitter = new EventSplitter(limit)
      const events = unlessRefused(() => splitter.push(whole) ?? Buffer.alloc(0), EventTooLarge)
      if (events === undefined) return
      const latin1 = events.toString('latin1')
      for (let at = 0; at < latin1.length; ) {
        const end = eventEnd(latin1, at)
        // The final line ends are not counted.
        expect(latin1.slice(at, end).replace(/[\r\n]+$/, '').length).toBeLessThanOrEqual(limit)
        at = end
      }
    })
  })
})

describe('addresses', () => {
  const part = fc.constantFrom(
    '1',
    '10',
    '255',
    '256',
    '010',
    '0x7f',
    '.',
    ':',
    '::',
    'ffff',
    '%',
    '/',
    '8',
    '[',
    ']',
  )
  const written = fc.oneof(
    text,
    fc.array(part, { maxLength: 10 }).map((parts) => parts.join('')),
  )

  test('are parsed strictly: every address can be added to a set and is found in it', () => {
    forAll(written, (given) => {
      unmap(given)
      expect(isAddressRange(given)).toBe(
        unlessRefused(() => new AddressSet([given]), RangeError) !== undefined,
      )
      if (isAddress(given)) expect(new AddressSet([given]).has(given)).toBe(true)
    })
  })

  test('of clients are valid or undefined', () => {
    const trusted = new AddressSet(['10.0.0.0/8'])
    forAll(written, (given) => {
      const client = clientAddress('10.0.0.1', given, trusted)
      if (client !== undefined) expect(new AddressSet(['0.0.0.0/0', '::/0']).has(client)).toBe(true)
    })
  })

  test('in the relay’s allow list', () => {
    forAll(written, (given) => {
      const entry = parseAllowEntry(given)
      if (entry !== undefined && 'host' in entry)
        expect(new URL(`http://${entry.host}/`).hostname).toBe(entry.host)
    })
  })
})

test('presented API keys are part of a header', () => {
  forAll(fc.array(fc.tuple(fc.constantFrom('authorization', 'X-Api-Key'), text)), (headers) => {
    const read = presentedKey(headers.flat())
    if ('key' in read) expect(headers.some(([, value]) => value.includes(read.key))).toBe(true)
  })
})

test('only minted API keys have a valid checksum', () => {
  forAll(text, (given) => {
    expect(isMintedFormat(given) && hasValidChecksum(given)).toBe(false)
    const key = mintKey()
    expect(isMintedFormat(key) && hasValidChecksum(key)).toBe(true)
    expect(isMintedFormat(key + given)).toBe(given === '')
  })
})

test('durations and dollars', () => {
  const unit = fc.constantFrom('1', '0', '9', 'h', 'm', 's', 'ms', '.', '-', '+', 'e', ' ')
  forAll(
    fc.oneof(
      text,
      fc.array(unit).map((units) => units.join('')),
    ),
    (given) => {
      const ms = unlessRefused(() => parseDuration(given), RangeError)
      if (ms !== undefined) expect(ms > 0 && ms < 2 ** 31).toBe(true)
      const nanos = unlessRefused(() => parseDollars(given), RangeError)
      if (nanos !== undefined) expect(parseDollars(formatDollars(nanos))).toBe(nanos)
    },
  )
})

test('globs', () => {
  forAll(fc.tuple(text, text), ([glob, model]) => {
    matchesGlob(glob, model)
    expect(matchesGlob('*', model)).toBe(true)
    if (!model.includes('*')) expect(matchesGlob(model, model)).toBe(true)
  })
})

test('sessions and queries', () => {
  forAll(fc.tuple(text, text), ([name, value]) => {
    const session = sessionOf({ 'session-id': value }, name)
    expect([value, name, undefined]).toContain(session)
    unlessRefused(() => itemQuery(new URLSearchParams(`limit=${value}&order=${name}&${value}`)), GatewayError)
  })
})

test('covers every endpoint', () => {
  expect(Object.keys(ENDPOINTS).sort()).toEqual(Object.keys(FACTS).sort())
})
