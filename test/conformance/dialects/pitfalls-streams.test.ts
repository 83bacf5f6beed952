/** Faults of streams that other gateways are known for; the numbers are those of the list of pitfalls. */
import { describe, expect, it } from 'vitest'
import { NAMES } from './codecs.ts'
import { transmit } from './laws.ts'
import { args, call, chatStream, converted, events, fixture, type Json, view } from './pitfalls.ts'
import { readStrictly } from './strict.ts'

describe('7.1 tool indexes of chat', () => {
  it('count calls, not blocks', () => {
    const received = events('chat', 'messages', fixture('messages', 'parallel-tools'))
    const indexes = received.flatMap(
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

  it('are sequential blocks in messages', () => {
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
    const received = events('responses', 'messages', fixture('messages', 'parallel-tools'))
    const added = received.filter(({ type }) => type === 'response.output_item.added')
    expect(added.map(({ output_index }) => output_index)).toEqual([0, 1, 2])
    const ids = new Map(added.map(({ output_index, item }) => [output_index, (item as Json).id]))
    expect(new Set(ids.values()).size).toBe(3)
    for (const event of received)
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
  const received = (name: string) => events('responses', 'messages', fixture('messages', name))

  it('have their arrays and empty arguments', () => {
    const items = [...received('thinking'), ...received('parallel-tools')]
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
    const all = received('parallel-tools')
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
    'is not zero at the start, and complete at the end (%s)',
    (upstream) => {
      const received = events('messages', upstream, fixture(upstream, 'text'))
      const start = received[0]?.message as { usage: Json }
      expect(start.usage.input_tokens).toBe(7)
      const delta = received.find(({ type }) => type === 'message_delta')
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
  it('begin with an empty object and continue as deltas', () => {
    const received = events('messages', 'responses', fixture('responses', 'parallel-tools'))
    const starts = received.filter(({ type, content_block }) => {
      return type === 'content_block_start' && (content_block as Json).type === 'tool_use'
    })
    expect(starts.map(({ content_block }) => (content_block as Json).input)).toEqual([{}, {}])
    expect(JSON.stringify(received)).toContain('input_json_delta')
  })

  it.each(NAMES)('are read from the start event of an upstream (%s)', (client) => {
    const { calls } = view(client, 'messages', fixture('messages', 'input-in-start'))
    expect(calls.map(({ input }) => input)).toEqual([{ city: 'Rome' }, { zone: 'CET' }])
  })
})

describe('7.7 ends of messages', () => {
  it('close all blocks, then send the reason, then stop', () => {
    const received = events('messages', 'responses', fixture('responses', 'interleaved-calls'))
    expect(received.slice(-3).map(({ type }) => type)).toEqual([
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
  })

  it.each(NAMES)('have the reason of a tool call, though the upstream sent stop (%s)', (client) => {
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

  it('an empty finish_reason means no finish', () => {
    const text = chatStream([{ role: 'assistant' }, { content: 'Hi' }]).replace(
      '"finish_reason":"stop"',
      '"finish_reason":""',
    )
    // Usage without choices would prove the end.
    const cut = text.slice(0, text.indexOf('\n\n', text.indexOf('"finish_reason":""')) + 2)
    expect(transmit('messages', 'chat', [Buffer.from(cut)]).finished).toBe(false)
  })
})

it('7.9 empty deltas open nothing', () => {
  const received = events('messages', 'chat', fixture('chat', 'empty-deltas'))
  const blocks = received.filter(({ type }) => type === 'content_block_start')
  expect(blocks.map(({ content_block }) => (content_block as Json).type)).toEqual(['thinking', 'text'])
  expect(view('chat', 'chat', fixture('chat', 'role-in-each-chunk')).text).toBe('AB')
})

it('7.10 empty arguments are the empty object at the end', () => {
  for (const client of ['chat', 'responses'] as const) {
    const text = converted(client, 'chat', fixture('chat', 'stop-though-tools'))
    expect(JSON.stringify(readStrictly(client, text))).toContain('"arguments":"{}"')
  }
})
