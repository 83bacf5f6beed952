import { expect, test } from 'vitest'
import { sseEvents } from './events.ts'

const read = (text: string) => [...sseEvents(Buffer.from(text))]

test.each([
  ['one event', 'data: {"a":1}\n\n', [{ event: '', data: '{"a":1}' }]],
  ['no space after the colon', 'data:x\n\n', [{ event: '', data: 'x' }]],
  ['only one space is taken off', 'data:  x\n\n', [{ event: '', data: ' x' }]],
  ['several lines of data', 'data: a\ndata: b\n\n', [{ event: '', data: 'a\nb' }]],
  ['data without a colon', 'data\n\n', [{ event: '', data: '' }]],
  ['event after data', 'data: x\nevent: error\n\n', [{ event: 'error', data: 'x' }]],
  [
    'CR LF',
    'event: e\r\ndata: x\r\n\r\ndata: y\r\n\r\n',
    [
      { event: 'e', data: 'x' },
      { event: '', data: 'y' },
    ],
  ],
  [
    'CR alone',
    'data: x\r\rdata: y\r\r',
    [
      { event: '', data: 'x' },
      { event: '', data: 'y' },
    ],
  ],
  [
    'a mixture',
    'data: x\r\n\ndata: y\n\r\n',
    [
      { event: '', data: 'x' },
      { event: '', data: 'y' },
    ],
  ],
  ['comments and unknown fields', ': hi\nid: 1\nfoo: bar\ndata: x\n\n', [{ event: '', data: 'x' }]],
  ['an event without data', 'event: ping\n\ndata: x\n\n', [{ event: '', data: 'x' }]],
  ['a byte order mark', '\uFEFFdata: x\n\n', [{ event: '', data: 'x' }]],
  [
    'a last event without its empty line',
    'data: x\n\ndata: y',
    [
      { event: '', data: 'x' },
      { event: '', data: 'y' },
    ],
  ],
  ['nothing', '\n\n\r\n', []],
])('%s', (_, text, events) => {
  expect(read(text)).toEqual(events)
})
