import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Message, readMessagesStream } from '../../../../../test/conformance/dialects/strict-messages.ts'
import { fold } from '../../../core/neutral/fold.ts'
import type { AssistantPart, Carrier, StreamPart } from '../../../core/neutral/types.ts'
import { call, dataOf, decodeEvents, encodeParts, newClient, textParts } from './block-testing.ts'
import { MessagesStreamEncoder } from './encode-stream.ts'

const START: StreamPart = { type: 'start' }
const FINISH: StreamPart = { type: 'finish', finish: { reason: 'stop' } }

/** The message that a client reads from these parts between start and finish. */
function decoded(...parts: StreamPart[]): Message {
  const calls = parts.some(({ type }) => type === 'tool-call-start')
  const finish: StreamPart = { type: 'finish', finish: { reason: calls ? 'tool-calls' : 'stop' } }
  return readMessagesStream(encodeParts([START, ...parts, finish]).text)
}

describe('overlapping parts', () => {
  test('are written one after another, the first as it arrives', () => {
    const client = newClient()
    const encoder = new MessagesStreamEncoder(client)
    const [startA, ...restA] = call('a', '{"a"', ':1}') as [StreamPart, ...StreamPart[]]
    const [startB, ...restB] = call('b', '{"b"', ':2}') as [StreamPart, ...StreamPart[]]
    encoder.part(START)
    encoder.part(startA)
    encoder.part(startB)
    encoder.take()
    encoder.part(restB[0] as StreamPart)
    expect(encoder.take()).toBe('')
    encoder.part(restA[0] as StreamPart)
    expect(dataOf(encoder.take())).toEqual([
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"a"' } },
    ])
    for (const part of [...restA.slice(1), ...restB.slice(1)]) encoder.part(part)
    encoder.part(FINISH)
    const data = dataOf(encoder.take())
    const indexes = data.map(({ index }) => index).filter((index) => index !== undefined)
    expect(indexes).toEqual([0, 0, 1, 1, 1, 1])
  })

  test('a part that ended while it was held is written completely', () => {
    const [first, ...rest] = call('a', '{}') as [StreamPart, ...StreamPart[]]
    const { content } = decoded(first, ...call('b', '{"b":2}'), ...textParts('t', 'x'), ...rest)
    expect(content).toEqual([
      { type: 'tool_use', id: 'call_a', name: 'f', input: {} },
      { type: 'tool_use', id: 'call_b', name: 'f', input: { b: 2 } },
      { type: 'text', text: 'x' },
    ])
  })

  test('parts that never end are closed by the finish', () => {
    const { content } = decoded(...call('a', '{"a":1}').slice(0, -1), ...call('b', '{"b":2}').slice(0, -1))
    expect(content).toEqual([
      { type: 'tool_use', id: 'call_a', name: 'f', input: { a: 1 } },
      { type: 'tool_use', id: 'call_b', name: 'f', input: { b: 2 } },
    ])
  })
})

// Generated streams: parts start in order, and their deltas arrive in any order that the neutral form allows.

interface Lane {
  id: string
  parts: StreamPart[]
  /** The block that a client must see; undefined for none. */
  block: object | undefined
}

/** A text in several deltas. */
const pieces = (text: fc.Arbitrary<string>): fc.Arbitrary<string[]> =>
  fc.tuple(text, fc.array(fc.nat({ max: 30 }), { maxLength: 4 })).map(([whole, cuts]) => {
    const at = [0, ...cuts.filter((cut) => cut <= whole.length).sort((a, b) => a - b), whole.length]
    return at.slice(1).map((to, i) => whole.slice(at[i], to))
  })

const anyText = fc.string({ unit: 'binary', maxLength: 20 })
const anyInput = fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 })

const textLane = fc.tuple(fc.uuid(), pieces(anyText)).map(([id, texts]): Lane => {
  const text = texts.join('')
  return { id, parts: textParts(id, ...texts), block: text === '' ? undefined : { type: 'text', text } }
})
const callLane = fc
  .tuple(
    fc.uuid(),
    anyInput.chain((input) => pieces(fc.constant(JSON.stringify(input)))),
  )
  .map(([id, texts]): Lane => {
    const input: unknown = JSON.parse(texts.join(''))
    return { id, parts: call(id, ...texts), block: { type: 'tool_use', id: `call_${id}`, name: 'f', input } }
  })
const reasoningLane = fc
  .tuple(fc.uuid(), fc.array(pieces(anyText), { maxLength: 3 }), fc.option(fc.stringMatching(/^\w{1,9}$/)))
  .map(([id, paragraphs, signature]): Lane => {
    const deltas = paragraphs.flatMap((texts, paragraph) =>
      texts.map((text): StreamPart => ({ type: 'reasoning-delta', id, text, paragraph })),
    )
    const value = signature ?? ''
    const carrier: Carrier = { dialect: 'messages', kind: 'signature', value }
    const thinking = paragraphs
      .map((texts) => texts.join(''))
      .filter((text) => text !== '')
      .join('\n\n')
    const end: StreamPart = { type: 'reasoning-end', id, ...(value !== '' && { carrier }) }
    return {
      id,
      parts: [{ type: 'reasoning-start', id }, ...deltas, end],
      block: thinking === '' && value === '' ? undefined : { type: 'thinking', thinking, signature: value },
    }
  })

/** Merges lanes: each pick takes the next part of an open lane, or opens the next one. */
function merge(lanes: readonly Lane[], picks: readonly number[]): StreamPart[] {
  const merged: StreamPart[] = []
  const waiting = lanes.map(({ parts }) => [...parts])
  let open: StreamPart[][] = []
  for (const pick of picks) {
    const lane = open[pick % (open.length + 1)] ?? waiting.shift()
    const part = lane?.shift()
    if (part === undefined || lane === undefined) continue
    merged.push(part)
    open = [...open.filter((other) => other !== lane), lane].filter(({ length }) => length > 0)
  }
  return [...merged, ...open.flat(), ...waiting.flat()]
}

test('a strict reader sees the blocks of overlapping parts in order', () => {
  const lane = fc.oneof(textLane, callLane, reasoningLane)
  const lanes = fc.uniqueArray(lane, { selector: ({ id }) => id, maxLength: 6 })
  fc.assert(
    fc.property(lanes, fc.array(fc.nat({ max: 6 }), { maxLength: 20 }), (given, picks) => {
      const order = merge(given, picks)
      const begun = order.flatMap((part) => (part.type.endsWith('-start') && 'id' in part ? [part.id] : []))
      expect(begun).toEqual(given.map(({ id }) => id))
      const calls = given.some(({ parts }) => parts[0]?.type === 'tool-call-start')
      const finish: StreamPart = { type: 'finish', finish: { reason: calls ? 'tool-calls' : 'stop' } }
      const { text } = encodeParts([START, ...order, finish])
      const { content } = readMessagesStream(text)
      expect(content).toEqual(given.map(({ block }) => block).filter((block) => block !== undefined))
      // The decoder reads the encoded stream as the same parts.
      const parts: AssistantPart[] = fold(decodeEvents(dataOf(text)).parts)?.parts ?? []
      expect(parts.map(({ type }) => type)).toEqual(
        content.map(
          ({ type }) => ({ text: 'text', thinking: 'reasoning', tool_use: 'tool-call' })[String(type)],
        ),
      )
    }),
  )
})

test('a hundred thousand open parts do not slow down a look-up', () => {
  const encoder = new MessagesStreamEncoder(newClient())
  encoder.part({ type: 'start' })
  const ids = Array.from({ length: 100_000 }, (_, i) => `c${i}`)
  for (const id of ids) encoder.part({ type: 'tool-call-start', id, callId: id, name: 'f', kind: 'function' })
  for (const id of ids) encoder.part({ type: 'tool-call-end', id })
  encoder.part({ type: 'finish', finish: { reason: 'tool-calls' } })
  // Numbers only: a diff of so many lines takes minutes to print.
  expect(encoder.take().match(/^event: content_block_stop$/gm)?.length).toBe(ids.length)
})
