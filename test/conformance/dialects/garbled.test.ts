/** Whatever comes: nothing is thrown but errors that name a field, and what is finished is strictly right. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DialectName } from '../../../contract/endpoints.ts'
import { isRecord } from '../../../proxy/dialects/core/json/value.ts'
import { GatewayError } from '../../../proxy/errors.ts'
import { convert, laneOf, NAMES, parse, streamRequest } from './codecs.ts'
import { ANSWERS, REQUESTS, STREAMS } from './fixtures.ts'
import { spoiled, spoiledStream } from './garbled.ts'
import { relay } from './laws.ts'
import { readStrictly } from './strict.ts'

const of = <T extends { dialect: string }>(all: readonly T[], dialect: DialectName) =>
  fc.constantFrom(...all.filter((one) => one.dialect === dialect))

/** Reads what a client got; whether usage was told is left open. */
function readsStrictly(client: DialectName, text: string): void {
  const usage = client === 'chat' && !/"choices":\[\]/.test(text) ? 'unknown' : 'yes'
  try {
    readStrictly(client, text, usage)
  } catch (error) {
    // Arguments that the upstream's model wrote wrong are for the client to find out: they stream as they come.
    const isInput = error instanceof SyntaxError || String(error).includes('the input of a call')
    if (client !== 'messages' || !isInput) throw error
  }
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
    )
  })
})

describe.each(NAMES)('clients of %s', (client) => {
  const bodies = of(REQUESTS, client).chain(({ content }) => spoiled(content))

  /** A refusal names a field; anything else that is thrown is a fault. */
  function orRefusal(run: () => unknown): void {
    try {
      run()
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      expect(error).toMatchObject({ status: 400, param: expect.stringMatching(/^\w/) })
    }
  }

  it.each(NAMES)('that ask nonsense are refused by name on the way to %s', (upstream) => {
    fc.assert(
      fc.property(bodies, (body) => {
        if (isRecord(body)) orRefusal(() => convert(client, body, upstream))
      }),
    )
  })

  it('that ask nonsense do not reach the byte lane unchecked', () => {
    fc.assert(
      fc.property(bodies, (body) => {
        if (isRecord(body)) orRefusal(() => parse(client, body))
      }),
    )
  })
})
