/** Faults of streams that other gateways are known for; the numbers are those of the list of pitfalls. */
import { describe, expect, it } from 'vitest'
import type { DialectName } from '../../../contract/endpoints.ts'
import { GatewayError } from '../../../proxy/errors.ts'
import { chunked } from '../../harness/sse.ts'
import { clientOf, dialectOf, laneOf, leastRequest, NAMES, streamRequest } from './codecs.ts'
import { STREAMS } from './fixtures.ts'
import { relay } from './laws.ts'
import { type SpecEvent, specEvents, writeEvents } from './sse.ts'
import { readStrictly } from './strict.ts'
import { viewOf } from './views.ts'

type Json = Record<string, unknown>

const fixture = (dialect: DialectName, name: string): string => {
  const found = STREAMS.find((one) => one.dialect === dialect && one.name === name)
  if (found === undefined) throw new Error(`no stream ${dialect} ${name}`)
  return found.content
}

/** The events that a client reads of an upstream's stream, parsed. */
const events = (client: DialectName, upstream: DialectName, text: string): Json[] =>
  specEvents(relay(client, upstream, [Buffer.from(text)]).text)
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data))

const view = (client: DialectName, upstream: DialectName, text: string) =>
  viewOf(client, readStrictly(client, relay(client, upstream, [Buffer.from(text)]).text))

/** A chat stream of these deltas, then the finish. */
function chatStream(deltas: Json[], finish = 'stop'): string {
  const chunk = (choices: Json[], more: Json = {}) => ({
    event: '',
    data: JSON.stringify({
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'up',
      choices,
      ...more,
    }),
  })
  const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }
  return writeEvents([
    ...deltas.map((delta) => chunk([{ index: 0, delta, finish_reason: null }])),
    chunk([{ index: 0, delta: {}, finish_reason: finish }]),
    chunk([], { usage }),
    { event: '', data: '[DONE]' },
  ])
}

const call = (index: number, id: string, args = '') => ({
  tool_calls: [{ index, id, type: 'function', function: { name: 'f', arguments: args } }],
})
const args = (index: number, text: string) => ({ tool_calls: [{ index, function: { arguments: text } }] })

describe('7.1 tool indexes of chat', () => {
  it('count calls, not blocks', () => {
    const told = events('chat', 'messages', fixture('messages', 'parallel-tools'))
    const indexes = told.flatMap(
      (chunk) => JSON.stringify(chunk).match(/"tool_calls":\[\{"index":(\d+)/)?.[1] ?? [],
    )
    expect([...new Set(indexes)]).toEqual(['0', '1'])
  })

  it.each(['index-gap', 'index-zero-for-all', 'no-index'])('are dense for an upstream with %s', (name) => {
    const { calls } = view('chat', 'chat', fixture('chat', name))
    expect(calls.length).toBe(name === 'no-index' ? 1 : 2)
  })
})

describe('7.2 parallel calls', () => {
  const mixed = chatStream(
    [
      { role: 'assistant' },
      call(0, 'a', '{"x":'),
      call(1, 'b', '{"y":'),
      args(0, '1'),
      args(1, '2'),
      args(1, '}'),
      args(0, '}'),
    ],
    'tool_calls',
  )

  it.each(NAMES)('do not mix their arguments for clients of %s', (client) => {
    expect(view(client, 'chat', mixed).calls).toEqual([
      { id: 'a', kind: 'function', name: 'f', input: { x: 1 } },
      { id: 'b', kind: 'function', name: 'f', input: { y: 2 } },
    ])
  })

  it('are blocks one after another in messages', () => {
    const types = events('messages', 'chat', mixed).map(({ type, index }) => `${type} ${index ?? ''}`.trim())
    const blocks = types.filter((type) => type.startsWith('content_block') && !type.includes('delta'))
    expect(blocks).toEqual([
      'content_block_start 0',
      'content_block_stop 0',
      'content_block_start 1',
      'content_block_stop 1',
    ])
  })
})

describe('7.3 items of responses', () => {
  it('have an index and an id of their own, the same in every event', () => {
    const told = events('responses', 'messages', fixture('messages', 'parallel-tools'))
    const added = told.filter(({ type }) => type === 'response.output_item.added')
    expect(added.map(({ output_index }) => output_index)).toEqual([0, 1, 2])
    const ids = new Map(added.map(({ output_index, item }) => [output_index, (item as Json).id]))
    expect(new Set(ids.values()).size).toBe(3)
    for (const event of told)
      if (event.item_id !== undefined) expect(event.item_id).toBe(ids.get(event.output_index))
  })

  it('of reasoning open before their first delta', () => {
    const types = events('responses', 'chat', fixture('chat', 'reasoning')).map(({ type }) => type)
    const opened = types.indexOf('response.reasoning_summary_part.added')
    expect(opened).toBeGreaterThan(types.indexOf('response.output_item.added'))
    expect(types.indexOf('response.reasoning_summary_text.delta')).toBeGreaterThan(opened)
  })
})

describe('7.4 skeletons of responses', () => {
  const told = (name: string) => events('responses', 'messages', fixture('messages', name))

  it('have their arrays and empty arguments', () => {
    const items = [...told('thinking'), ...told('parallel-tools')]
      .filter(({ type }) => type === 'response.output_item.added')
      .map(({ item }) => item as Json)
    expect(items.filter(({ type }) => type === 'reasoning')).toEqual([
      expect.objectContaining({ summary: [] }),
    ])
    for (const item of items.filter(({ type }) => type === 'message')) expect(item.content).toEqual([])
    const calls = items.filter(({ type }) => type === 'function_call')
    expect(calls.map((item) => item.arguments)).toEqual(['', ''])
  })

  it('are closed, and every event is numbered', () => {
    const all = told('parallel-tools')
    expect(all.map(({ sequence_number }) => sequence_number)).toEqual(all.map((_, index) => index))
    const count = (type: string) => all.filter((event) => event.type === type).length
    expect(count('response.function_call_arguments.done')).toBe(2)
    expect(count('response.output_item.done')).toBe(count('response.output_item.added'))
    expect(count('response.content_part.added')).toBe(1)
    expect(all.at(-1)?.type).toBe('response.completed')
  })
})

describe('7.5 usage of messages', () => {
  it.each(['chat', 'responses'] as const)(
    'is no zero at the start, and whole at the end (%s)',
    (upstream) => {
      const told = events('messages', upstream, fixture(upstream, 'text'))
      const start = told[0]?.message as { usage: Json }
      expect(start.usage.input_tokens).toBe(7)
      const delta = told.find(({ type }) => type === 'message_delta')
      expect(delta?.usage).toMatchObject({
        input_tokens: 50,
        cache_read_input_tokens: 40,
        cache_creation_input_tokens: 10,
        output_tokens: 30,
      })
    },
  )
})

describe('7.6 arguments of messages', () => {
  it('begin with an empty object and come as deltas', () => {
    const told = events('messages', 'responses', fixture('responses', 'parallel-tools'))
    const starts = told.filter(({ type, content_block }) => {
      return type === 'content_block_start' && (content_block as Json).type === 'tool_use'
    })
    expect(starts.map(({ content_block }) => (content_block as Json).input)).toEqual([{}, {}])
    expect(JSON.stringify(told)).toContain('input_json_delta')
  })

  it.each(NAMES)('are read where an upstream puts them into the start (%s)', (client) => {
    const { calls } = view(client, 'messages', fixture('messages', 'input-in-start'))
    expect(calls.map(({ input }) => input)).toEqual([{ city: 'Rome' }, { zone: 'CET' }])
  })
})

describe('7.7 ends of messages', () => {
  it('close all blocks, then tell the reason, then stop', () => {
    const told = events('messages', 'responses', fixture('responses', 'interleaved-calls'))
    expect(told.slice(-3).map(({ type }) => type)).toEqual([
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
  })

  it.each(NAMES)('say that tools are called, though the upstream said stop (%s)', (client) => {
    expect(view(client, 'chat', fixture('chat', 'stop-though-tools')).finish).toBe('tool-calls')
  })
})

describe('7.8 finish and usage of sloppy chat upstreams', () => {
  const names = [
    'usage-in-finish-chunk',
    'usage-in-each-chunk',
    'usage-without-choices',
    'filter-chunk-first',
    'after-done',
    'content-in-finish-chunk',
  ]
  it.each(names)('%s', (name) => {
    for (const client of NAMES) {
      const read = view(client, 'chat', fixture('chat', name))
      expect(read.finish).toBe('stop')
      expect(read.text).toMatch(/^Hi( there|!)?$/)
      expect(read.usage).toMatchObject({ prompt: 100, output: 30 })
    }
  })

  it('an empty finish_reason is none', () => {
    const text = chatStream([{ role: 'assistant' }, { content: 'Hi' }]).replace(
      '"finish_reason":"stop"',
      '"finish_reason":""',
    )
    const cut = text.slice(0, text.indexOf('data: [DONE]'))
    expect(relay('messages', 'chat', [Buffer.from(cut)]).finished).toBe(false)
  })
})

it('7.9 empty deltas open nothing', () => {
  const told = events('messages', 'chat', fixture('chat', 'empty-deltas'))
  const blocks = told.filter(({ type }) => type === 'content_block_start')
  expect(blocks.map(({ content_block }) => (content_block as Json).type)).toEqual(['thinking', 'text'])
  expect(view('chat', 'chat', fixture('chat', 'role-in-each-chunk')).text).toBe('AB')
})

it('7.10 arguments of nothing are the empty object at the end', () => {
  for (const client of ['chat', 'responses'] as const) {
    const text = relay(client, 'chat', [Buffer.from(fixture('chat', 'stop-though-tools'))]).text
    expect(JSON.stringify(readStrictly(client, text))).toContain('"arguments":"{}"')
  }
})

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
    const relayed = relay('chat', 'messages', chunked(Buffer.from(text), 1))
    expect(viewOf('chat', readStrictly('chat', relayed.text)).text).toBe('Hello, wörld 🌍!')
  })

  it.each(['done-with-spaces', 'no-done', 'multi-line-data', 'bom-comments'])('%s of chat', (name) => {
    expect(view('messages', 'chat', fixture('chat', name))).toMatchObject({ text: 'Hi', finish: 'stop' })
  })
})

describe('7.12 content types are not trusted', () => {
  it.each(NAMES)('a stream where JSON was asked for becomes JSON (%s)', (upstream) => {
    for (const client of NAMES) {
      const lane = laneOf(client, leastRequest(client), upstream)
      const read = lane.readAnswer(Buffer.from(fixture(upstream, 'text')), false)
      if (!('body' in read)) throw new Error(read.detail)
      expect(viewOf(client, JSON.parse(read.body.toString())).text).toBe('Hello, wörld 🌍!')
    }
  })

  it.each(NAMES)('an error as the first event fails before anything is sent (%s)', (upstream) => {
    for (const client of NAMES) {
      const relayed = relay(client, upstream, [Buffer.from(fixture(upstream, 'error-first'))])
      expect(relayed).toMatchObject({ text: '', failed: true, finished: false })
    }
  })
})

describe('7.13 keep-alives', () => {
  it('are comments where a ping would break clients', () => {
    for (const name of ['chat', 'responses'] as const)
      expect(dialectOf(name).keepAlive.toString()).toMatch(/^:.*\n\n$/)
    expect(dialectOf('messages').keepAlive.toString()).toBe('event: ping\ndata: {"type":"ping"}\n\n')
  })
})

describe('7.15 text', () => {
  it.each(NAMES)('halves of a surrogate pair in two deltas are one character (%s)', (client) => {
    const text = chatStream([{ role: 'assistant' }, { content: '\ud83d' }, { content: '\ude00' }])
    expect(view(client, 'chat', text).text).toBe('😀')
  })

  it('arguments keep their numbers and the order of their keys', () => {
    const raw = '{"id":12345678901234567890,"b":1,"a":2}'
    const text = chatStream([{ role: 'assistant' }, call(0, 'a'), args(0, raw)], 'tool_calls')
    for (const client of NAMES) {
      expect(relay(client, 'chat', [Buffer.from(text)]).text).toContain(JSON.stringify(raw).slice(1, -1))
    }
  })
})

describe('7.17 thinking in streams', () => {
  it('keeps redacted blocks and their order', () => {
    const { text } = relay('messages', 'messages', [Buffer.from(fixture('messages', 'redacted-thinking'))])
    const answer = readStrictly('messages', text) as { content: Json[] }
    expect(answer.content.map(({ type }) => type)).toEqual(['thinking', 'redacted_thinking', 'text'])
  })

  it('keeps an empty thought with its signature', () => {
    const { text } = relay('responses', 'messages', [Buffer.from(fixture('messages', 'thinking-omitted'))])
    const answer = readStrictly('responses', text) as { output: Json[] }
    expect(answer.output[0]).toMatchObject({
      type: 'reasoning',
      summary: [],
      encrypted_content: expect.stringMatching(/^slc1\.signature\./),
    })
  })

  it('signs once, also for an upstream that signs twice', () => {
    const { text } = relay('messages', 'messages', [Buffer.from(fixture('messages', 'signature-twice'))])
    expect(text.match(/signature_delta/g)).toHaveLength(1)
    expect(text).toContain('"signature":"Q0Q="')
  })
})

it('7.19 ids have the prefixes of their dialect', () => {
  const read = (client: DialectName) => {
    const upstream = client === 'messages' ? 'chat' : 'messages'
    const bytes = Buffer.from(fixture(upstream, 'parallel-tools'))
    return readStrictly(client, relay(client, upstream, [bytes]).text) as Json
  }
  expect(read('chat').id).toMatch(/^chatcmpl-/)
  expect(read('messages').id).toMatch(/^msg_/)
  const response = read('responses')
  expect(response.id).toMatch(/^resp_/)
  const output = response.output as { id: string; type: string }[]
  expect(output.map(({ id }) => id.split('_')[0])).toEqual(['msg', 'fc', 'fc'])
})

describe('7.22 errors that agents act on', () => {
  it('name the size of the prompt in the words of messages', () => {
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

  it.each(NAMES)('end a stream that broke in its dialect, and not as a success (%s)', (client) => {
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
