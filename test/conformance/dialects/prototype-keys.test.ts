/** Keys with names of JavaScript's own object members are ordinary fields, in any place and from any sender. */
import { afterEach, describe, expect, it } from 'vitest'
import { inOnePiece } from '../../../proxy/dialects/core/json/splice.ts'
import { isRecord, noFields, tryParse } from '../../../proxy/dialects/core/json/value.ts'
import { GatewayError } from '../../../proxy/errors.ts'
import {
  convert,
  type DialectName,
  dialectOf,
  laneOf,
  minimalRequest,
  NAMES,
  parse,
  streamRequest,
} from './codecs.ts'
import { ANSWERS, type Fixture, REQUESTS, STREAMS } from './fixtures.ts'
import { transmit } from './laws.ts'
import { specEvents, writeEvents } from './sse.ts'

const PROTO: string = '__proto__'
const CONSTRUCTOR: string = 'constructor'
const PROTOTYPES = [Object.prototype, Array.prototype, Function.prototype, String.prototype]
const known = PROTOTYPES.map((prototype) => Reflect.ownKeys(prototype))

afterEach(() => {
  expect(PROTOTYPES.map((prototype) => Reflect.ownKeys(prototype))).toEqual(known)
  expect('polluted' in {}).toBe(false)
})

/** A copy in which each object also has the keys. */
function poisoned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(poisoned)
  if (!isRecord(value)) return value
  const copy = noFields()
  copy[PROTO] = { polluted: true, role: 'system', type: 'polluted', output_tokens: 1_000_000 }
  copy[CONSTRUCTOR] = { prototype: { polluted: true } }
  copy.prototype = { polluted: true }
  copy['__proto__.polluted'] = true
  copy['constructor.prototype.polluted'] = true
  for (const [key, inner] of Object.entries(value)) copy[key] = poisoned(inner)
  return copy
}

const of = <T>(all: readonly Fixture<T>[], dialect: DialectName) =>
  all.filter((one) => one.dialect === dialect)

function orRefusal(run: () => void): void {
  try {
    run()
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
  }
}

describe.each(NAMES)('%s', (client) => {
  it.each(NAMES)('requests, for %s', (upstream) => {
    for (const { content } of of(REQUESTS, client)) {
      const body = poisoned(content)
      if (isRecord(body)) orRefusal(() => convert(client, body, upstream))
    }
  })

  it.each(NAMES)('answers, from %s', (upstream) => {
    for (const { content } of of(ANSWERS, upstream)) {
      const body = Buffer.from(JSON.stringify(poisoned(content)))
      for (const asStream of [false, true])
        laneOf(client, streamRequest(client), upstream).readAnswer(body, asStream)
    }
  })

  it.each(NAMES)('streams, from %s', (upstream) => {
    for (const { content } of of(STREAMS, upstream)) {
      const events = specEvents(content).map(({ event, data }) => {
        const value = tryParse(data)
        return { event, data: isRecord(value) ? JSON.stringify(poisoned(value)) : data }
      })
      transmit(client, upstream, [Buffer.from(writeEvents(events))])
    }
  })

  it('the bytes of a request pass unchanged', () => {
    const body = minimalRequest(client, { extra: poisoned({ a: [{}] }) })
    const request = parse(client, body)
    const sent = inOnePiece(dialectOf(client).byteLane.splice(request, { model: 'm', addStreamUsage: false }))
    expect(sent.equals(request.body)).toBe(true)
  })
})

it.each(NAMES)('a request of %s keeps them in its own dialect', (dialect) => {
  const extra = { a: 1, ...minimalRequest(dialect) }
  const body = Object.assign(noFields(), extra)
  body[PROTO] = { a: 1 }
  body[CONSTRUCTOR] = { prototype: 1 }
  body['metadata.x'] = 1
  body['a.b'] = 1
  const sent = convert(dialect, body, dialect).body
  expect(Object.hasOwn(sent, PROTO)).toBe(true)
  expect(sent).toMatchObject({ constructor: { prototype: 1 }, 'a.b': 1 })
})
