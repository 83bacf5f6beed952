/** The laws on generated conversations and answers, and on any way in which the bytes of a stream may come. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DialectName } from '../../../contract/endpoints.ts'
import { answerOf, requestOf } from '../../../proxy/dialects/core/neutral/testing.ts'
import type { ModelAnswer, StreamPart } from '../../../proxy/dialects/core/neutral/types.ts'
import { unfold } from '../../../proxy/dialects/core/neutral/unfold.ts'
import {
  allFeatures,
  convert,
  decodeRequest,
  encodeAnswer,
  encodeRequest,
  encodeStream,
  NAMES,
  PAIRS,
} from './codecs.ts'
import { STREAMS } from './fixtures.ts'
import { bytesPass, comparable, passed, relay, toldUsage } from './laws.ts'
import { silent } from './leaves.ts'
import { misnamed } from './losses.ts'
import { readStrictly } from './strict.ts'
import { type View, viewFor, viewOf } from './views.ts'

function partsOf(answer: ModelAnswer): StreamPart[] {
  const parts: StreamPart[] = []
  unfold(answer, (part) => parts.push(part))
  return parts
}

/** Cuts bytes at the given places, as shares of their length. */
function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => Math.floor(place * bytes.length)))].sort((a, b) => a - b)
  return [...ends, bytes.length].map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1], end))
}

const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), { maxLength: 12 })

/** An answer as an upstream of the dialect gives it: what it says, and its stream. */
function served(upstream: DialectName, answer: ModelAnswer): { says: View; stream: string } {
  const says = viewOf(upstream, encodeAnswer(upstream, answer))
  const { text } = encodeStream(upstream, partsOf(answer))
  return { says: answer.usage === undefined ? { ...says, usage: undefined } : says, stream: text }
}

describe.each(NAMES)('answers of %s', (upstream) => {
  it('say in a stream what they say as JSON', () => {
    fc.assert(
      fc.property(answerOf(upstream), (answer) => {
        const { says, stream } = served(upstream, answer)
        const read = viewOf(upstream, readStrictly(upstream, stream, toldUsage(says)))
        expect(comparable(read, says)).toEqual(says)
      }),
    )
  })

  it.each(NAMES)('reach strict clients of %s, however their bytes are cut', (client) => {
    fc.assert(
      fc.property(answerOf(upstream), places, (answer, cuts) => {
        const { says, stream } = served(upstream, answer)
        const relayed = relay(client, upstream, cutAt(Buffer.from(stream), cuts))
        expect(relayed).toMatchObject({ finished: true, failed: false })
        const expected = viewFor(says, upstream, client)
        // An upstream that writes usage of its own accord has told it.
        const read = readStrictly(client, relayed.text, client === 'chat' ? chatUsage(relayed.text) : 'yes')
        expect(comparable(viewOf(client, read), expected)).toEqual(expected)
      }),
    )
  })

  it('are never finished when their stream is cut', () => {
    fc.assert(
      fc.property(answerOf(upstream), fc.double({ min: 0, max: 0.98, noNaN: true }), (answer, share) => {
        const { stream } = served(upstream, answer)
        const end = stream.search(TERMINAL[upstream])
        const cut = Buffer.from(stream).subarray(
          0,
          Math.floor(share * Buffer.byteLength(stream.slice(0, end))),
        )
        for (const client of NAMES) {
          const relayed = relay(client, upstream, [cut])
          expect(relayed.finished).toBe(false)
          expect(() => readStrictly(client, relayed.text)).toThrow()
        }
      }),
    )
  })
})

const chatUsage = (text: string) => (/"choices":\[\]/.test(text) ? 'yes' : 'unknown')

/** The first thing in a stream that makes it finished. */
const TERMINAL: Record<DialectName, RegExp> = {
  chat: /"finish_reason":"/,
  responses: /event: response\.(?:completed|incomplete)/,
  messages: /event: message_stop/,
}

describe('requests', () => {
  it.each(NAMES)('of %s come back from their own dialect', (source) => {
    fc.assert(
      fc.property(requestOf(source), (request) => {
        const features = allFeatures(source, { streamUsage: false })
        const { body } = encodeRequest(request, source, features)
        const again = encodeRequest(decodeRequest(source, body), source, features)
        expect(again).toEqual({ body, losses: [] })
      }),
    )
  })

  it.each(PAIRS)('of %s lose nothing in silence on the way to %s', (source, target) => {
    fc.assert(
      fc.property(requestOf(source), (request) => {
        const { body } = encodeRequest(request, source, allFeatures(source))
        const { body: converted, losses } = convert(source, body, target)
        decodeRequest(target, converted)
        const unsaid = silent(body, converted, losses).filter((leaf) => !/^stop(_sequences)?: /.test(leaf))
        expect(unsaid).toEqual([])
        expect(misnamed(body, losses)).toEqual([])
      }),
    )
  })
})

describe('bytes', () => {
  const whole = STREAMS.map(({ dialect, name, content }) => [`${dialect} ${name}`, dialect, content] as const)

  it.each(whole)('%s pass in any pieces', (_name, dialect, content) => {
    const expected = passed(dialect, [Buffer.from(content)])
    fc.assert(
      fc.property(places, (cuts) => bytesPass(dialect, cutAt(Buffer.from(content), cuts), expected)),
      { numRuns: 20 },
    )
  })

  it.each(PAIRS)('events of clients of %s do not depend on the pieces of %s', (client, upstream) => {
    const streams = STREAMS.filter(({ dialect }) => dialect === upstream)
    fc.assert(
      fc.property(fc.constantFrom(...streams), places, ({ content }, cuts) => {
        const bytes = Buffer.from(content)
        const atOnce = relay(client, upstream, [bytes])
        expect(relay(client, upstream, cutAt(bytes, cuts))).toEqual(atOnce)
      }),
    )
  })
})
