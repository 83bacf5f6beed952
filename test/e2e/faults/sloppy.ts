/** Odd but complete answers: everything readable must arrive, and nothing else. */
import type { CallContent } from '../../fixtures/faults/upstream-fixture.ts'
import { CANARY, type Fault, json, open, sendAnswer, stream, type Verdict } from './fault.ts'

export const CALLS = [
  { id: 'call_a', name: 'look', arguments: '{"at":"a"}' },
  { id: 'call_b', name: 'look', arguments: '{"at":"b"}' },
]
/** Values that cannot be read as text. */
const ODD_CONTENTS: unknown[] = [7, true, {}, { type: 'text' }]
/** Values without any text. */
const EMPTY_CONTENTS: unknown[] = [null, [], [[[]]], [null, 1, 'x'], [{ type: 7 }]]

/** JSON arrays nested so deep that a recursive parser fails. */
const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`

const malformedCall = (
  name: string,
  call: CallContent,
  verdict: Verdict,
  bytes: Verdict = 'either',
): Fault => ({
  name: `tool-call-${name}`,
  json: verdict,
  stream: verdict,
  ...(verdict === 'error' && { bytes }),
  raw: call.arguments ?? '',
  play: (context) => sendAnswer(context, { calls: [{ ...CALLS[0], ...call }] }),
})

/** A good stream with changed frames. */
const reframed = (name: string, change: (frames: string[]) => string[]): Fault => ({
  name,
  json: 'answer',
  stream: 'answer',
  async play({ res, fixture }) {
    const { begin, body, end } = fixture.frames()
    await stream(res, change([...begin, ...body, ...end]))
  },
})

export const SLOPPY: Fault[] = [
  { name: 'fine', json: 'answer', stream: 'answer', play: (context) => sendAnswer(context) },
  {
    name: 'json-for-a-stream',
    stream: 'answer',
    play: ({ res, fixture }) => json(res, fixture.whole()),
  },
  reframed('stream-for-json', (frames) => frames),
  {
    name: 'wrong-content-type',
    json: 'answer',
    stream: 'answer',
    play({ res, fixture, stream: isStream }) {
      const { begin, body, end } = fixture.frames()
      res.writeHead(200, { 'content-type': isStream ? 'application/json' : 'text/event-stream' })
      res.end(isStream ? [...begin, ...body, ...end].join('') : JSON.stringify(fixture.whole()))
    },
  },
  {
    name: 'early-hints',
    json: 'answer',
    stream: 'answer',
    async play(context) {
      context.res.writeEarlyHints({ link: `<https://${CANARY}.example/>; rel=preload` })
      await sendAnswer(context)
    },
  },
  reframed('many-data-lines', (frames) =>
    frames.map((frame) => frame.replace('data: {', 'data: {\ndata:').replace(/}\n\n$/, '\ndata:}\n\n')),
  ),
  {
    ...reframed('no-event-lines', (frames) => frames.map((frame) => frame.replace(/^event:.*\n/, ''))),
    bytes: 'either',
  },
  reframed('other-lines', (frames) =>
    frames.map((frame) => `id: 7\nretry: 9\nx-vendor: a\n\uFEFFy\n${frame}`),
  ),
  reframed('crlf', (frames) => frames.map((frame) => frame.replaceAll('\n', '\r\n'))),
  reframed('byte-order-mark', (frames) => [`\uFEFF${frames[0]}`, ...frames.slice(1)]),
  reframed('comments-between', (frames) => frames.flatMap((frame) => [`: ${'c'.repeat(40)}\n\n`, frame])),
  reframed('no-last-blank-line', (frames) => [...frames.slice(0, -1), (frames.at(-1) ?? '').trimEnd()]),
  reframed('in-bytes', (frames) => [...frames.join('')]),
  {
    name: 'calls',
    json: 'calls',
    stream: 'calls',
    play: (context) => sendAnswer(context, { calls: CALLS }),
  },
  {
    name: 'calls-of-one-index',
    stream: 'calls',
    bytes: 'either',
    async play({ res, fixture }) {
      const { begin, body, end } = fixture.frames({ calls: CALLS })
      const one = (frame: string) =>
        frame.replaceAll('"index":1', '"index":0').replaceAll('"output_index":2', '"output_index":1')
      const twice = (frame: string) => (fixture.type === 'messages' ? frame : one(frame))
      await stream(res, [...begin, ...body.map(twice), ...end.map(twice)])
    },
  },
  malformedCall('no-json', { arguments: '{"at": rome' }, 'error', 'raw'),
  malformedCall('cut-json', { arguments: '{"at":"ro' }, 'error', 'raw'),
  malformedCall('array-json', { arguments: '[1,2]' }, 'error', 'raw'),
  malformedCall('empty-json', { arguments: '' }, 'answer'),
  malformedCall('without-name', { name: undefined }, 'error'),
  malformedCall('null-name', { name: null }, 'error'),
  malformedCall('empty-name', { name: '' }, 'error'),
  malformedCall('without-id', { id: undefined }, 'answer'),
  malformedCall('number-id', { id: 7 }, 'answer'),
  malformedCall('bare', { id: undefined, name: undefined, arguments: undefined }, 'either'),
  {
    name: 'unknown-events',
    stream: 'answer',
    async play({ res, fixture }) {
      const { begin, body, end } = fixture.frames()
      const { unknownFrame: unknown } = fixture
      const quiet = `event: ping\ndata: 1\n\ndata:\n\nid: 3\nretry: 100\n\n`
      await stream(res, [
        quiet,
        ...begin,
        unknown,
        ...body.slice(0, 2),
        quiet,
        ...body.slice(2),
        unknown,
        ...end,
      ])
    },
  },
  // Conversion may ignore unknown events; the byte lane accepts only events of the dialect.
  ...['event: noise\ndata: 1\n\n', 'event: noise\ndata: null\n\n'].map(
    (noise, i): Fault => ({
      name: `foreign-events-${i}`,
      stream: 'answer',
      bytes: 'error',
      async play({ res, fixture }) {
        const { begin, body, end } = fixture.frames()
        await stream(res, [...begin, ...body.slice(0, 2), noise, ...body.slice(2), ...end])
      },
    }),
  ),
  {
    name: 'more-after-the-end',
    json: 'answer',
    stream: 'answer',
    async play({ res, fixture, stream: isStream }) {
      if (!isStream) return json(res, fixture.whole())
      const { begin, body, end } = fixture.frames()
      await stream(res, [...begin, ...body, ...end, fixture.delta(CANARY), fixture.errorFrame(CANARY)])
    },
  },
  {
    name: 'reset-after-the-end',
    // A reset may discard bytes that were not read yet.
    stream: 'either',
    async play({ res, fixture }) {
      const { begin, body, end } = fixture.frames()
      await open(res, [...begin, ...body, ...end])
      res.socket?.resetAndDestroy()
    },
  },
  {
    name: 'never-closed',
    stream: 'answer',
    async play({ res, fixture }) {
      const { begin, body, end } = fixture.frames()
      await open(res, [...begin, ...body, ...end])
    },
  },
  {
    name: 'no-usage',
    json: 'answer',
    stream: 'answer',
    play: (context) => sendAnswer(context, { usage: null }),
  },
  ...Array.from(
    { length: 32 },
    (_, i): Fault => ({
      name: `absurd-usage-${i}`,
      json: 'answer',
      stream: 'answer',
      play: (context) => sendAnswer(context, { usage: context.fixture.absurdUsages[i] ?? 'none' }),
    }),
  ),
  ...ODD_CONTENTS.map(
    (content, i): Fault => ({
      name: `odd-content-${i}`,
      json: 'error',
      stream: 'error',
      bytes: 'either',
      play: (context) => sendAnswer(context, { content }),
    }),
  ),
  ...EMPTY_CONTENTS.map(
    (content, i): Fault => ({
      name: `empty-content-${i}`,
      json: 'either',
      stream: 'either',
      play: (context) => sendAnswer(context, { content }),
    }),
  ),
  ...[1_000, 100_000].flatMap((levels): Fault[] => [
    {
      name: `deep-field-${levels}`,
      json: 'answer',
      stream: 'either',
      play: ({ res, fixture }) =>
        json(res, `{"unknown":${deep(levels)},${JSON.stringify(fixture.whole()).slice(1)}`),
    },
    {
      name: `deep-content-${levels}`,
      json: 'either',
      stream: 'either',
      play: ({ res, fixture }) =>
        json(res, JSON.stringify(fixture.whole({ content: 'DEEP' })).replace('"DEEP"', deep(levels))),
    },
    {
      name: `deep-call-${levels}`,
      json: 'either',
      stream: 'either',
      play({ res, fixture }) {
        const text = JSON.stringify(fixture.whole({ calls: [{ ...CALLS[0], arguments: '"DEEP"' }] }))
        // Arguments as an object instead of a text, as a few upstreams write them.
        json(res, text.replace(/"(?:\\"DEEP\\"|DEEP)"/, `{"at":${deep(levels)}}`))
      },
    },
    {
      name: `deep-event-${levels}`,
      stream: 'either',
      async play({ res, fixture }) {
        const { begin, body, end } = fixture.frames()
        const unknown = `data: {"type":"unknown","choices":[],"item":${deep(levels)},"delta":${deep(levels)}}\n\n`
        await stream(res, [...begin, ...body, unknown, ...end])
      },
    },
  ]),
  {
    name: 'large-delta',
    stream: 'either',
    async play({ res, fixture }) {
      const { begin, body, end } = fixture.frames()
      const half = fixture.delta('x'.repeat(200_000))
      await stream(res, [...begin, ...body.slice(0, 1), half, ...end])
    },
  },
]
