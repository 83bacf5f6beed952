import { expect, test } from 'vitest'
import { sseEvents } from './events.ts'

test('the events of a buffer, also with non-ASCII text', () => {
  expect(sseEvents(Buffer.from('\uFEFFevent: e\ndata: €😀\n\ndata: y'))).toEqual([
    { event: 'e', data: '€😀' },
    { event: '', data: 'y' },
  ])
})
