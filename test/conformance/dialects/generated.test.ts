/** The laws on generated conversations and answers, with streams in any chunks. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answerOf, requestOf } from '../../../proxy/dialects/core/neutral/testing.ts'
import type { ModelAnswer, StreamPart } from '../../../proxy/dialects/core/neutral/types.ts'
import { unfold } from '../../../proxy/dialects/core/neutral/unfold.ts'
import {
  allFeatures,
  convert,
  type DialectName,
  decodeRequest,
  encodeAnswer,
  encodeRequest,
  encodeStream,
  NAMES,
  PAIRS,
} from './codecs.ts'
import { STREAMS } from './fixtures.ts'
import { bytesPass, comparable, expectedUsage, passed, transmit } from './laws.ts'
import { silent } from './leaves.ts'
import { misnamed } from './losses.ts'
import { readStrictly } from './strict.ts'
import { type View, viewFor, viewOf } from './views.ts'

function partsOf(answer: ModelAnswer): StreamPart[] {
  const parts: StreamPart[] = []
  unfold(answer, (part) => parts.push(part))
  return parts
}

/** Cuts bytes at the given positions, as fractions of their length. */
function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => Math.floor(place * bytes.length)))].sort((a, b) => a - b)
  return [...ends, bytes.length].map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1], end))
}

const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), { maxLength: 12 })

/** An answer of an upstream of the dialect: its view, and its stream. */
function served(upstream: DialectName, answer: ModelAnswer): { view: View; stream: string } {
  const view = viewOf(upstream, encodeAnswer(upstream, answer))
  const { text } = encodeStream(upstream, partsOf(answer))
  return { view: answer.usage === undefined ? { ...view, usage: undefined } : view, stream: text }
}

describe.each(NAMES)('answers of %s', (upstream) => {
  it('have the same content in a stream and in JSON', () => {
    fc.assert(
      fc.property(answerOf(upstream), (answer) => {
        const { view, stream } = served(upstream, answer)
        const read = viewOf(upstream, readStrictly(upstream, stream, expectedUsage(view)))
        expect(comparable(read, view)).toEqual(view)
      }),
    )
  })

  it.each(NAMES)('reach strict clients of %s in any chunks', (client) => {
    fc.assert(
      fc.property(answerOf(upstream), places, (answer, cuts) => {
        const { view, stream } = served(upstream, answer)
        const transmitted = transmit(client, upstream, cutAt(Buffer.from(stream), cuts))
        expect(transmitted).toMatchObject({ finished: true, failed: false })
        const expected = viewFor(view, upstream, client)
        // The upstream may send usage without a request for it.
        const read = readStrictly(
          client,
          transmitted.text,
          client === 'chat' ? chatUsage(transmitted.text) : 'yes',
        )
        expect(comparable(viewOf(client, read), expected)).toEqual(expected)
      }),
    )
  })

  it('are never finished if the stream is cut', () => {
    fc.assert(
      fc.property(answerOf(upstream), fc.double({ min: 0, max: 0.98, noNaN: true }), (answer, share) => {
        const { stream } = served(upstream, answer)
        const end = stream.search(TERMINAL[upstream])
        const cut = Buffer.from(stream).subarray(
          0,
          Math.floor(share * Buffer.byteLength(stream.slice(0, end))),
        )
        for (const client of NAMES) {
          const transmitted = transmit(client, upstream, [cut])
          expect(transmitted.finished).toBe(false)
          expect(() => readStrictly(client, transmitted.text)).toThrow()
        }
      }),
    )
  })
})

const chatUsage = (text: string) => (/"choices":\[\]/.test(text) ? 'yes' : 'unknown')

/** The first sign in a stream that it is finished. */
const TERMINAL: Record<DialectName, RegExp> = {
  chat: /"finish_reason":"/,
  responses: /event: response\.(?:completed|incomplete)/,
  messages: /event: message_stop/,
}

describe('requests', () => {
  it.each(NAMES)('of %s are complete in the neutral form', (source) => {
    fc.assert(
      fc.property(requestOf(source), (request) => {
        const features = allFeatures(source, { streamUsage: false })
        const { body } = encodeRequest(request, source, features)
        const again = encodeRequest(decodeRequest(source, body), source, features)
        expect(again).toEqual({ body, losses: [] })
      }),
    )
  })

  it.each(PAIRS)('of %s have no silent loss on the way to %s', (source, target) => {
    fc.assert(
      fc.property(requestOf(source), (request) => {
        const { body } = encodeRequest(request, source, allFeatures(source))
        const { body: converted, losses } = convert(source, body, target)
        decodeRequest(target, converted)
        const unreported = silent(body, converted, losses).filter(
          (leaf) => !/^stop(_sequences)?: /.test(leaf),
        )
        expect(unreported).toEqual([])
        expect(misnamed(body, losses)).toEqual([])
      }),
    )
  })
})

describe('bytes', () => {
  const whole = STREAMS.map(({ dialect, name, content }) => [`${dialect} ${name}`, dialect, content] as const)

  it.each(whole)('%s pass in any chunks', (_name, dialect, content) => {
    const expected = passed(dialect, [Buffer.from(content)])
    fc.assert(
      fc.property(places, (cuts) => bytesPass(dialect, cutAt(Buffer.from(content), cuts), expected)),
      { numRuns: 20 },
    )
  })

  it.each(PAIRS)('events for clients of %s do not depend on the chunks of %s', (client, upstream) => {
    const streams = STREAMS.filter(({ dialect }) => dialect === upstream)
    fc.assert(
      fc.property(fc.constantFrom(...streams), places, ({ content }, cuts) => {
        const bytes = Buffer.from(content)
        const atOnce = transmit(client, upstream, [bytes])
        expect(transmit(client, upstream, cutAt(bytes, cuts))).toEqual(atOnce)
      }),
    )
  })
})
