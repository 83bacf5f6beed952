import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StreamPart } from '../../../core/neutral/types.ts'
import { chat } from '../../index.ts'
import { chunk, clientOf, decodeEvents } from '../testing.ts'
import { DONE, HELLO, STOP, types } from './stream-testing.ts'

describe('the end of a stream', () => {
  test('without [DONE], after a finish', () => {
    const { parts, decoder } = decodeEvents([HELLO, chunk({ content: 'x' }), STOP])
    expect(parts.at(-1)).toMatchObject({ type: 'finish', finish: { reason: 'stop' } })
    expect(decoder).toMatchObject({ finished: true, done: false })
  })

  const counted = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } }
  const call = chunk({ tool_calls: [{ index: 0, function: { name: 'f', arguments: '{}' } }] })

  test.each<[string, (object | string)[]]>([
    ['[DONE] after a text', [HELLO, chunk({ content: 'x' }), DONE]],
    ['[DONE] after a call', [HELLO, call, DONE]],
    ['[DONE] without content', [HELLO, DONE]],
    ['usage without choices before any content', [HELLO, counted, DONE]],
    ['null usage', [HELLO, chunk({ content: 'x' }), { ...counted, usage: null }, DONE]],
    ['usage with a choice', [HELLO, chunk({ content: 'x' }, null, { usage: counted.usage }), DONE]],
    ['usage before more content', [HELLO, chunk({ content: 'x' }), counted, chunk({ content: 'y' }), DONE]],
  ])('%s does not prove the end', (_, events) => {
    const { parts, decoder } = decodeEvents(events)
    expect(types(parts)).not.toContain('finish')
    expect(decoder).toMatchObject({
      finished: false,
      failure: { class: 'transient', detail: 'no_finish_reason' },
    })
  })

  test.each<[string, (object | string)[], string]>([
    ['usage without choices after a text', [chunk({ content: 'x' }), counted], 'stop'],
    ['usage without a list of choices', [chunk({ content: 'x' }), { usage: counted.usage }], 'stop'],
    ['usage without choices after a call', [call, counted], 'tool-calls'],
  ])('%s proves the end, with [DONE] or without', (_, events, reason) => {
    for (const end of [[DONE], []]) {
      const { parts, decoder } = decodeEvents([HELLO, ...events, ...end])
      expect(parts.at(-1)).toMatchObject({ type: 'finish', finish: { reason }, usage: { output: 2 } })
      expect(decoder).toMatchObject({ finished: true, failure: undefined })
    }
  })

  test('[DONE] after content ends the answer of an upstream without finish reasons', () => {
    const without = { finishReason: false }
    const ended = decodeEvents([HELLO, chunk({ content: 'x' }), DONE], without)
    expect(ended.parts.at(-1)).toMatchObject({ type: 'finish', finish: { reason: 'stop' } })
    expect(decodeEvents([HELLO, DONE], without).decoder.failure).toMatchObject({ detail: 'no_finish_reason' })
    expect(decodeEvents([HELLO, chunk({ content: 'x' })], without).decoder.finished).toBe(false)
  })

  test('[DONE] alone is not an answer', () => {
    expect(decodeEvents([DONE])).toMatchObject({ parts: [], decoder: { finished: false, done: true } })
  })

  test.each([null, '', undefined, [], {}, 1])('finish_reason %j is none: the stream is cut', (reason) => {
    const { parts, decoder } = decodeEvents([HELLO, chunk({ content: 'x' }, reason as null)])
    expect(types(parts)).not.toContain('finish')
    expect(decoder.finished).toBe(false)
  })

  test.each<[string, string, string | object, object]>([
    [
      'an error',
      '',
      { error: { type: 'server_error', message: 'secret' } },
      { class: 'transient', detail: 'error_event' },
    ],
    ['an error text', '', { error: 'x' }, { class: 'unknown' }],
    ['an event of that name', 'error', { code: 'rate_limit_exceeded' }, { class: 'rate_limit' }],
    ['an event of that name without JSON', 'error', 'oops', { class: 'unknown', detail: 'error_event' }],
    [
      'an error of the choice',
      '',
      { choices: [{ index: 0, delta: {}, error: { code: 502 } }] },
      { class: 'transient' },
    ],
    ['an invalid finish reason', '', chunk({}, 'error'), { class: 'unknown' }],
    ['half an event', '', '{"choices":[{"del', { class: 'unknown', detail: 'bad_event' }],
    ['not an object', '', '5', { class: 'unknown', detail: 'bad_event' }],
    [
      'arguments that are nested too deep',
      '',
      `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":{"x":${'['.repeat(200_000)}${']'.repeat(200_000)}}}}]}}]}`,
      { class: 'unknown', detail: 'answer_too_deep' },
    ],
  ])('%s is a failure', (_, event, data, failure) => {
    const parts: StreamPart[] = []
    const decoder = chat.codec.decodeStream((part) => parts.push(part), clientOf().parsed)
    decoder.event('', JSON.stringify(HELLO))
    decoder.event('', JSON.stringify(chunk({ content: 'x' })))
    decoder.event(event, typeof data === 'string' ? data : JSON.stringify(data))
    for (const more of [STOP, DONE]) decoder.event('', typeof more === 'string' ? more : JSON.stringify(more))
    decoder.end()
    expect(decoder).toMatchObject({ finished: false, failure })
    // A call ends the text before its arguments are read.
    expect(types(parts.filter((part) => part.type !== 'text-end'))).toBe('start text-start text-delta')
  })

  test('a null error is ignored', () => {
    expect(decodeEvents([chunk({ content: 'x' }, 'stop', { error: null }), DONE]).decoder.finished).toBe(true)
  })

  test('in any stream parts open once and close once, and the finish is last', () => {
    const delta = fc.record(
      {
        role: fc.constant('assistant'),
        content: fc.oneof(fc.constantFrom('', 'x', null), fc.jsonValue()),
        reasoning: fc.constantFrom('', 'r', null, 5),
        refusal: fc.constantFrom('', 'n', null),
        reasoning_details: fc.array(
          fc.record({
            type: fc.constantFrom('reasoning.text', 'reasoning.encrypted'),
            data: fc.constant('d'),
          }),
          { maxLength: 1 },
        ),
        annotations: fc.constantFrom([], [{}], null),
        images: fc.constantFrom([{ image_url: { url: 'https://example.com' } }], 5, null),
        tool_calls: fc.array(
          fc.oneof(
            fc.jsonValue(),
            fc.record({
              index: fc.constantFrom(0, 1, undefined),
              id: fc.constantFrom('a', 'b', '', undefined),
              function: fc.record({
                name: fc.constantFrom('f', '', undefined),
                arguments: fc.constantFrom('{', '}', '{}', undefined),
              }),
            }),
          ),
          { maxLength: 2 },
        ),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.array(delta, { maxLength: 12 }), (deltas) => {
        const { parts } = decodeEvents([...deltas.map((d) => chunk(d)), STOP, DONE])
        const open = new Set<string>()
        const seen = new Set<string>()
        parts.forEach((part, i) => {
          if (part.type === 'start') expect(i).toBe(0)
          else if (part.type === 'finish') expect([open.size, i]).toEqual([0, parts.length - 1])
          else if (part.type.endsWith('-start')) {
            expect(seen.has(part.id)).toBe(false)
            seen.add(part.id)
            open.add(part.id)
          } else if (part.type.endsWith('-end')) expect(open.delete(part.id)).toBe(true)
          else if (part.type !== 'whole') expect(open.has(part.id)).toBe(true)
        })
      }),
    )
  })
})
