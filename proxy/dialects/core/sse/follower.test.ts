import { describe, expect, test, vi } from 'vitest'
import { chat } from '../../chat/index.ts'
import { imageEdits } from '../../images/index.ts'
import { edit, VALID_REQUEST } from '../../images/testing.ts'
import { messages } from '../../messages/index.ts'
import { responses } from '../../responses/index.ts'
import type { StreamObserver } from '../byte-lane.ts'

const LIMITS = { maxDepth: 20, maxKeys: 100 }
const MESSAGE = [{ role: 'user', content: 'Hi' }]
const sse = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const body = (fields: object) => Buffer.from(JSON.stringify({ model: 'm', stream: true, ...fields }))

interface Case {
  observe(): StreamObserver
  begin: string
  /** An unknown event of the dialect. */
  unknown: string
}

const DIALECTS: Record<string, Case> = {
  chat: {
    observe: () =>
      chat.byteLane.observe(chat.parseRequest(body({ messages: MESSAGE }), LIMITS, {}), 10_000, true),
    begin: sse({ choices: [{ index: 0, delta: { role: 'assistant' } }] }),
    unknown: sse({ object: 'news', choices: [] }),
  },
  responses: {
    observe: () =>
      responses.byteLane.observe(responses.parseRequest(body({ input: 'Hi' }), LIMITS, {}), 10_000, true),
    begin: sse({ type: 'response.created', response: { id: 'resp_1' } }),
    unknown: sse({ type: 'response.news', text: 'x' }),
  },
  messages: {
    observe: () =>
      messages.byteLane.observe(
        messages.parseRequest(body({ max_tokens: 5, messages: MESSAGE }), LIMITS, {}),
        10_000,
        true,
      ),
    begin: sse({ type: 'message_start', message: {} }),
    unknown: sse({ type: 'news' }),
  },
  images: {
    observe: () =>
      imageEdits.byteLane.observe(
        edit({ ...VALID_REQUEST, stream: true, images: [{ image_url: 'https://a.example/a.png' }] }),
        10_000,
        true,
      ),
    begin: sse({ type: 'image_edit.partial_image', b64_json: 'AA' }),
    unknown: sse({ type: 'image_edit.news' }),
  },
}

const FOREIGN = [
  sse({ detail: 'the key sk-secret is no good' }),
  sse({ message: 'no', code: 500 }),
  sse({ object: 'error', message: 'no' }),
  sse({ errors: [{ message: 'no' }] }),
  sse({ type: 7 }),
  sse({}),
  sse([]),
  sse('text'),
  sse(null),
  'data: text\n\n',
  'data: {"id": oops not json}\n\n',
  'data: {"type":"response.output_text.delta","choices":[],"delta":"x\n\n',
  'data: [DONE]\n\n',
  'upstream connect error\n\n',
  'event: news\ndata: 1\n\n',
]

describe.each(Object.entries(DIALECTS))('%s', (_name, { observe, begin, unknown }) => {
  test.each(FOREIGN)('an event in another form never passes: %j', (text) => {
    for (const before of ['', begin]) {
      const observer = observe()
      expect(observer.push(Buffer.from(before + text + begin))?.toString() ?? '').toBe(before)
      expect(observer.failure).toBeDefined()
      expect(observer.begun).toBe(before !== '')
      expect(observer.finished).toBe(false)
    }
  })

  test.each([{ message: 'no' }, 'no', 7, true, []])('nor one with an error: %j', (error) => {
    const observer = observe()
    const [, data = ''] = /^data: (.*)\n\n$/.exec(begin) ?? []
    expect(observer.push(Buffer.from(sse({ ...JSON.parse(data), error })))).toBeUndefined()
    expect(observer).toMatchObject({ failure: { detail: 'error_event' }, begun: false })
  })

  test('unknown names pass, and a null error does not count', () => {
    const observer = observe()
    const stream = begin + unknown + unknown.replace('{', '{"error":null,')
    expect(observer.push(Buffer.from(stream))?.toString()).toBe(stream)
    expect(observer.failure).toBeUndefined()
  })

  test.each([
    ['comments', ': ping\n\n: a\n: b\n\n', ': ping\n\n: a\n: b\n\n'],
    ['empty lines', '\n\n\r\n', '\n\n\r\n'],
    ['empty events', 'data:\n\ndata: \n\nevent: x\ndata:\n\n', ''],
    ['lines without data', 'event: x\nid: 1\nretry: 5\n\n', 'event: x\nid: 1\nretry: 5\n\n'],
    ['keep-alives', 'data: {"type":"keepalive","sequence_number":3}\n\nevent: ping\ndata: ok\n\n', undefined],
  ])('%s do not start an answer', (_what, quiet, passed) => {
    const observer = observe()
    const out = observer.push(Buffer.from(quiet))?.toString() ?? ''
    if (passed !== undefined) expect(out).toBe(passed)
    expect(observer).toMatchObject({ begun: false, failure: undefined })
    expect(observer.push(Buffer.from(begin))?.toString()).toBe(begin)
    expect(observer.begun).toBe(true)
  })

  test.each(['data:\n\n', 'event: ping\ndata: x\n\n', 'event: x\n\n'])(
    'a flood of %j ends the stream',
    (empty) => {
      const observer = observe()
      observer.push(Buffer.from(begin))
      const parse = vi.spyOn(JSON, 'parse')
      observer.push(Buffer.from(empty.repeat(50_000)))
      expect(parse).not.toHaveBeenCalled()
      parse.mockRestore()
      expect(observer.failure).toEqual({ class: 'transient', detail: 'empty_events' })
    },
  )

  test('line ends of any kind, in any pieces', () => {
    for (const end of ['\n', '\r\n', '\r']) {
      const stream = `\uFEFF${begin}: c\n\n${begin}`.replaceAll('\n', end)
      for (const size of [1, 2, 3, 1_000]) {
        const observer = observe()
        const bytes = Buffer.from(stream)
        const out: Buffer[] = []
        for (let at = 0; at < bytes.length; at += size)
          out.push(observer.push(bytes.subarray(at, at + size)) ?? Buffer.alloc(0))
        expect(Buffer.concat(out).toString()).toBe(stream)
        expect(observer).toMatchObject({ begun: true, failure: undefined })
      }
    }
  })
})
