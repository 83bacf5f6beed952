import { expect, test } from 'vitest'
import { sseEvents } from './events.ts'

test('the events of a buffer, text outside of ASCII too', () => {
  expect(sseEvents(Buffer.from('\uFEFFevent: e\ndata: €😀\n\ndata: y'))).toEqual([
    { event: 'e', data: '€😀' },
    { event: '', data: 'y' },
  ])
})
