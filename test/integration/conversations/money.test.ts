/** What a request of a conversation is held for, and what it costs. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { until } from '../../harness/gateway.ts'
import { nanos } from '../../harness/ledger.ts'
import { balance, METERED as KEY } from '../proxy/world.ts'
import { DOLLARS, ONE_OF_EACH, type Place, startPlace } from './place.ts'
import { ask, type Heard, NOT_FOUND, say } from './say.ts'

/** Nano-dollars of a token. */
const INPUT = Number(DOLLARS.input) * 1_000
const OUTPUT = Number(DOLLARS.output) * 1_000
/** Of each answer; most of it is what the upstream has kept. */
const COUNTS = { input: 5_000, cached: 0, written: 0, output: 700, reasoning: 0 }
const BILL = COUNTS.input * INPUT + COUNTS.output * OUTPUT
const LIMIT = 100
/** Bytes of the text / 2, and 64 more. */
const upper = (...texts: string[]) => Math.ceil(texts.join('').length / 2) + 64
const TEXT = 'z'.repeat(200)

let place: Place
beforeAll(async () => {
  place = await startPlace()
})
afterAll(() => place?.stop())

const line = z.object({
  requestId: z.string(),
  hold: z.string().optional(),
  settled: z.string().optional(),
  reason: z.string().optional(),
})

async function moneyOf({ requestId }: Heard) {
  const found = await until(
    () =>
      [...place.one.requests, ...place.two.requests]
        .map((text) => line.parse(JSON.parse(text)))
        .find((entry) => entry.requestId === requestId),
    'the request log line',
  )
  return { hold: nanos(found.hold ?? ''), settled: nanos(found.settled ?? ''), reason: found.reason }
}

const turn = (model: string, stream: boolean, previous?: Heard) => ({
  model: `paid-${model}`,
  input: TEXT,
  stream,
  ...(previous && { previous: previous.id }),
  more: { max_output_tokens: LIMIT },
})

describe.each([false, true])('stream: %s', (stream) => {
  it('where the upstream keeps it, the tokens that it keeps are held as well', async () => {
    place.speakers.first.counts = COUNTS
    const one = await say(place.one.base, KEY, turn('first', stream))
    const first = { hold: upper(TEXT) * INPUT + LIMIT * OUTPUT, settled: BILL, reason: 'usage' }
    expect(await moneyOf(one)).toEqual(first)
    const two = await say(place.two.base, KEY, turn('first', stream, one))
    const context = COUNTS.input + COUNTS.output
    expect(await moneyOf(two)).toEqual({ ...first, hold: first.hold + context * INPUT })
    expect(place.speakers.first.last()).toMatchObject({ previous_response_id: one.id, input: TEXT })
    // What the upstream read for the second answer was all that was said before: nothing is added up twice.
    const three = await say(place.one.base, KEY, turn('first', stream, two))
    expect(await moneyOf(three)).toEqual({ ...first, hold: first.hold + context * INPUT })
  })

  it.each(['chat', 'messages', 'second'] as const)('told whole to %s, it is weighed whole', async (model) => {
    place.speakers[model].counts = COUNTS
    const one = await say(place.one.base, KEY, turn('chat', stream))
    const two = await say(place.two.base, KEY, turn(model, stream, one))
    expect(two.read).toEqual([TEXT, one.me, TEXT])
    const spoken = JSON.stringify({ me: one.me, read: [TEXT] })
    expect(await moneyOf(two)).toEqual({
      hold: upper(TEXT, spoken, TEXT) * INPUT + LIMIT * OUTPUT,
      settled: BILL,
      reason: 'usage',
    })
  })
})

it('an upstream that counts nothing is taken to keep what was said', async () => {
  const one = await say(place.one.base, KEY, { ...turn('first', false), input: TEXT.repeat(20) })
  const { hold: begun } = await moneyOf(one)
  place.speakers.first.answer((_, res) => {
    const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' }
    const text = JSON.stringify({ me: 'first-uncounted', read: [] })
    const output = [{ ...message, content: [{ type: 'output_text', text, annotations: [] }] }]
    const head = { id: 'resp_uncounted', object: 'response', status: 'completed', model: 'm', error: null }
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ ...head, output }))
  })
  try {
    const two = await say(place.one.base, KEY, { ...turn('first', false, one), input: TEXT.repeat(20) })
    const three = await say(place.one.base, KEY, turn('first', false, two))
    const { hold } = await moneyOf(three)
    const context = (hold - (upper(TEXT) * INPUT + LIMIT * OUTPUT)) / INPUT
    // What was counted for the first, and four bytes a token of the second.
    expect(context).toBeGreaterThan(COUNTS.input + COUNTS.output + (TEXT.length * 20) / 4)
    expect(context).toBeLessThan(COUNTS.input + COUNTS.output + (TEXT.length * 20) / 2)
    expect(begun).toBe(upper(TEXT.repeat(20)) * INPUT + LIMIT * OUTPUT)
  } finally {
    place.speakers.first.resume()
  }
})

it('no hold is left, nor where a conversation is not found', async () => {
  for (const model of ONE_OF_EACH) {
    const asked = { ...turn(model, false), previous: 'resp_nobody' }
    expect(await ask(place.one.base, KEY, asked)).toEqual(NOT_FOUND)
  }
  await until(async () => (await balance(place.world)).held === 0, 'the settles')
})
