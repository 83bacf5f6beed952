/** The hold and the cost of a turn in a conversation. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { until } from '../../harness/gateway.ts'
import { nanos } from '../../harness/ledger.ts'
import { balance, METERED as KEY } from '../proxy/world.ts'
import { DOLLARS, ONE_OF_EACH, type Place, startPlace } from './place.ts'
import { ask, NOT_FOUND, say, type TurnResult } from './say.ts'

/** Nano-dollars per token. */
const INPUT = Number(DOLLARS.input) * 1_000
const OUTPUT = Number(DOLLARS.output) * 1_000
/** Of each answer; most of it is history that the upstream keeps. */
const COUNTS = { input: 5_000, cached: 0, written: 0, output: 700, reasoning: 0 }
const BILL = COUNTS.input * INPUT + COUNTS.output * OUTPUT
const LIMIT = 200
/** Bytes of the text / 2, plus 64. */
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

async function moneyOf({ requestId }: TurnResult) {
  const found = await until(
    () =>
      [...place.one.requests, ...place.two.requests]
        .map((text) => line.parse(JSON.parse(text)))
        .find((entry) => entry.requestId === requestId),
    'the request log line',
  )
  return { hold: nanos(found.hold ?? ''), settled: nanos(found.settled ?? ''), reason: found.reason }
}

const turn = (model: string, stream: boolean, previous?: TurnResult) => ({
  model: `paid-${model}`,
  input: TEXT,
  stream,
  ...(previous && { previous: previous.id }),
  more: { max_output_tokens: LIMIT },
})

describe.each([false, true])('stream: %s', (stream) => {
  it('if the upstream keeps the history, its tokens are held as well', async () => {
    place.speakers.first.counts = COUNTS
    const one = await say(place.one.base, KEY, turn('first', stream))
    const first = { hold: upper(TEXT) * INPUT + LIMIT * OUTPUT, settled: BILL, reason: 'usage' }
    expect(await moneyOf(one)).toEqual(first)
    const two = await say(place.two.base, KEY, turn('first', stream, one))
    const context = COUNTS.input + COUNTS.output
    expect(await moneyOf(two)).toEqual({ ...first, hold: first.hold + context * INPUT })
    expect(place.speakers.first.last()).toMatchObject({ previous_response_id: one.id, input: TEXT })
    // The second answer's input tokens contain everything before it: nothing is added up twice.
    const three = await say(place.one.base, KEY, turn('first', stream, two))
    expect(await moneyOf(three)).toEqual({ ...first, hold: first.hold + context * INPUT })
  })

  it.each(['chat', 'messages', 'second'] as const)(
    'a history sent in full to %s is weighed in full',
    async (model) => {
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
    },
  )
})

it('an upstream that reports no usage is assumed to keep the history', async () => {
  const one = await say(place.one.base, KEY, { ...turn('first', false), input: TEXT.repeat(20) })
  const { hold: firstHold } = await moneyOf(one)
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
    // The count of the first, plus a token for every four bytes of the second.
    expect(context).toBeGreaterThan(COUNTS.input + COUNTS.output + (TEXT.length * 20) / 4)
    expect(context).toBeLessThan(COUNTS.input + COUNTS.output + (TEXT.length * 20) / 2)
    expect(firstHold).toBe(upper(TEXT.repeat(20)) * INPUT + LIMIT * OUTPUT)
  } finally {
    place.speakers.first.resume()
  }
})

it('no hold remains, not even after a conversation is not found', async () => {
  for (const model of ONE_OF_EACH) {
    const request = { ...turn(model, false), previous: 'resp_nobody' }
    expect(await ask(place.one.base, KEY, request)).toEqual(NOT_FOUND)
  }
  await until(async () => (await balance(place.world)).held === 0, 'the settles')
})
