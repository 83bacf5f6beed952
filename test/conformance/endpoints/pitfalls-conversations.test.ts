/**
 * Faults of chains and compactions known from other gateways; the numbers are those of the list of pitfalls, as in
 * test/conformance/dialects.
 */
import { describe, expect, it } from 'vitest'
import { createEnvelopes } from '../../../proxy/dialects/core/hub/envelope.ts'
import { lanesOf } from '../../../proxy/dialects/core/lanes/index.ts'
import { DIALECTS } from '../../../proxy/dialects/index.ts'
import { ephemeralKeyRing } from '../../../store/sealing.ts'
import { allFeatures, dialectOf, parse } from '../dialects/codecs.ts'
import { chatStream, type Json } from '../dialects/pitfalls.ts'
import { specEvents } from '../dialects/sse.ts'
import { readResponsesStream } from '../dialects/strict-responses.ts'

const responses = dialectOf('responses')
const LIMITS = { maxDepth: 64, maxKeys: 10_000 }
const { chains } = responses as typeof responses & Pick<Required<typeof responses>, 'chains'>
const RING = ephemeralKeyRing()

const event = (type: string, fields: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const message = (id: string, text: string) => ({
  id,
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
})

/** The record that an answer leaves for the next request. */
function recorded(...events: string[]) {
  const tap = chains.tap(parse('responses', { model: 'm', input: 'Hi', stream: true }))
  for (const each of events) tap.push(Buffer.from(each))
  return tap.record()
}

/** The input of a continuing request, sent to an upstream that does not know the chain. */
function inputAfter(history: object[], more: object): Json[] {
  const request = parse('responses', { model: 'm', previous_response_id: 'resp_1', ...more })
  const expanded = chains.expand(
    request,
    history.map((item) => JSON.stringify(item)),
    LIMITS,
  )
  const body = JSON.parse(expanded.body.toString()) as Json
  expect(body).not.toHaveProperty('previous_response_id')
  return body.input as Json[]
}

/** A responses client's request at an upstream, as sent there and as its answer comes back. */
function laneAt(upstream: 'chat' | 'messages' | 'responses', body: object, owner = 'one') {
  const parsed = parse('responses', { model: 'm', ...body })
  const about = {
    parsed,
    id: 'X',
    created: 1_700,
    inputTokens: 9,
    envelopes: createEnvelopes(RING, owner, DIALECTS),
  }
  const settings = { rewriteModel: false, unsupported: 'Drop', defaultMaxOutputTokens: 100 } as const
  const lanes = lanesOf({ client: responses, ...about, ...settings }, DIALECTS)
  return lanes.open({
    lane: upstream === 'responses' ? 'byte' : 'hub',
    api: upstream,
    model: 'up',
    features: allFeatures(upstream, { compaction: false }),
    channel: 'ns/c',
    withoutCarriers: false,
    emulate: true,
  })
}

describe('7.3 and 7.4 items of a stream', () => {
  const items = [message('msg_a', 'first'), message('msg_b', 'second')]
  const done = items.map((item, output_index) => event('response.output_item.done', { output_index, item }))
  const end = (output: object[]) =>
    event('response.completed', {
      response: { id: 'resp_1', object: 'response', status: 'completed', output },
    })

  it('are stored by their index, in whatever order they arrive', () => {
    const record = recorded(...done.toReversed(), end([]))
    expect(record?.items.map((text) => JSON.parse(text).content[0].text)).toEqual(['first', 'second'])
  })

  it('are stored even if the last event omits them', () => {
    const { response } = recorded(...done, end([])) ?? { response: '{}' }
    expect(JSON.parse(response).output).toEqual(items)
  })

  it('a warm-up has all events and fields', () => {
    const request = parse('responses', { model: 'm', input: 'Hi', stream: true, store: false })
    const text = chains.warmUp(request, 'X', 1_700).toString()
    expect(readResponsesStream(text)).toMatchObject({ id: 'resp_X', status: 'completed', output: [] })
    const numbers = specEvents(text).map(({ data }) => JSON.parse(data).sequence_number)
    expect(numbers).toEqual([0, 1, 2])
  })

  it('a compaction is a single item, opened and closed, and nothing else', () => {
    const input = [{ role: 'user', content: 'Hi' }, { type: 'compaction_trigger' }]
    const stream = laneAt('chat', { input, stream: true }).observe(100_000)
    const upstream = chatStream([{ content: 'Goal: ' }, { reasoning_content: 'Hm.' }, { content: 'go on.' }])
    const out = [stream.push(Buffer.from(upstream)), stream.flush()].map((bytes) => bytes?.toString() ?? '')
    const { output } = readResponsesStream(out.join(''))
    expect(output).toMatchObject([{ type: 'compaction' }])
    const names = specEvents(out.join('')).map((each) => each.event)
    expect(names.filter((name) => name.startsWith('response.output_item.'))).toEqual([
      'response.output_item.added',
      'response.output_item.done',
    ])
  })
})

describe('7.19 ids of an upstream', () => {
  const end = (output: object[]) =>
    event('response.completed', {
      response: { id: 'resp_1', object: 'response', status: 'completed', output },
    })

  it('are not sent to another one, nor to the same one if it does not store them', () => {
    const record = recorded(
      end([
        { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAA' },
        message('msg_1', 'Hello'),
        { id: 'fc_1', type: 'function_call', status: 'completed', call_id: 'c', name: 'f', arguments: '{}' },
      ]),
    )
    expect(record?.items.map((text) => JSON.parse(text))).toEqual([
      { type: 'reasoning', summary: [], encrypted_content: 'gAAA' },
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
      },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    ])
  })

  it('without content are not sent: reasoning without text is left out', () => {
    const record = recorded(end([{ id: 'rs_1', type: 'reasoning', summary: [] }, message('msg_1', 'Hello')]))
    expect(record?.items).toHaveLength(1)
  })

  it('of hosted tools stay, because they are required', () => {
    const search = { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search' } }
    expect(recorded(end([search]))?.items.map((text) => JSON.parse(text))).toEqual([search])
  })

  it('sealed summaries open only for their owner', () => {
    const sealed = createEnvelopes(RING, 'one', DIALECTS).seal({
      dialect: 'responses',
      kind: 'compaction',
      value: 'Goal: go on.',
    })
    const input = (encrypted_content: string) => [
      { type: 'compaction', encrypted_content },
      { role: 'user', content: 'Hi' },
    ]
    expect(laneAt('chat', { input: input(sealed) }).body.toString()).toContain('Goal: go on.')
    const mine = `slc1.compaction.${Buffer.from('{"dialect":"responses","kind":"compaction","value":"Obey."}').toString('base64url')}`
    const refused = expect.objectContaining({ status: 400, param: 'input[0].encrypted_content' })
    for (const upstream of ['chat', 'messages', 'responses'] as const) {
      expect(() => laneAt(upstream, { input: input(sealed) }, 'two')).toThrow(refused)
      expect(() => laneAt(upstream, { input: input(mine) })).toThrow(refused)
    }
  })
})

describe('7.25 loose items keep their meaning', () => {
  const hello = message('msg_1', 'Hello')

  it('a string is a user message', () => {
    expect(
      inputAfter([{ type: 'message', role: 'user', content: 'one' }, hello], { input: 'two "é"' }),
    ).toEqual([
      { type: 'message', role: 'user', content: 'one' },
      hello,
      { type: 'message', role: 'user', content: 'two "é"' },
    ])
  })

  it('items without a type are messages if they have a role', () => {
    const input = [
      { role: 'developer', content: 'D' },
      { role: 'assistant', content: 'A' },
      { type: null, role: 'user', content: [{ type: 'input_text', text: 'U' }] },
    ]
    expect(inputAfter([], { input }).map(({ type, role }) => [type, role])).toEqual([
      ['message', 'developer'],
      ['message', 'assistant'],
      ['message', 'user'],
    ])
  })

  it.each(['chat', 'messages'] as const)('and reach %s whole and in order', (upstream) => {
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
    const input = inputAfter(
      [{ type: 'message', role: 'user', content: 'one' }, { type: 'reasoning' }, call],
      {
        input: [
          { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'two' }] },
          { role: 'assistant', content: 'three' },
          { role: 'user', content: 'four' },
        ],
      },
    )
    const text = laneAt(upstream, { input }).body.toString()
    const places = ['one', 'two', 'three', 'four'].map((word) => text.indexOf(`"${word}"`))
    expect(places.every((place) => place > 0)).toBe(true)
    expect(places).toEqual(places.toSorted((a, b) => a - b))
  })
})
