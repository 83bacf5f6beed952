/** Answers that are odd, and whole: what can be read of them must arrive, and nothing else. */
import type { CallContent } from '../../fixtures/faults/upstream-fixture.ts'
import { CANARY, type Fault, json, open, say, stream, type Verdict } from './fault.ts'

export const CALLS = [
  { id: 'call_a', name: 'look', arguments: '{"at":"a"}' },
  { id: 'call_b', name: 'look', arguments: '{"at":"b"}' },
]
/** What stands where text should: nothing that anybody could read as one. */
const ODD_CONTENTS: unknown[] = [7, true, {}, { type: 'text' }]
/** What says nothing. */
const EMPTY_CONTENTS: unknown[] = [null, [], [[[]]], [null, 1, 'x'], [{ type: 7 }]]

/** A JSON text of arrays, so deep that a recursive reader fails on it. */
const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`

const spoiltCall = (name: string, call: CallContent, verdict: Verdict, bytes: Verdict = 'either'): Fault => ({
  name: `tool-call-${name}`,
  json: verdict,
  stream: verdict,
  ...(verdict === 'error' && { bytes }),
  raw: call.arguments ?? '',
  play: (stage) => say(stage, { calls: [{ ...CALLS[0], ...call }] }),
})

/** The same frames, changed one by one. */
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
  { name: 'fine', json: 'answer', stream: 'answer', play: (stage) => say(stage) },
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
    play({ res, fixture, stream: asked }) {
      const { begin, body, end } = fixture.frames()
      res.writeHead(200, { 'content-type': asked ? 'application/json' : 'text/event-stream' })
      res.end(asked ? [...begin, ...body, ...end].join('') : JSON.stringify(fixture.whole()))
    },
  },
  {
    name: 'early-hints',
    json: 'answer',
    stream: 'answer',
    async play(stage) {
      stage.res.writeEarlyHints({ link: `<https://${CANARY}.example/>; rel=preload` })
      await say(stage)
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
    play: (stage) => say(stage, { calls: CALLS }),
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
  spoiltCall('no-json', { arguments: '{"at": rome' }, 'error', 'raw'),
  spoiltCall('cut-json', { arguments: '{"at":"ro' }, 'error', 'raw'),
  spoiltCall('array-json', { arguments: '[1,2]' }, 'error', 'raw'),
  spoiltCall('empty-json', { arguments: '' }, 'answer'),
  spoiltCall('without-name', { name: undefined }, 'error'),
  spoiltCall('null-name', { name: null }, 'error'),
  spoiltCall('empty-name', { name: '' }, 'error'),
  spoiltCall('without-id', { id: undefined }, 'answer'),
  spoiltCall('number-id', { id: 7 }, 'answer'),
  spoiltCall('bare', { id: undefined, name: undefined, arguments: undefined }, 'either'),
  {
    name: 'unknown-events',
    stream: 'answer',
    async play({ res, fixture }) {
      const { begin, body, end } = fixture.frames()
      const { unknownFrame: news } = fixture
      const quiet = `event: ping\ndata: 1\n\ndata:\n\nid: 3\nretry: 100\n\n`
      await stream(res, [quiet, ...begin, news, ...body.slice(0, 2), quiet, ...body.slice(2), news, ...end])
    },
  },
  // What is read may be passed over; what passes as bytes must be events of the dialect.
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
    async play({ res, fixture, stream: asked }) {
      if (!asked) return json(res, fixture.whole())
      const { begin, body, end } = fixture.frames()
      await stream(res, [...begin, ...body, ...end, fixture.delta(CANARY), fixture.errorFrame(CANARY)])
    },
  },
  {
    name: 'reset-after-the-end',
    // A reset may take bytes along that nobody has read yet.
    stream: 'either',
    async play({ res, fixture }) {
      const { begin, body, end } = fixture.frames()
      await open(res, [...begin, ...body, ...end])
      res.socket?.resetAndDestroy()
    },
  },
  {
    name: 'nobody-closes',
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
    play: (stage) => say(stage, { usage: null }),
  },
  ...Array.from(
    { length: 32 },
    (_, i): Fault => ({
      name: `absurd-usage-${i}`,
      json: 'answer',
      stream: 'answer',
      play: (stage) => say(stage, { usage: stage.fixture.absurdUsages[i] ?? 'none' }),
    }),
  ),
  ...ODD_CONTENTS.map(
    (content, i): Fault => ({
      name: `odd-content-${i}`,
      json: 'error',
      stream: 'error',
      bytes: 'either',
      play: (stage) => say(stage, { content }),
    }),
  ),
  ...EMPTY_CONTENTS.map(
    (content, i): Fault => ({
      name: `empty-content-${i}`,
      json: 'either',
      stream: 'either',
      play: (stage) => say(stage, { content }),
    }),
  ),
  ...[1_000, 100_000].flatMap((levels): Fault[] => [
    {
      name: `deep-field-${levels}`,
      json: 'answer',
      stream: 'either',
      play: ({ res, fixture }) =>
        json(res, `{"news":${deep(levels)},${JSON.stringify(fixture.whole()).slice(1)}`),
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
        // Where arguments are text they come as an object here, as a few upstreams write them.
        json(res, text.replace(/"(?:\\"DEEP\\"|DEEP)"/, `{"at":${deep(levels)}}`))
      },
    },
    {
      name: `deep-event-${levels}`,
      stream: 'either',
      async play({ res, fixture }) {
        const { begin, body, end } = fixture.frames()
        const news = `data: {"type":"news","choices":[],"item":${deep(levels)},"delta":${deep(levels)}}\n\n`
        await stream(res, [...begin, ...body, news, ...end])
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
