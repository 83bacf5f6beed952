/** Garbled input: errors name a field, and every finished stream is valid. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isRecord } from '../../../proxy/dialects/core/json/value.ts'
import { GatewayError } from '../../../proxy/errors.ts'
import { convert, type DialectName, laneOf, NAMES, parse, streamRequest } from './codecs.ts'
import { ANSWERS, REQUESTS, STREAMS } from './fixtures.ts'
import { spoiled, spoiledStream } from './garbled.ts'
import { transmit } from './laws.ts'
import { readStrictly } from './strict.ts'

const of = <T extends { dialect: string }>(all: readonly T[], dialect: DialectName) =>
  fc.constantFrom(...all.filter((one) => one.dialect === dialect))

/** Reads a client's stream, which may lack usage. */
function readsStrictly(client: DialectName, text: string): void {
  const usage = client === 'chat' && !/"choices":\[\]/.test(text) ? 'unknown' : 'yes'
  try {
    readStrictly(client, text, usage)
  } catch (error) {
    // Wrong arguments of the model are streamed unchanged; the client must detect them.
    const isInput = error instanceof SyntaxError || String(error).includes('the input of a call')
    if (client !== 'messages' || !isInput) throw error
  }
}

describe.each(NAMES)('upstreams of %s', (upstream) => {
  it.each(NAMES.filter((name) => name !== upstream))('that stream nonsense, for clients of %s', (client) => {
    const streams = of(STREAMS, upstream).chain(({ content }) => spoiledStream(content))
    fc.assert(
      fc.property(streams, (text) => {
        const transmitted = transmit(client, upstream, [Buffer.from(text)])
        if (transmitted.finished) readsStrictly(client, transmitted.text)
        expect(transmitted.text).not.toContain('secret-host')
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

  /** Accepts only errors that name a field. */
  function orRefusal(run: () => unknown): void {
    try {
      run()
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      expect(error).toMatchObject({ status: 400, param: expect.stringMatching(/^\w/) })
    }
  }

  it.each(NAMES)('with garbled requests to %s get an error that names a field', (upstream) => {
    fc.assert(
      fc.property(bodies, (body) => {
        if (isRecord(body)) orRefusal(() => convert(client, body, upstream))
      }),
    )
  })

  it('with garbled requests do not reach the byte lane unchecked', () => {
    fc.assert(
      fc.property(bodies, (body) => {
        if (isRecord(body)) orRefusal(() => parse(client, body))
      }),
    )
  })
})
