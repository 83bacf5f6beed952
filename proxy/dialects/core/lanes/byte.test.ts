import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import '../../index.ts'
import { GatewayError } from '../../../errors.ts'
import { chat } from '../../chat/index.ts'
import { messages } from '../../messages/index.ts'
import { responses } from '../../responses/index.ts'
import type { Dialect } from '../dialect.ts'
import { byteLane } from './byte.ts'

const LIMITS = { maxDepth: 10, maxKeys: 100 }
const BODIES = {
  chat: { model: 'mine', messages: [{ role: 'user', content: 'Hi' }] },
  messages: { model: 'mine', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] },
  responses: { model: 'mine', input: 'Hi' },
}

function laneOf(dialect: Dialect, { rewriteModel = false, more = {}, finishReason = true } = {}) {
  const body = { ...BODIES[dialect.name as keyof typeof BODIES], ...more }
  const parsed = dialect.parseRequest(Buffer.from(JSON.stringify(body)), LIMITS, {})
  const path = dialect.upstreamPath('up', false)
  return byteLane(dialect, parsed, { path, model: 'up', rewriteModel, addStreamUsage: false, finishReason })
}

const STREAM = Buffer.from(
  [
    'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"}}]}',
    'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
    'data: {"id":"c","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}',
    'data: [DONE]\n\n',
  ].join('\n\n'),
)

describe('an unrequested stream', () => {
  it('becomes the answer that it carries', () => {
    const answer = laneOf(chat).readAnswer(STREAM, false)
    expect(answer).toMatchObject({ usage: { input: 1, output: 2 }, delivered: { deltas: 1, bytes: 2 } })
    const body = 'body' in answer ? JSON.parse(answer.body.toString()) : {}
    expect(body).toMatchObject({ object: 'chat.completion', choices: [{ message: { content: 'Hi' } }] })
  })

  it('is read for a request that no other dialect supports', () => {
    const more = { messages: [{ role: 'user', content: [{ type: 'of_the_vendor' }] }] }
    expect(laneOf(chat, { more }).readAnswer(STREAM, false)).toHaveProperty('body')
  })

  it('is a failure if it was cut or carries an error', () => {
    const half = STREAM.subarray(0, STREAM.indexOf('data: {"id":"c","choices":[{"index":0,"delta":{},'))
    expect(laneOf(chat).readAnswer(half, false)).toMatchObject({ class: 'transient', detail: 'cut_stream' })
    const error = Buffer.from('data: {"error":{"code":"rate_limit_exceeded"}}\n\n')
    expect(laneOf(chat).readAnswer(error, false)).toMatchObject({ class: 'rate_limit', status: 200 })
  })

  it('needs no finish_reason if the upstream never sends one', () => {
    const done = Buffer.from(
      'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n',
    )
    expect(laneOf(chat).readAnswer(done, false)).toMatchObject({ detail: 'no_finish_reason' })
    expect(laneOf(chat, { finishReason: false }).readAnswer(done, false)).toHaveProperty('body')
  })
})

/** Streams in which the model stands where it means something (`UP`), and where it is only a text of someone. */
const STREAMS: [Dialect, string][] = [
  [
    chat,
    'data: {"id":"c", "model" : UP,"choices":[{"index":0,"delta":{"content":"\\"model\\":\\"up\\"","x":{"model":"up"}}}]}\n\n' +
      ': "model"\n\ndata: {"id":"c",\ndata: "choices":[{"index":0,"delta":{},"finish_reason":"stop"}],\ndata: "model":UP}\n\n' +
      'data: {"id":"c","model":null,"choices":[],"usage":null}\n\ndata: [DONE]\n\n',
  ],
  [
    messages,
    '\uFEFFevent: message_start\r\ndata:{"type":"message_start","message":{"model":UP,"usage":{"model":"up"}},"model":"up"}\r\n\r\n' +
      'event: content_block_delta\r\ndata: {"type":"content_block_delta","index":0,"delta":{"text":"\\"model\\" ü","model":"up"}}\r\n\r\n' +
      'event: message_stop\r\ndata: {"type":"message_stop"}\r\n\r\n',
  ],
  [
    responses,
    'data: {"type":"response.created","response":{"model":UP,"tools":[{"model":"up"}]}}\n\n' +
      'data: {"type":"response.output_item.done","item":{"model":"up"}}\n\n' +
      'data: {"type":"response.completed","response":{"x":1.0,"model":UP , "output":[]}}\n\n',
  ],
]
const spelled = (text: string, model: string) => Buffer.from(text.replaceAll('UP', JSON.stringify(model)))

describe.each(STREAMS)('a client of $name reads the model name that it sent', (dialect, text) => {
  it('in a stream, whose other bytes stay unchanged in any chunks', () => {
    const bytes = spelled(text, 'up')
    const cuts = fc.array(fc.nat(bytes.length), { maxLength: 12 })
    fc.assert(
      fc.property(cuts, fc.constantFrom('up', '', 'up"\\ü\u2028'), (at, model) => {
        const observer = laneOf(dialect, { rewriteModel: true }).observe(10_000)
        const ends = [...at.toSorted((a, b) => a - b), bytes.length]
        const given = spelled(text, model)
        const pieces = ends.map((end, i) => given.subarray(i === 0 ? 0 : ends[i - 1], end))
        const rest = given.subarray(bytes.length)
        const out = [...pieces.map((piece) => observer.push(piece)), observer.push(rest), observer.flush()]
        const passed = Buffer.concat(out.filter((piece) => piece !== undefined))
        // Line ends after the last event are dropped or not, depending on the chunks.
        expect(passed.toString().trimEnd()).toBe(spelled(text, 'mine').toString().trimEnd())
        expect(observer).toMatchObject({ finished: true, failure: undefined })
      }),
    )
  })

  it('or the upstream’s name, if the route does not rewrite it', () => {
    const observer = laneOf(dialect).observe(10_000)
    expect(observer.push(spelled(text, 'up'))?.equals(spelled(text, 'up'))).toBe(true)
  })
})

describe('a whole answer', () => {
  const ANSWERS: [Dialect, string][] = [
    [
      chat,
      '{ "id":"c", "model" : UP,"choices":[{"index":0,"message":{"content":"x","model":"up"}}],"x":1.0}',
    ],
    [messages, '{"type":"message","model":UP,"content":[{"type":"text","text":"x","model":"up"}] }'],
    [responses, '{"model":UP,"status":"completed","output":[{"type":"x","model":"up"}], "big":1e400}'],
  ]
  it.each(ANSWERS)('names the model as the client of $name did', (dialect, text) => {
    const read = (rewriteModel: boolean) =>
      laneOf(dialect, { rewriteModel }).readAnswer(spelled(text, 'up'), false)
    const bodyOf = (answer: ReturnType<typeof read>) => ('body' in answer ? answer.body.toString() : answer)
    expect(bodyOf(read(true))).toBe(spelled(text, 'mine').toString())
    expect(bodyOf(read(false))).toBe(spelled(text, 'up').toString())
  })

  it('that becomes a stream, and an error in a stream, have it too', () => {
    const lane = laneOf(responses, { rewriteModel: true })
    const whole = Buffer.from('{"model":"up","status":"completed","output":[]}')
    const answer = lane.readAnswer(whole, true)
    const text = 'body' in answer ? answer.body.toString() : ''
    expect([text.includes('"mine"'), text.includes('"up"')]).toEqual([true, false])
    const observer = lane.observe(10_000)
    observer.push(Buffer.from('data: {"type":"response.created","response":{"model":"up"}}\n\n'))
    const event = observer.errorEvent(new GatewayError('upstream_error', 'It broke.'), 'r').toString()
    expect([event.includes('"model":"mine"'), event.includes('"up"')]).toEqual([true, false])
  })
})
