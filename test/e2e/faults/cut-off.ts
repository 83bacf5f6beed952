/** Answers that are missing or incomplete: none of them may look finished. */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type Fault, CANARY as HOST, json, open, sendDeltasForever, stream, untilClosed } from './fault.ts'

/** An HTML page with a line that looks like an event. */
const page = `<!doctype html>\n\n<html><body data-host="${HOST}">\n\ndata: {"host":"${HOST}"}\n\n<h1>${HOST}</h1>\n\n`

const status = (code: number): Fault => ({
  name: `status-${code}`,
  json: 'error',
  stream: 'error',
  play({ res, fixture }) {
    const body = code === 204 ? undefined : JSON.stringify(fixture.errorBody(HOST))
    res.writeHead(code, { 'content-type': 'application/json', location: `http://${HOST}.example/` })
    res.end(body)
  },
})

/** A stream that is closed after `count` frames. */
const closedAfter = (count: number): Fault => ({
  name: `closed-after-${count}`,
  json: 'error',
  stream: 'error',
  async play({ res, fixture }) {
    const { begin, body, end } = fixture.frames({ calls: [{ id: 'c', name: 'look', arguments: '{"a":1}' }] })
    const frames = [...begin, ...body, ...end]
    // A chat answer is complete with its finish_reason, which two more frames follow.
    const enough = fixture.type === 'chat_completion' ? frames.length - 2 : frames.length
    await stream(res, frames.slice(0, Math.min(count, enough - 1)))
  },
})

/** A small body that becomes very large when inflated. Made in the background: other requests must be answered meanwhile. */
const bomb = (text: string) => promisify(gzip)(text.replace('BOMB', 'x'.repeat(30_000_000)))

export const CUT_OFF: Fault[] = [
  ...[201, 204, 302, 401, 404, 429, 500, 503].map(status),
  {
    name: 'reset-before-headers',
    json: 'error',
    stream: 'error',
    play: ({ res }) => void res.socket?.resetAndDestroy(),
  },
  {
    name: 'reset-in-headers',
    json: 'error',
    stream: 'error',
    play({ res }) {
      res.socket?.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-host: ${HOST}`)
      setTimeout(() => res.socket?.resetAndDestroy(), 10)
    },
  },
  {
    name: 'not-http',
    json: 'error',
    stream: 'error',
    play: ({ res }) => void res.socket?.end(`220 ${HOST} ESMTP ready\r\n`),
  },
  {
    name: 'html-500',
    json: 'error',
    stream: 'error',
    play({ res }) {
      res.writeHead(500, { 'content-type': 'text/html', server: HOST })
      res.end(page)
    },
  },
  ...['text/html', 'text/event-stream', 'application/json'].map(
    (type): Fault => ({
      name: `html-as-${type.replace('/', '-')}`,
      json: 'error',
      stream: 'error',
      play({ res }) {
        res.writeHead(200, { 'content-type': type, server: HOST })
        res.end(page)
      },
    }),
  ),
  {
    name: 'plain-text',
    json: 'error',
    stream: 'error',
    play({ res }) {
      res.writeHead(200, { 'content-type': 'text/plain' })
      res.end(`upstream connect error\n\ndata of ${HOST} are lost\n\n`)
    },
  },
  ...(['null', '[]', '"text"', '{}', '{"choices":null,"output":null,"content":null}'] as const).map(
    (body, i): Fault => ({
      name: `not-an-answer-${i}`,
      json: 'error',
      stream: 'error',
      play: ({ res }) => json(res, body),
    }),
  ),
  {
    name: 'error-in-200',
    json: 'error',
    stream: 'error',
    play: ({ res, fixture }) => json(res, fixture.errorBody(HOST)),
  },
  {
    name: 'empty-body',
    json: 'error',
    stream: 'error',
    play: ({ res, stream: isStream }) => (isStream ? stream(res, []) : json(res, '')),
  },
  {
    name: 'blank-body',
    json: 'error',
    stream: 'error',
    play: ({ res, stream: isStream }) => (isStream ? stream(res, ['\n\n\n']) : json(res, ' \n ')),
  },
  {
    name: 'not-gzip',
    json: 'error',
    stream: 'error',
    play: ({ res }) => json(res, `{"not":"${HOST}"}`, { 'content-encoding': 'gzip' }),
  },
  {
    name: 'gzip-bomb',
    json: 'error',
    stream: 'error',
    async play({ res, fixture, stream: isStream }) {
      const { begin, end } = fixture.frames()
      const text = isStream
        ? [...begin, fixture.delta('BOMB'), ...end].join('')
        : JSON.stringify(fixture.whole({ text: 'BOMB' }))
      res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      res.end(await bomb(text))
    },
  },
  ...Array.from({ length: 18 }, (_, count) => closedAfter(count)),
  {
    name: 'broken-chunk',
    json: 'error',
    stream: 'error',
    async play({ res, fixture, stream: isStream }) {
      await open(res, isStream ? fixture.frames().begin : ['{"a":1,'])
      res.socket?.write(`ZZ\r\n${HOST}\r\n`)
    },
  },
  {
    name: 'half-json',
    json: 'error',
    stream: 'error',
    play({ res, fixture }) {
      const text = JSON.stringify(fixture.whole())
      json(res, text.slice(0, text.length / 2))
    },
  },
  {
    name: 'reset-in-body',
    json: 'error',
    stream: 'error',
    async play({ res, fixture, stream: isStream }) {
      const { begin, body } = fixture.frames()
      const text = JSON.stringify(fixture.whole())
      await open(res, isStream ? [...begin, ...body.slice(0, 1)] : [text.slice(0, -2)])
      res.socket?.resetAndDestroy()
    },
  },
  {
    name: 'cut-in-event',
    json: 'error',
    stream: 'error',
    async play({ res, fixture }) {
      const { begin, body } = fixture.frames()
      await open(res, [...begin, ...body.slice(0, 2), fixture.truncatedFrame])
      res.destroy()
    },
  },
  {
    name: 'half-event-at-end',
    json: 'error',
    stream: 'error',
    async play({ res, fixture }) {
      const { begin, body } = fixture.frames()
      await stream(res, [...begin, ...body, fixture.truncatedFrame])
    },
  },
  {
    name: 'cut-in-utf8',
    json: 'error',
    stream: 'error',
    async play({ res, fixture }) {
      const { begin } = fixture.frames()
      await open(res, begin)
      const bytes = Buffer.from(fixture.delta('Grüße'))
      res.write(bytes.subarray(0, bytes.indexOf(0xc3) + 1))
      res.end()
    },
  },
  {
    name: 'end-without-terminal',
    json: 'error',
    stream: 'error',
    async play({ res, fixture }) {
      const { begin, body } = fixture.frames()
      await stream(res, [...begin, ...body])
    },
  },
  {
    // Some intermediaries end every chat stream with [DONE], even one that broke off.
    name: 'done-without-terminal',
    stream: 'error',
    bytes: 'either',
    async play({ res, fixture }) {
      const { begin, body } = fixture.frames({ calls: [{ id: 'c', name: 'look', arguments: '{"at":"a"}' }] })
      const done = fixture.type === 'chat_completion' ? ['data: [DONE]\n\n'] : []
      await stream(res, [...begin, ...body, ...done])
    },
  },
  {
    name: 'only-first-event',
    json: 'error',
    stream: 'error',
    play: ({ res, fixture }) => stream(res, fixture.frames().begin.slice(0, 1)),
  },
  {
    name: 'error-event-first',
    json: 'error',
    stream: 'error',
    play: ({ res, fixture }) => stream(res, [fixture.errorFrame(HOST)]),
  },
  {
    name: 'error-event-in-the-middle',
    json: 'error',
    stream: 'error',
    async play({ res, fixture }) {
      const { begin, body, end } = fixture.frames()
      await stream(res, [...begin, ...body.slice(0, 2), fixture.errorFrame(HOST), ...body.slice(2), ...end])
    },
  },
  {
    name: 'garbled-event',
    json: 'error',
    stream: 'error',
    async play({ res, fixture }) {
      const { begin, body, end } = fixture.frames()
      await stream(res, [
        ...begin,
        ...body.slice(0, 2),
        `${fixture.truncatedFrame}\n\n`,
        ...body.slice(2),
        ...end,
      ])
    },
  },
  {
    name: 'endless-event',
    json: 'error',
    stream: 'error',
    async play({ res, fixture, stream: isStream }) {
      await open(res, [...fixture.frames().begin, fixture.truncatedFrame])
      const piece = `${isStream ? HOST : ' '}${'x'.repeat(65_536)}`
      await untilClosed(res, 1, () => res.write(piece))
    },
  },
  {
    name: 'endless-answer',
    json: 'error',
    stream: 'error',
    async play({ res }) {
      res.writeHead(200, { 'content-type': 'application/json' })
      res.write('{"choices":[],"output":[],"content":[],"x":"')
      const piece = 'x'.repeat(65_536)
      await untilClosed(res, 1, () => res.write(piece))
    },
  },
  {
    name: 'slow-comments',
    json: 'error',
    stream: 'error',
    async play({ res }) {
      await open(res, [])
      await untilClosed(res, 20, () => res.write(`: ${HOST}\n\n`))
    },
  },
  {
    name: 'slow-deltas',
    json: 'error',
    stream: 'error',
    play: sendDeltasForever,
  },
  {
    name: 'slow-stall',
    json: 'error',
    stream: 'error',
    async play({ res, fixture, stream: isStream }) {
      const { begin, body } = fixture.frames()
      await open(res, isStream ? [...begin, ...body.slice(0, 2)] : ['{"id":'])
    },
  },
  {
    name: 'slow-silence',
    json: 'error',
    stream: 'error',
    play: () => undefined,
  },
]
