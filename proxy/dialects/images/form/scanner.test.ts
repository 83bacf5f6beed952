import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../../../test/harness/cpu.ts'
import { GatewayError } from '../../../errors.ts'
import { parseForm } from './parse.ts'
import { MAX_PADDING, type PartHead } from './part-head.ts'
import { FormScanner } from './scanner.ts'

const MAX_PARTS = 64

interface ReadPart extends PartHead {
  content: string
}

/** The parts of a form that arrives in these pieces, or the error. */
function scan(chunks: readonly Buffer[], boundary = 'b'): ReadPart[] | string {
  const parts: ReadPart[] = []
  let open: ReadPart | undefined
  const scanner = new FormScanner(boundary, MAX_PARTS, {
    partStart(head) {
      open = { ...head, content: '' }
    },
    content(bytes) {
      if (open !== undefined) open.content += bytes.toString('latin1')
    },
    partEnd() {
      if (open !== undefined) parts.push(open)
      open = undefined
    },
  })
  return verdict(() => {
    for (const chunk of chunks) scanner.push(chunk)
    scanner.end()
    return parts
  })
}

function whole(body: Buffer, boundary = 'b'): ReadPart[] | string {
  return verdict(() =>
    parseForm(body, boundary, MAX_PARTS).map(({ start, end, ...head }) => ({
      ...head,
      content: body.toString('latin1', start, end),
    })),
  )
}

function verdict(read: () => ReadPart[]): ReadPart[] | string {
  try {
    return read()
  } catch (error) {
    if (error instanceof GatewayError) return `${error.code}: ${error.message}`
    throw error
  }
}

/** Cuts at each position, even out of range. */
function cut(body: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (body.length + 1)))].sort((a, b) => a - b)
  return [...at, body.length].map((end, i) => body.subarray(at[i - 1] ?? 0, end))
}

const bytes = (body: Buffer) => Array.from(body, (_, i) => body.subarray(i, i + 1))
const part = (content: string, name = 'a') =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${content}\r\n`

const LINES = [
  '\r\n--b\r\n',
  '--b\r\n',
  '\r\n--b--',
  '\r\n--b-',
  '\r\n--b \t\r\n',
  '\r\n--b \r',
  '\r\n--bc\r\n',
  '\n--b\n',
  '\r\r\n--b\r\n\r\n',
]
const HEADS = [
  'Content-Disposition: form-data; name="a"\r\n\r\n',
  'Content-Disposition: form-data; name="image"; filename="x"\r\nContent-Type: image/png\r\n\r\n',
  'X: 1\r\n\r\n',
  '\r\n\r\n',
]
const PIECES = [...LINES, ...HEADS, 'text', '\r', '\n', '\r\n', '--', '-', ' ', 'b']
/** Valid and almost valid forms. */
const nearForm = fc
  .tuple(
    fc.constantFrom('', 'preamble', '\r\n'),
    fc.array(
      fc.tuple(fc.constantFrom(...LINES), fc.constantFrom(...HEADS), fc.array(fc.constantFrom(...PIECES))),
    ),
    fc.constantFrom('', '\r\n--b--', '\r\n--b--\r\n', '\r\n--b--epilogue\r\n--b\r\n'),
  )
  .map(([before, parts, end]) => {
    const text = parts.map(([line, head, pieces]) => line + head + pieces.join('')).join('')
    return Buffer.from(`${before}--b\r\n${HEADS[0]}${text}${end}`)
  })

describe('a form in pieces', () => {
  test('has the same parts, whatever the pieces are', () => {
    let good = 0
    const check = fc.property(nearForm, fc.array(fc.nat({ max: 5_000 })), (body, places) => {
      const expected = whole(body)
      if (Array.isArray(expected)) good++
      for (const chunks of [[body], cut(body, places), bytes(body)]) {
        const found = scan(chunks)
        // With several faults, the other reader may report another one.
        if (typeof expected === 'string') expect(typeof found).toBe('string')
        else expect(found).toEqual(expected)
      }
    })
    fc.assert(check)
    expect(good).toBeGreaterThan(5)
  })

  test('a form byte by byte', () => {
    const body = Buffer.from(
      `before\r\n${part('one\r\n--c\r\n--bc\r\n-- b')}${part('', 'e')}--b--after\r\n--b\r\n`,
    )
    const expected = [
      { name: 'a', content: 'one\r\n--c\r\n--bc\r\n-- b' },
      { name: 'e', content: '' },
    ]
    expect(scan([body])).toEqual(expected)
    expect(scan(bytes(body))).toEqual(expected)
  })

  test.each([
    ['does not have the boundary', ''],
    ['does not have the boundary', 'x--b--'],
    ['ends before its last boundary', part('x')],
    ['ends before its last boundary', `${part('x')}--b-`],
    ['ends before its last boundary', `${part('x')}--b--`.replace('\r\n--b--', '--b--')],
    ['ends within the headers', '--b\r\nContent-Disposition: form-data; name="a"'],
    ['ends within the headers', `${part('x')}--b\r\n`],
    ['more than 8192 bytes of headers', `--b\r\nX-Long: ${'x'.repeat(9_000)}\r\n\r\n`],
    ['malformed headers', '--b\r\n\r\n\r\n--b--'],
    ['more than 64 parts', `${part('x').repeat(65)}--b--`],
  ])('refused: it %s', (sentence, text) => {
    expect(scan([Buffer.from(text)])).toContain(sentence)
    expect(scan(bytes(Buffer.from(text)))).toContain(sentence)
  })

  test('accepts values at the limits', () => {
    expect(scan([Buffer.from(`${part('x').repeat(64)}--b--`)])).toHaveLength(64)
    const padded = (spaces: number) =>
      Buffer.from(`${part('x')}--b${' '.repeat(spaces)}\r\nX: y\r\n\r\n\r\n--b--`)
    for (const read of [whole, (body: Buffer) => scan([body]), (body: Buffer) => scan(bytes(body))]) {
      expect(read(padded(MAX_PADDING))).toContain('without a name')
      expect(read(padded(MAX_PADDING + 1))).toEqual([
        { name: 'a', content: `x\r\n--b${' '.repeat(MAX_PADDING + 1)}\r\nX: y\r\n\r\n` },
      ])
    }
    const name = 'Content-Disposition: form-data; name="a"\r\n'
    const fill = (length: number) =>
      `--b\r\n${name}X: ${'x'.repeat(length - name.length - 3)}\r\n\r\ny\r\n--b--`
    expect(scan([Buffer.from(fill(8_188))])).toEqual([{ name: 'a', content: 'y' }])
    expect(scan([Buffer.from(fill(8_189))])).toContain('bytes of headers')
  })
})

describe('buffering', () => {
  test('emits content at once unless it may be a boundary', () => {
    const seen: number[] = []
    const scanner = new FormScanner('b', MAX_PARTS, {
      partStart: () => undefined,
      content: (piece) => void seen.push(piece.length),
      partEnd: () => undefined,
    })
    scanner.push(Buffer.from(part('').slice(0, -2)))
    scanner.push(Buffer.alloc(1_000, 'x'))
    scanner.push(Buffer.from('yy\r\n--'))
    expect(seen).toEqual([1_000, 2])
    scanner.push(Buffer.from('z'))
    expect(seen.reduce((sum, length) => sum + length)).toBe(1_007)
  })

  test('does not collect endless spaces after a boundary or endless headers', () => {
    const endless = (text: string) => [Buffer.from(text), ...Array(100).fill(Buffer.alloc(1_000, ' '))]
    expect(scan([...endless(`${part('x')}--b`), Buffer.from('\r\n--b--')])).toHaveLength(1)
    expect(scan(endless('--b\r\n'))).toContain('bytes of headers')
  })

  test('takes linear time', () => {
    const hostile = [Buffer.from(part('').slice(0, -2))]
    for (let i = 0; i < 4_000; i++) hostile.push(Buffer.alloc(10_000, '\r\n--b \r'))
    expect(scan([...hostile.slice(0, 400)])).toContain('last boundary')
    const sink = { partStart: () => undefined, content: () => undefined, partEnd: () => undefined }
    const scanner = new FormScanner('b', MAX_PARTS, sink)
    const spent = cpuMs(() => {
      for (const chunk of hostile) scanner.push(chunk)
    })
    expect(spent).toBeLessThan(4_000)
  })
})
