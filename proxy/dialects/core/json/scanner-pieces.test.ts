import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GatewayError } from '../../../errors.ts'
import { JsonScanner, NEAR_BYTES, scanObject } from './scanner.ts'

const LIMITS = { maxDepth: 4, maxKeys: 6, maxValues: 12 }

/** The result for bytes that arrive in these chunks. */
function verdict(run: () => void): string {
  try {
    run()
    return 'fine'
  } catch (error) {
    if (error instanceof GatewayError) return error.message
    throw error
  }
}

function guarded(bytes: Buffer, cuts: readonly number[]): string {
  return verdict(() => {
    const guard = new JsonScanner({ limits: LIMITS, onlyObjects: true })
    let from = 0
    for (const cut of [...cuts.map((n) => n % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]) {
      guard.push(bytes.subarray(from, cut))
      from = cut
    }
  })
}

const text = fc.array(fc.constantFrom('"', '\\', 'a', ':', '[', '{', '}', ' ', '\u00e9', '\\"', '\\\\'), {
  maxLength: 12,
})
const json = fc.oneof(
  fc.json({ maxDepth: 6 }).map((value) => `{"a":${value}}`),
  text.map((parts) => `{"a":"${parts.join('')}","b":[1,2,{"c":3}]}`),
  fc
    .array(fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', '1', ' ', '\n'), { maxLength: 60 })
    .map((parts) => `{${parts.join('')}`),
)

test('a body in any pieces gets the same result as the whole', () => {
  fc.assert(
    fc.property(json, fc.array(fc.nat(200), { maxLength: 12 }), (source, cuts) => {
      const bytes = Buffer.from(source)
      expect(guarded(bytes, cuts)).toBe(verdict(() => scanObject(bytes, LIMITS)))
    }),
  )
})

test.each(['[', ' \n"a"', '\0', '1', '\ufeff{}', 'null', '}'])(
  '%j is not an object, whatever follows',
  (start) => {
    expect(guarded(Buffer.from(`${start}{}`), [])).toBe('The body must be a JSON object.')
  },
)

test('a limit is reported before the rest arrives', () => {
  const guard = new JsonScanner({ limits: { maxDepth: 64, maxKeys: 10, maxValues: 10 } })
  guard.push(Buffer.from('{"a":["\\"[[[[[[[[[[[[[["'))
  expect(() => guard.push(Buffer.from(',1'.repeat(9)))).toThrow('more than 10 values')
})

/** Long strings are searched differently from short ones. */
const LONG = 'x'.repeat(10 * NEAR_BYTES)

test.each(
  ['', LONG].flatMap((before): [string, string, string][] => [
    ['after a backslash', `{"a":"${before}\\`, '"[[[[[[","b":1}'],
    ['after two backslashes', `{"a":"${before}\\\\`, '","b":1}'],
    ['in the middle of a text', `{"a":"${before}x`, '[[[[[["}'],
  ]),
)('a string that is cut %s continues in the next chunk', (_, first, second) => {
  const bytes = Buffer.from(first + second)
  JSON.parse(bytes.toString())
  expect(guarded(bytes, [Buffer.byteLength(first)])).toBe('fine')
})
