import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eventEnd, sseEvents } from './events.ts'
import { EventSplitter, EventTooLarge } from './splitter.ts'

const eol = fc.constantFrom('\n', '\r\n', '\r')
const text = fc.string({ unit: fc.constantFrom('a', '€', '😀', ' ', ':', '{', '"'), maxLength: 8 })
const line = fc.oneof(
  text.map((t) => `data: ${t}`),
  text.map((t) => `data:${t}`),
  text.map((t) => `: ${t}`),
  text.map((t) => `event: ${t}`),
  fc.constantFrom('data', 'id: 7', 'retry: 10', 'other: x'),
)
/** A stream in any valid framing: any line ends, empty lines between events, perhaps cut at the end. */
const stream = fc
  .tuple(
    fc.constantFrom('', '\uFEFF'),
    fc.array(
      fc.tuple(fc.oneof({ weight: 2, arbitrary: line }, { weight: 1, arbitrary: fc.constant('') }), eol),
      { maxLength: 30 },
    ),
    fc.oneof(fc.constant(''), line),
  )
  .map(([bom, lines, rest]) => Buffer.from(bom + lines.flat().join('') + rest))
const cuts = fc.array(fc.nat(400), { maxLength: 40 })

function split(bytes: Buffer, at: number[]): Buffer[] {
  const places = [...new Set([0, ...at.map((n) => n % (bytes.length + 1)), bytes.length])].sort(
    (a, b) => a - b,
  )
  return places.slice(1).map((end, i) => bytes.subarray(places[i], end))
}

/** The end of the last whole event, according to the grammar of lines. */
function lastBoundary(bytes: Buffer): number {
  let boundary = 0
  let position = 0
  for (const [whole, content] of bytes.toString('latin1').matchAll(/([^\r\n]*)(\r\n|\n|\r)/g)) {
    position += whole.length
    if (content === '') boundary = position
  }
  return boundary
}

describe('EventSplitter', () => {
  test('any split of any framing gives the same events and the same bytes', () => {
    fc.assert(
      fc.property(stream, cuts, (bytes, at) => {
        const splitter = new EventSplitter(10_000)
        const pieces = split(bytes, at).flatMap((chunk) => splitter.push(chunk) ?? [])
        const end = lastBoundary(bytes)
        expect(Buffer.concat(pieces)).toEqual(bytes.subarray(0, end))
        expect(pieces.flatMap((piece) => [...sseEvents(piece)])).toEqual([
          ...sseEvents(bytes.subarray(0, end)),
        ])
        expect(splitter.rest()).toEqual(bytes.subarray(end))
      }),
    )
  })

  test('an event is returned with the chunk that completes it', () => {
    const splitter = new EventSplitter(100)
    expect(splitter.push(Buffer.from('data: 1\n'))).toBeUndefined()
    expect(splitter.push(Buffer.from('\ndata: 2'))?.toString()).toBe('data: 1\n\n')
    expect(splitter.push(Buffer.from('\r'))).toBeUndefined()
    expect(splitter.push(Buffer.from('\n'))).toBeUndefined()
    expect(splitter.push(Buffer.from('\r'))?.toString()).toBe('data: 2\r\n\r')
    expect(splitter.push(Buffer.from('\ndata: 3\n\n'))?.toString()).toBe('\ndata: 3\n\n')
  })

  test('a chunk of whole events is returned unchanged', () => {
    const chunk = Buffer.from('data: 1\n\ndata: 2\n\n')
    expect(new EventSplitter(10).push(chunk)).toBe(chunk)
  })

  test('returned bytes do not change later', () => {
    const splitter = new EventSplitter(100)
    splitter.push(Buffer.from('data: 1'))
    const first = splitter.push(Buffer.from('\n\ndata: 2'))
    splitter.push(Buffer.from('34\n\n'))
    expect(first?.toString()).toBe('data: 1\n\n')
  })

  test('an unfinished event is held up to the limit', () => {
    const splitter = new EventSplitter(8)
    expect(splitter.push(Buffer.from('\n\n12345678'))?.toString()).toBe('\n\n')
    expect(() => splitter.push(Buffer.from('9'))).toThrow(EventTooLarge)
  })

  test('an event at the size limit passes in one chunk or many, a larger one does not', () => {
    const limit = 1024 * 1024
    const event = Buffer.concat([Buffer.from(`data: ${'€'.repeat(limit / 4)}`), Buffer.from('\n\n')])
    const line = event.subarray(0, -1)
    const exact = new EventSplitter(line.length)
    const pieces = split(line, [1, 65_536, 65_537, 700_000]).map((chunk) => exact.push(chunk))
    expect(pieces.every((piece) => piece === undefined)).toBe(true)
    expect(exact.push(event.subarray(-1))?.equals(event)).toBe(true)
    const short = new EventSplitter(line.length - 1)
    expect(() => split(line, [65_536]).map((chunk) => short.push(chunk))).toThrow(EventTooLarge)
    expect(new EventSplitter(line.length).push(event)).toBe(event)
    expect(() => new EventSplitter(line.length - 1).push(event)).toThrow(EventTooLarge)
    const small = Buffer.from('data: 1\n\n')
    expect(new EventSplitter(8).push(Buffer.concat([small, small, small]))).toHaveLength(27)
  })

  test('an event in a million chunks takes linear time', () => {
    const splitter = new EventSplitter(8 * 1024 * 1024)
    const chunk = Buffer.from('x')
    for (let i = 0; i < 1_000_000; i++) splitter.push(chunk)
    expect(splitter.push(Buffer.from('\n\n'))).toHaveLength(1_000_002)
  })
})

describe('eventEnd', () => {
  test('walks through a buffer event by event', () => {
    fc.assert(
      fc.property(stream, (bytes) => {
        const latin1 = bytes.toString('latin1')
        const pieces: Buffer[] = []
        for (let start = 0; start < bytes.length; ) {
          const end = eventEnd(latin1, start)
          expect(end).toBeGreaterThan(start)
          pieces.push(bytes.subarray(start, end))
          start = end
        }
        for (const piece of pieces) expect([...sseEvents(piece)].length).toBeLessThanOrEqual(1)
        expect(pieces.flatMap((piece) => [...sseEvents(piece)])).toEqual([...sseEvents(bytes)])
      }),
    )
  })
})
