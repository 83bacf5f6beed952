import { describe, expect, test } from 'vitest'
import { responses } from '../index.ts'

const LIMITS = { maxDepth: 64, maxKeys: 1000 }
const ask = (stream: boolean) =>
  responses.parseRequest(
    Buffer.from(
      JSON.stringify({
        model: 'm',
        stream,
        input: [{ role: 'user', content: 'Hi' }, { type: 'compaction_trigger' }],
      }),
    ),
    LIMITS,
    {},
  )

const COMPACTION = { id: 'cmp_1', type: 'compaction', encrypted_content: 'ENC' }
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', content: [] }
const whole = (output: object[]) => ({ id: 'resp_1', object: 'response', status: 'completed', output })

function streamOf(output: object[]): string[] {
  const events = [
    { type: 'response.created', response: { ...whole([]), status: 'in_progress' } },
    ...output.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })),
    { type: 'response.completed', response: whole(output) },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}

describe.each([
  ['one compaction', [COMPACTION], true],
  ['one after a message', [MESSAGE, COMPACTION], true],
  ['a plain answer', [MESSAGE], false],
  ['nothing', [], false],
  ['two', [COMPACTION, COMPACTION], false],
])('an answer with %s', (_name, output, good) => {
  test('as JSON', () => {
    const body = Buffer.from(JSON.stringify(whole(output)))
    const read = responses.byteLane.readAnswer(body, ask(false), false)
    expect(read).toMatchObject(good ? { body } : { channelNotAtFault: true, detail: 'no_compaction' })
  })

  test('as a stream, which is held until then', () => {
    const observer = responses.byteLane.observe(ask(true), 1_000_000, false)
    const events = streamOf(output)
    const last = events.pop() ?? ''
    for (const event of events) expect(observer.push(Buffer.from(event))).toBeUndefined()
    const passed = observer.push(Buffer.from(last))?.toString()
    expect(passed).toBe(good ? events.join('') + last : undefined)
    expect(observer.finished).toBe(good)
    if (!good) expect(observer.failure).toMatchObject({ channelNotAtFault: true, detail: 'no_compaction' })
  })
})

test('a cut stream is neither a compaction nor an answer', () => {
  const observer = responses.byteLane.observe(ask(true), 1_000_000, false)
  const [first = ''] = streamOf([COMPACTION])
  observer.push(Buffer.from(first))
  expect([observer.flush(), observer.finished]).toEqual([undefined, false])
})

test('other requests are streamed at once', () => {
  const request = responses.parseRequest(Buffer.from('{"model":"m","stream":true,"input":"Hi"}'), LIMITS, {})
  const observer = responses.byteLane.observe(request, 1_000_000, false)
  expect(observer.push(Buffer.from(streamOf([MESSAGE])[0] ?? ''))).toBeDefined()
})
