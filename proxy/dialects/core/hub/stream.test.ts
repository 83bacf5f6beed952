import { describe, expect, it, vi } from 'vitest'
import { chat } from '../../chat/index.ts'
import { messages } from '../../messages/index.ts'
import { responses } from '../../responses/index.ts'
import type { Dialect } from '../dialect.ts'
import { fold } from '../neutral/fold.ts'
import type { StreamPart } from '../neutral/types.ts'
import { HubStream } from './stream.ts'

const REQUEST = '{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true}'

/** The events of a chat upstream’s stream. */
function read(...deltas: object[]) {
  const parts: StreamPart[] = []
  const encoder = { part: (part: StreamPart) => void parts.push(part), take: () => '', error: () => '' }
  const request = chat.parseRequest(Buffer.from(REQUEST), { maxDepth: 10, maxKeys: 100 }, {})
  const stream = new HubStream({
    upstream: chat.codec,
    encoder,
    filters: [],
    request,
    maxEventBytes: 10_000,
    tier: undefined,
  })
  for (const delta of deltas) {
    stream.push(Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`))
  }
  stream.push(Buffer.from('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'))
  stream.flush()
  return { parts: fold(parts)?.parts, delivered: stream.delivered }
}

it('deltas that differ only in their text all arrive', () => {
  const { parts, delivered } = read({ content: 'a' }, { content: 'bc' }, { content: 'é"' }, { content: 'd' })
  expect(parts).toEqual([{ type: 'text', text: 'abcé"d' }])
  expect(delivered).toEqual({ deltas: 4, bytes: 7 })
})

it('details of reasoning that differ only in their text are all kept: the vendor requires them back', () => {
  const detail = (fields: object) => ({
    reasoning_details: [{ type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0, ...fields }],
  })
  const { parts } = read(
    detail({ text: 'First ' }),
    detail({ text: 'then ' }),
    detail({ text: 'last.' }),
    detail({ signature: 'sig' }),
  )
  const [part] = parts ?? []
  const carrier = part?.type === 'reasoning' ? part.carrier : undefined
  expect(JSON.parse(carrier?.value ?? '')).toEqual([
    {
      type: 'reasoning.text',
      format: 'anthropic-claude-v1',
      index: 0,
      text: 'First then last.',
      signature: 'sig',
    },
  ])
})

/** An encoder that writes nothing. */
function open(upstream: Dialect): HubStream {
  const encoder = { part: () => undefined, take: () => '', error: () => '' }
  const request = chat.parseRequest(Buffer.from(REQUEST), { maxDepth: 10, maxKeys: 100 }, {})
  return new HubStream({
    upstream: upstream.codec,
    encoder,
    filters: [],
    request,
    maxEventBytes: 10_000,
    tier: undefined,
  })
}

const UPSTREAMS: [Dialect, string][] = [
  [chat, '{"choices":[{"index":0,"delta":{"role":"assistant"}}]}'],
  [responses, '{"type":"response.created","response":{"id":"resp_1"}}'],
  [messages, '{"type":"message_start","message":{"id":"msg_1"}}'],
]

describe.each(UPSTREAMS.map(([upstream, begin]) => [upstream.name, upstream, begin] as const))(
  '%s',
  (_, upstream, begin) => {
    it('begins with content, not with pings, comments and empty events', () => {
      const stream = open(upstream)
      stream.push(Buffer.from(': a\n\ndata:\n\n\n\nevent: ping\ndata: {"type":"ping"}\n\n'))
      expect(stream).toMatchObject({ begun: false, failure: undefined })
      stream.push(Buffer.from(`data: ${begin}\n\n`))
      expect(stream.begun).toBe(true)
    })

    it.each(['data:\n\n', 'event: ping\ndata: x\n\n', 'event: news\ndata: {x\n\n'])(
      'a flood of %j ends it, and costs little',
      (empty) => {
        const stream = open(upstream)
        stream.push(Buffer.from(`data: ${begin}\n\n`))
        const parse = vi.spyOn(JSON, 'parse')
        for (let pieces = 0; pieces < 100; pieces++) stream.push(Buffer.from(empty.repeat(500)))
        const parsed = parse.mock.calls.length
        parse.mockRestore()
        expect(stream.failure).toBeDefined()
        expect(parsed).toBeLessThanOrEqual(1_001)
      },
    )
  },
)
