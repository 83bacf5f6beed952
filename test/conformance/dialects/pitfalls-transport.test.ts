/** Faults of framing, text, ids and errors that other gateways are known for; the numbers are those of the list of pitfalls. */
import { describe, expect, it } from 'vitest'
import { GatewayError } from '../../../proxy/errors.ts'
import { chunked } from '../../harness/sse.ts'
import {
  clientOf,
  type DialectName,
  dialectOf,
  laneOf,
  minimalRequest,
  NAMES,
  streamRequest,
} from './codecs.ts'
import { transmit } from './laws.ts'
import { args, call, chatStream, converted, fixture, type Json, view } from './pitfalls.ts'
import { type SpecEvent, specEvents, writeEvents } from './sse.ts'
import { readStrictly } from './strict.ts'
import { viewOf } from './views.ts'

describe('7.11 framing', () => {
  const read: SpecEvent[] = specEvents(fixture('messages', 'text'))
  const spelled: [string, string][] = [
    ['CR', writeEvents(read).replaceAll('\n', '\r')],
    ['CRLF', writeEvents(read).replaceAll('\n', '\r\n')],
    ['a byte order mark', `\uFEFF${writeEvents(read)}`],
    ['no spaces', writeEvents(read).replaceAll('event: ', 'event:').replaceAll('data: ', 'data:')],
    ['comments', writeEvents(read).replaceAll('event: ', ': note\nevent: ')],
    ['names behind data', read.map(({ event, data }) => `data: ${data}\nevent: ${event}\n\n`).join('')],
    ['data over two lines', writeEvents(read).replaceAll(',"index"', ',\ndata: "index"')],
    ['no final blank line', writeEvents(read).trimEnd()],
  ]
  it.each(spelled)('%s, byte by byte', (_name, text) => {
    const transmitted = transmit('chat', 'messages', chunked(Buffer.from(text), 1))
    expect(viewOf('chat', readStrictly('chat', transmitted.text)).text).toBe('Hello, wörld 🌍!')
  })

  it.each(['done-with-spaces', 'no-done', 'multi-line-data', 'bom-comments'])('%s of chat', (name) => {
    expect(view('messages', 'chat', fixture('chat', name))).toMatchObject({ text: 'Hi', finish: 'stop' })
  })
})

describe('7.12 content types are not trusted', () => {
  it.each(NAMES)('a stream in place of JSON becomes JSON (%s)', (upstream) => {
    for (const client of NAMES) {
      const lane = laneOf(client, minimalRequest(client), upstream)
      const read = lane.readAnswer(Buffer.from(fixture(upstream, 'text')), false)
      if (!('body' in read)) throw new Error(read.detail)
      expect(viewOf(client, JSON.parse(read.body.toString())).text).toBe('Hello, wörld 🌍!')
    }
  })

  it.each(NAMES)('an error as the first event fails before the commit point (%s)', (upstream) => {
    for (const client of NAMES) {
      const transmitted = transmit(client, upstream, [Buffer.from(fixture(upstream, 'error-first'))])
      expect(transmitted).toMatchObject({ text: '', failed: true, finished: false })
    }
  })
})

describe('7.13 keep-alives', () => {
  it('are comments for clients that a ping would break', () => {
    for (const name of ['chat', 'responses'] as const)
      expect(dialectOf(name).keepAlive.toString()).toMatch(/^:.*\n\n$/)
    expect(dialectOf('messages').keepAlive.toString()).toBe('event: ping\ndata: {"type":"ping"}\n\n')
  })
})

describe('7.15 text', () => {
  const others = NAMES.filter((client) => client !== 'chat')
  it.each(others)('halves of a surrogate pair in two deltas are one character (%s)', (client) => {
    const text = chatStream([{ role: 'assistant' }, { content: '\ud83d' }, { content: '\ude00' }])
    expect(view(client, 'chat', text).text).toBe('😀')
  })

  it('arguments keep their numbers and the order of their keys', () => {
    const raw = '{"id":12345678901234567890,"b":1,"a":2}'
    const text = chatStream([{ role: 'assistant' }, call(0, 'a'), args(0, raw)], 'tool_calls')
    for (const client of NAMES) {
      expect(transmit(client, 'chat', [Buffer.from(text)]).text).toContain(JSON.stringify(raw).slice(1, -1))
    }
  })
})

describe('7.17 thinking in streams', () => {
  it('keeps redacted blocks and their order', () => {
    const text = converted('messages', 'messages', fixture('messages', 'redacted-thinking'))
    const answer = readStrictly('messages', text) as { content: Json[] }
    expect(answer.content.map(({ type }) => type)).toEqual(['thinking', 'redacted_thinking', 'text'])
  })

  it('keeps empty reasoning with its signature', () => {
    const { text } = transmit('responses', 'messages', [Buffer.from(fixture('messages', 'thinking-omitted'))])
    const answer = readStrictly('responses', text) as { output: Json[] }
    expect(answer.output[0]).toMatchObject({
      type: 'reasoning',
      summary: [],
      encrypted_content: expect.stringMatching(/^slc1\.signature\./),
    })
  })

  it('signs once, even if the upstream signs twice', () => {
    const text = converted('messages', 'messages', fixture('messages', 'signature-twice'))
    expect(text.match(/signature_delta/g)).toHaveLength(1)
    expect(text).toContain('"signature":"Q0Q="')
  })
})

it('7.19 ids have the prefixes of their dialect', () => {
  const read = (client: DialectName) => {
    const upstream = client === 'messages' ? 'chat' : 'messages'
    const bytes = Buffer.from(fixture(upstream, 'parallel-tools'))
    return readStrictly(client, transmit(client, upstream, [bytes]).text) as Json
  }
  expect(read('chat').id).toMatch(/^chatcmpl-/)
  expect(read('messages').id).toMatch(/^msg_/)
  const response = read('responses')
  expect(response.id).toMatch(/^resp_/)
  const output = response.output as { id: string; type: string }[]
  expect(output.map(({ id }) => id.split('_')[0])).toEqual(['msg', 'fc', 'fc'])
})

describe('7.22 errors that agents act on', () => {
  it('name the size of the prompt in the format of messages', () => {
    const error = new GatewayError('context_length_exceeded', 'Too long.', {
      tokens: { used: 9000, limit: 8000 },
    })
    expect(dialectOf('messages').errorBody(error, 'r1')).toMatchObject({
      error: { message: expect.stringMatching(/^prompt is too long: 9000 tokens > 8000 maximum/) },
    })
    expect(dialectOf('responses').errorBody(error, 'r1')).toMatchObject({
      error: { code: 'context_length_exceeded' },
    })
  })

  it.each(NAMES)('end a broken stream with an error of its dialect (%s)', (client) => {
    const encoder = dialectOf(client).codec.encodeStream(clientOf(client, streamRequest(client)))
    encoder.part({ type: 'start' })
    encoder.part({ type: 'text-start', id: '1' })
    encoder.part({ type: 'text-delta', id: '1', text: 'Half' })
    const before = encoder.take()
    const end = encoder.error(new GatewayError('upstream_error', 'The upstream broke off.'), 'r1')
    // A strict reader of responses reads a failed response, the others nothing.
    if (client === 'responses') expect(readStrictly(client, before + end)).toMatchObject({ status: 'failed' })
    else expect(() => readStrictly(client, before + end)).toThrow()
    const last = JSON.parse(specEvents(before + end).at(-1)?.data ?? '')
    const error = last.error ?? last.response.error
    expect(error).toMatchObject({ message: 'The upstream broke off.', code: 'upstream_error' })
    expect(before + end).not.toContain('[DONE]')
  })
})
