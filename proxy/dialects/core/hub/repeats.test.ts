import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { StreamPart } from '../neutral/types.ts'
import { Repeats } from './repeats.ts'

const delta = (text: string): StreamPart => ({ type: 'text-delta', id: 'p', text })
const event = (text: string, more = '') => `{"i":0,"d":{"text":${JSON.stringify(text)}}${more}}`

function learned(text = 'one', data = event(text), parts = [delta(text)]) {
  const repeats = new Repeats()
  repeats.learn('e', data, parts)
  return repeats
}

describe('an event like the previous one', () => {
  it('results in its own text, with any escapes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), (text) => {
        expect(learned().match('e', event(text))).toEqual(delta(text))
      }),
    )
    expect(learned().match('e', '{"i":0,"d":{"text":"\\u00e9\\/"}}')).toEqual(delta('é/'))
  })

  it.each([
    ['has another name', 'x', event('two')],
    ['has another field', 'e', event('two', ',"n":1')],
    ['is of another part', 'e', event('two').replace('0', '1')],
    ['is not JSON', 'e', '{"i":0,"d":{"text":"a"b"}}'],
    ['breaks off in an escape', 'e', '{"i":0,"d":{"text":"a\\"}}'],
    ['has no text', 'e', event('')],
    ['is shorter than the bytes around the text', 'e', '{"i":0,"d":{"text":"}}'],
  ])('that %s is not recognized', (_, name, data) => {
    expect(learned().match(name, data)).toBeUndefined()
  })
})

describe('an event is not learned', () => {
  it.each<[string, string, StreamPart[]]>([
    ['without parts', event('one'), []],
    ['with two', event('one'), [delta('one'), delta('two')]],
    ['that opens a part', event('one'), [{ type: 'text-start', id: 'p' }]],
    ['of arguments', event('one'), [{ type: 'tool-call-delta', id: 'p', text: 'one' }]],
    ['with log-probabilities', event('one'), [{ type: 'text-delta', id: 'p', text: 'one', logprobs: [] }]],
    ['whose text occurs twice', event('one', ',"x":"one"'), [delta('one')]],
    [
      'whose text occurs elsewhere, and is escaped in its own place',
      '{"x":"one","d":"\\u006fne"}',
      [delta('one')],
    ],
    ['that does not contain its text', event('other'), [delta('one')]],
  ])('%s', (_, data, parts) => {
    expect(learned('one', data, parts).match('e', data.replace('one', 'two'))).toBeUndefined()
  })

  it('and the previous one is forgotten', () => {
    const repeats = learned()
    repeats.learn('e', '{"stop":1}', [{ type: 'text-end', id: 'p' }])
    expect(repeats.match('e', event('two'))).toBeUndefined()
  })
})
