import { expect, test, vi } from 'vitest'
import { GatewayError } from '../errors.ts'
import { Outbox } from './outbox.ts'
import { SocketClient } from './socket-client.ts'
import { sse } from './testing.ts'

/** A socket whose writes complete when the test says so. */
function slowSocket() {
  const texts: string[] = []
  const unsent: { bytes: number; taken: () => void }[] = []
  const ws = {
    bufferedAmount: 0,
    send(text: string, taken: () => void) {
      texts.push(text)
      this.bufferedAmount += text.length
      unsent.push({ bytes: text.length, taken })
    },
  }
  const take = () => {
    const { bytes = 0, taken } = unsent.shift() ?? {}
    ws.bufferedAmount -= bytes
    taken?.()
  }
  const events = { changed: vi.fn(), overrun: vi.fn() }
  // The outbox uses only these members of a WebSocket.
  const writes: number[] = []
  let before = 0
  const socket = {
    cork: () => {
      before = texts.length
    },
    uncork: () => void writes.push(texts.length - before),
  }
  const outbox = new Outbox(ws as never, socket, { highWaterBytes: 100, maxUnsentBytes: 1_000 }, events)
  return { ws, texts, take, outbox, events, writes }
}

function clientOf(outbox: Outbox, name?: string) {
  const client = new SocketClient(outbox, name, () => false)
  return { client, stream: client.stream() }
}

const LARGE = sse({ type: 'x', delta: 'y'.repeat(100) })
const types = (texts: string[]) => texts.map((text) => JSON.parse(text).type)

test('it opens with the first event; a failure before that has a status', () => {
  const { outbox, texts } = slowSocket()
  const { client, stream } = clientOf(outbox)
  expect([client.opened, client.status, stream.opened]).toEqual([false, 0, false])
  stream.write(sse({ type: 'response.created' }))
  expect([client.opened, client.status, stream.opened, client.failed]).toEqual([true, 200, true, false])
  const other = clientOf(outbox, 'a').client
  other.refuse(new GatewayError('upstream_error', 'No.'))
  expect([other.opened, other.failed]).toEqual([false, true])
  expect(JSON.parse(texts[1] ?? '')).toMatchObject({ type: 'error', status: 502, stream_id: 'a' })
})

test('the events of a chunk go out in one write, and so do those that waited', () => {
  const { outbox, texts, take, writes } = slowSocket()
  const { stream } = clientOf(outbox)
  const [a, b, c] = ['a', 'b', 'c'].map((type) => sse({ type }))
  stream.write(Buffer.concat([a, b, LARGE, a, b] as Buffer[]))
  expect(types(texts)).toEqual(['a', 'b', 'x'])
  stream.write(c as Buffer)
  for (let n = 0; n < 3; n++) take()
  expect(types(texts)).toEqual(['a', 'b', 'x', 'a', 'b', 'c'])
  expect(writes.filter((count) => count > 0)).toEqual([3, 3])
})

test('an error event makes it a failure', () => {
  const { client, stream } = clientOf(slowSocket().outbox)
  stream.end(sse({ type: 'error', code: 'overloaded', message: 'm' }))
  expect(client.failed).toBe(true)
})

test('it waits for a client that falls behind, once each time', async () => {
  const { outbox, texts, take } = slowSocket()
  const { client, stream } = clientOf(outbox)
  const drained = vi.fn()
  stream.onDrain(drained)
  expect(stream.write(sse({ type: 'a' }))).toBe(true)
  expect(stream.write(LARGE)).toBe(false)
  expect(stream.write(sse({ type: 'b' }))).toBe(false)
  stream.end(sse({ type: 'c' }))
  expect(types(texts)).toEqual(['a', 'x'])
  const flushed = vi.fn()
  void client.flushed().then(flushed)
  take()
  await new Promise(setImmediate)
  expect([drained.mock.calls.length, flushed.mock.calls.length]).toEqual([0, 0])
  take()
  expect(types(texts)).toEqual(['a', 'x', 'b', 'c'])
  expect(drained).toHaveBeenCalledTimes(1)
  await vi.waitUntil(() => flushed.mock.calls.length === 1)
})

test('one write of many events is sent as the client reads', () => {
  const { outbox, texts, take } = slowSocket()
  const { stream } = clientOf(outbox)
  const drained = vi.fn()
  stream.onDrain(drained)
  expect(stream.write(Buffer.concat([LARGE, LARGE, LARGE]))).toBe(false)
  expect(texts.length).toBe(1)
  take()
  expect(texts.length).toBe(2)
  take()
  expect([texts.length, drained.mock.calls.length]).toEqual([3, 0])
  take()
  expect(drained).toHaveBeenCalledTimes(1)
})

test('waiting messages are sent first, even if there is room again before the drain is reported', () => {
  const { ws, outbox, texts, take } = slowSocket()
  const { stream } = clientOf(outbox)
  stream.write(Buffer.concat([LARGE, sse({ type: 'a' })]))
  ws.bufferedAmount = 0
  expect(stream.write(sse({ type: 'b' }))).toBe(false)
  take()
  expect(types(texts)).toEqual(['x', 'a', 'b'])
})

test('waiting streams take turns', () => {
  const { outbox, texts, take } = slowSocket()
  const [a, b] = [clientOf(outbox, 'a').stream, clientOf(outbox, 'b').stream]
  a.write(Buffer.concat([LARGE, LARGE, LARGE]))
  b.write(Buffer.concat([LARGE, LARGE]))
  for (let i = 0; i < 5; i++) take()
  expect(texts.map((text) => JSON.parse(text).stream_id)).toEqual(['a', 'a', 'b', 'a', 'b'])
})

test('when the socket closes all waiting ends, and nothing more is sent', async () => {
  const { outbox, texts } = slowSocket()
  const { client, stream } = clientOf(outbox)
  const drained = vi.fn()
  stream.onDrain(drained)
  stream.write(Buffer.concat([LARGE, LARGE]))
  outbox.close()
  await client.flushed()
  expect(stream.write(LARGE)).toBe(true)
  stream.end(LARGE)
  expect([texts.length, drained.mock.calls.length]).toEqual([1, 0])
})

test('the socket is notified when its client falls behind and when it catches up', () => {
  const { outbox, take, events } = slowSocket()
  outbox.send('x'.repeat(99))
  expect(events.changed).not.toHaveBeenCalled()
  outbox.send('x')
  outbox.send('x')
  expect(events.changed).toHaveBeenCalledTimes(1)
  take()
  expect(events.changed).toHaveBeenCalledTimes(2)
})

test('too many messages that cannot wait close the socket', () => {
  const { outbox, texts, events } = slowSocket()
  outbox.send('x'.repeat(1_000))
  outbox.send('x')
  expect(events.overrun).not.toHaveBeenCalled()
  outbox.send('x')
  expect([texts.length, events.overrun.mock.calls.length]).toEqual([2, 1])
})

test('a whole answer is not possible on a socket', () => {
  expect(() => clientOf(slowSocket().outbox).client.whole()).toThrow(TypeError)
})
