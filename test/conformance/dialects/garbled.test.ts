/** Whatever comes: nothing is thrown but errors that name a field, and what is finished is strictly right. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DialectName } from '../../../contract/endpoints.ts'
import { isRecord } from '../../../proxy/dialects/json/value.ts'
import { GatewayError } from '../../../proxy/errors.ts'
import { convert, decodeRequest, laneOf, NAMES, parse, streamRequest } from './codecs.ts'
import { ANSWERS, REQUESTS, STREAMS } from './fixtures.ts'
import { spoiled, spoiledStream } from './garbled.ts'
import { relay } from './laws.ts'
import { readStrictly } from './strict.ts'

const RUNS = { numRuns: 300 }

const of = <T extends { dialect: string }>(all: readonly T[], dialect: DialectName) =>
  fc.constantFrom(...all.filter((one) => one.dialect === dialect))

/** Reads what a client got; whether usage was told is left open. */
function readsStrictly(client: DialectName, text: string): void {
  const usage = client === 'chat' && !/"choices":\[\]/.test(text) ? 'unknown' : 'yes'
  readStrictly(client, text, usage)
}

describe.each(NAMES)('upstreams of %s', (upstream) => {
  it.each(NAMES.filter((name) => name !== upstream))('that stream nonsense, for clients of %s', (client) => {
    const streams = of(STREAMS, upstream).chain(({ content }) => spoiledStream(content))
    fc.assert(
      fc.property(streams, (text) => {
        const relayed = relay(client, upstream, [Buffer.from(text)])
        if (relayed.finished) readsStrictly(client, relayed.text)
        expect(relayed.text).not.toContain('secret-host')
      }),
      RUNS,
    )
  })

  it.each(NAMES)('that answer nonsense, for clients of %s', (client) => {
    const answers = of(ANSWERS, upstream).chain(({ content }) => spoiled(content))
    fc.assert(
      fc.property(answers, fc.boolean(), (answer, asStream) => {
        const lane = laneOf(client, streamRequest(client), upstream)
        const read = lane.readAnswer(Buffer.from(JSON.stringify(answer) ?? ''), asStream)
        if (!('body' in read)) return
        const text = read.body.toString()
        if (!asStream) expect(isRecord(JSON.parse(text))).toBe(true)
        else if (client !== upstream) readsStrictly(client, text)
      }),
      RUNS,
    )
  })
})

describe.each(NAMES)('clients of %s', (client) => {
  const bodies = of(REQUESTS, client).chain(({ content }) => spoiled(content))

  /** Undefined for a request that is refused; the refusal names a field. */
  function orRefusal<T>(run: () => T): T | undefined {
    try {
      return run()
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      expect(error).toMatchObject({ status: 400, param: expect.stringMatching(/^\w/) })
      return undefined
    }
  }

  it.each(NAMES)('that ask nonsense are refused by name, or the request is legal in %s', (upstream) => {
    fc.assert(
      fc.property(bodies, (body) => {
        if (!isRecord(body)) return
        const converted = orRefusal(() => convert(client, body, upstream))
        if (converted === undefined || client === upstream) return
        decodeRequest(upstream, converted.body)
      }),
      RUNS,
    )
  })

  it('that ask nonsense do not reach the byte lane unchecked', () => {
    fc.assert(
      fc.property(bodies, (body) => {
        if (isRecord(body)) orRefusal(() => parse(client, body))
      }),
      RUNS,
    )
  })
})
