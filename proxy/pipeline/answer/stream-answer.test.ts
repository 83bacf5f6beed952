import { expect, test } from 'vitest'
import { GatewayError, type UpstreamFailure } from '../../errors.ts'
import type { UpstreamStream } from '../attempt/upstream-stream.ts'
import type { ClientStream } from '../call.ts'
import { streamAnswer } from './stream-answer.ts'

/** Streams an answer that breaks at once; returns the error of its last event. */
async function errorAfter(failure: UpstreamFailure): Promise<GatewayError | undefined> {
  const errors: GatewayError[] = []
  const observer = {
    usage: undefined,
    tier: undefined,
    delivered: { deltas: 0, bytes: 0 },
  }
  const upstream = {
    observer,
    errorEvent(error: GatewayError) {
      errors.push(error)
      return Buffer.from('error')
    },
    deliverTo: (to: { broke(failure: UpstreamFailure): void }) => to.broke(failure),
  } as unknown as UpstreamStream
  const client = { onDrain: () => undefined, end: () => undefined } as unknown as ClientStream
  const { signal } = new AbortController()
  const result = await streamAnswer(upstream, client, {
    requestId: 'req_1',
    cancel: signal,
    call: { draining: false, watchEnd: () => undefined, startedAt: 0 },
    meterFor: () => undefined,
    callerError: ({ forCaller }) => forCaller,
    watch: { push: () => undefined, due: false, keep: async () => undefined },
  })
  expect(result).toMatchObject({ outcome: 'upstream_failed', failure, error: errors[0] })
  return errors[0]
}

test('a caller’s fault is sent even after the first event, because agents act on it', async () => {
  const forCaller = new GatewayError('context_length_exceeded', 'Too long.')
  expect(await errorAfter({ class: 'caller_fault', forCaller, detail: 'error_event' })).toBe(forCaller)
})

test('any other failure is sent without details', async () => {
  expect(await errorAfter({ class: 'rate_limit', detail: 'error_event' })).toMatchObject({
    code: 'upstream_error',
  })
})

test.each(['as an event', 'behind the last event'])(
  'the end of an answer waits until the answer is kept: %s',
  async (where) => {
    const sent: string[] = []
    const kept = Promise.withResolvers<void>()
    const upstream = {
      observer: { usage: undefined, tier: undefined, delivered: { deltas: 0, bytes: 0 }, finished: true },
      async deliverTo(to: { take(bytes: Buffer): boolean; finished(last?: Buffer): Promise<void> }) {
        to.take(Buffer.from('begin'))
        if (where === 'as an event') to.take(Buffer.from('end'))
        await to.finished(where === 'as an event' ? undefined : Buffer.from('end'))
      },
    } as unknown as UpstreamStream
    const client = {
      onDrain: () => undefined,
      write: (bytes: Buffer) => sent.push(bytes.toString()) > 0,
      end: (last?: Buffer) => sent.push(`${last ?? ''}.`),
    } as unknown as ClientStream
    let seen = ''
    let keeps = 0
    const watch = {
      push: (bytes: Buffer) => {
        seen += bytes.toString()
      },
      get due() {
        return keeps === 0 && seen.endsWith('end')
      },
      keep: () => {
        keeps++
        return kept.promise
      },
    }
    const relayed = streamAnswer(upstream, client, {
      requestId: 'req_1',
      cancel: new AbortController().signal,
      call: { draining: false, watchEnd: () => undefined, startedAt: 0 },
      meterFor: () => undefined,
      callerError: ({ forCaller }) => forCaller,
      watch,
    })
    await new Promise(setImmediate)
    expect([keeps, sent]).toEqual([1, ['begin']])
    kept.resolve()
    expect(await relayed).toMatchObject({ outcome: 'finished' })
    expect([keeps, sent.join('')]).toEqual([1, 'beginend.'])
  },
)

test.each(['as an event', 'behind the last event'])(
  'only the last event learns the cost: %s',
  async (where) => {
    const observer = { delivered: { deltas: 0, bytes: 0 }, finished: true, done: false, usage: {} }
    const upstream = {
      observer,
      async deliverTo(to: { take(bytes: Buffer): boolean; finished(last?: Buffer): Promise<void> }) {
        to.take(Buffer.from('begin,'))
        observer.usage = { outputTokens: 1 }
        if (where === 'behind the last event') return to.finished(Buffer.from('end'))
        observer.done = true
        to.take(Buffer.from('end'))
        return to.finished()
      },
    } as unknown as UpstreamStream
    let sent = ''
    const client = {
      onDrain: () => undefined,
      write(bytes: Buffer) {
        sent += bytes.toString()
        return true
      },
      end(last?: Buffer) {
        sent += last?.toString() ?? ''
      },
    } as unknown as ClientStream
    await streamAnswer(upstream, client, {
      requestId: 'req_1',
      cancel: new AbortController().signal,
      call: { draining: false, watchEnd: () => undefined, startedAt: 0 },
      meterFor: () => undefined,
      callerError: ({ forCaller }) => forCaller,
      watch: { push: () => undefined, due: false, keep: async () => undefined },
      withCost: (last, made) => Buffer.from(`${JSON.stringify(made.usage)},${last}`),
    })
    expect(sent).toBe('begin,{"outputTokens":1},end')
  },
)
