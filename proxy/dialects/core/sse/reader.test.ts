import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readEvents } from './reader.ts'

function read(text: string): { event: string; data: string }[] {
  const events: { event: string; data: string }[] = []
  readEvents(text, (event, data) => void events.push({ event, data }))
  return events
}

/** The standard, step by step: lines, fields, dispatch. */
function byTheStandard(text: string): { event: string; data: string }[] {
  const events: { event: string; data: string }[] = []
  let event = ''
  let data = ''
  const dispatch = () => {
    if (data !== '') events.push({ event, data: data.replace(/\n$/, '') })
    event = ''
    data = ''
  }
  for (const line of text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)) {
    if (line === '') dispatch()
    else if (!line.startsWith(':')) {
      const [name = '', ...rest] = line.split(':')
      const value = rest.join(':').replace(/^ /, '')
      if (name === 'data') data += `${value}\n`
      else if (name === 'event') event = value
    }
  }
  dispatch()
  return events
}

test.each<[string, string, [event: string, data: string][]]>([
  ['one event', 'data: {"a":1}\n\n', [['', '{"a":1}']]],
  ['a named event', 'event: ping\ndata: {}\n\n', [['ping', '{}']]],
  ['no space after the colon', 'event:e\ndata:x\n\n', [['e', 'x']]],
  ['only one space is removed', 'data:  x\n\n', [['', ' x']]],
  ['several lines of data', 'data: a\ndata: b\ndata:\ndata: c\n\n', [['', 'a\nb\n\nc']]],
  ['data without a colon', 'data\n\n', [['', '']]],
  ['empty data', 'event: e\ndata:\n\n', [['e', '']]],
  ['event after data', 'data: x\nevent: error\n\n', [['error', 'x']]],
  ['the last name counts', 'event: a\nevent: b\ndata: x\n\n', [['b', 'x']]],
  ['a name that is reset', 'event: a\nevent\ndata: x\n\n', [['', 'x']]],
  ['a colon in the data', 'data: a: b\n\n', [['', 'a: b']]],
  ['fields with longer names', 'database: x\nevents: y\ndata: z\n\n', [['', 'z']]],
  ['a space before the field', ' data: x\ndata: y\n\n', [['', 'y']]],
  ['fields in capitals', 'Data: x\ndata: y\n\n', [['', 'y']]],
  [
    'CR LF',
    'event: e\r\ndata: x\r\n\r\ndata: y\r\n\r\n',
    [
      ['e', 'x'],
      ['', 'y'],
    ],
  ],
  [
    'CR alone',
    'data: x\r\rdata: y\r\r',
    [
      ['', 'x'],
      ['', 'y'],
    ],
  ],
  [
    'a mixture',
    'data: x\r\n\ndata: y\n\r\n',
    [
      ['', 'x'],
      ['', 'y'],
    ],
  ],
  ['the rest of a CR LF that was cut', '\ndata: x\n\n', [['', 'x']]],
  ['comments and unknown fields', ': hi\nid: 1\nfoo: bar\n:data: no\ndata: x\n\n', [['', 'x']]],
  ['an event without data', 'event: ping\n\ndata: x\n\n', [['', 'x']]],
  ['a byte order mark', '\uFEFFdata: x\n\n', [['', 'x']]],
  ['a later byte order mark', 'data: x\n\n\uFEFFdata: y\n\n', [['', 'x']]],
  ['a mark in the data', 'data: \uFEFFx\n\n', [['', '\uFEFFx']]],
  ['line separators of other standards', 'data: a\u2028b\u0085c\n\n', [['', 'a\u2028b\u0085c']]],
  [
    'a last event without its empty line',
    'data: x\n\nevent: e\ndata: y',
    [
      ['', 'x'],
      ['e', 'y'],
    ],
  ],
  ['only its line end is missing', 'data: x\n', [['', 'x']]],
  ['nothing', '\n\n\r\n', []],
  ['no text', '', []],
])('%s', (_, text, events) => {
  expect(read(text)).toEqual(events.map(([event, data]) => ({ event, data })))
})

describe('any text', () => {
  const piece = fc.constantFrom(
    ...['\n', '\r', '\r\n', '\n\n', 'data', 'event', 'id', ':', ' ', ': ', 'data: ', 'event: ', '\uFEFF'],
    ...['x', '€', '😀', '{"a":"b"}', '\u2028'],
  )

  test('is read according to the standard', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = pieces.join('')
        expect(read(text)).toEqual(byTheStandard(text))
      }),
    )
  })

  test('gives the same events one by one as all at once', () => {
    const event = fc
      .tuple(
        fc.constantFrom('', 'event: e\n', ': c\n'),
        fc.array(fc.constantFrom('a', '😀'), { maxLength: 3 }),
      )
      .map(([head, data]) => `${head}${data.map((line) => `data: ${line}\n`).join('')}\n`)
    fc.assert(
      fc.property(fc.array(event), (events) => {
        expect(events.flatMap(read)).toEqual(read(events.join('')))
      }),
    )
  })
})

test('megabytes in one line, and in many, take linear time', () => {
  const long = 'x'.repeat(8_000_000)
  expect(read(`data: ${long}\n\n`)).toEqual([{ event: '', data: long }])
  expect(read('data: x\r\n'.repeat(500_000))[0]?.data).toHaveLength(999_999)
  expect(read(': c\n'.repeat(1_000_000))).toEqual([])
})
