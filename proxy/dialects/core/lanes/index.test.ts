import { expect, it, vi } from 'vitest'
import { featuresOf } from '../../../../contract/profiles.ts'
import { DIALECTS } from '../../index.ts'
import type { Envelopes } from '../neutral/types.ts'
import { lanesOf } from './index.ts'

const TARGET = {
  channel: 'd/c',
  lane: 'byte',
  api: 'messages',
  model: 'up',
  features: featuresOf('messages', undefined),
  withoutCarriers: false,
} as const
const ENVELOPES: Envelopes = { seal: () => 'slc1.signature.AA', open: () => 'broken' }

function lanes(text: string, signature: string | undefined, rewriteModel = false) {
  const thinking = { type: 'thinking', thinking: 'T', ...(signature !== undefined && { signature }) }
  const body = {
    model: 'm',
    max_tokens: 10,
    messages: [
      { role: 'user', content: text },
      { role: 'assistant', content: [thinking, { type: 'text', text: 'Well.' }] },
      { role: 'user', content: 'Go on' },
    ],
  }
  const limits = { maxDepth: 20, maxKeys: 100 }
  const parsed = DIALECTS.messages.parseRequest(Buffer.from(JSON.stringify(body)), limits, {})
  const about = {
    id: 'x',
    created: 1,
    inputTokens: 1,
    unsupported: 'Drop',
    defaultMaxOutputTokens: 10,
  } as const
  return lanesOf(
    { ...about, client: DIALECTS.messages, parsed, envelopes: ENVELOPES, rewriteModel },
    DIALECTS,
  )
}

it.each([
  ['Hello', 'EqQBCkYIARgC', false],
  ['What is slc1. for?', undefined, false],
  ['Hello', 'EqQBCkYIARgC', true],
  ['Hello', 'slc1.encrypted.AAAA', false],
] as const)('equal dialects pass bytes (%s, %s, %s)', (text, signature, rewriteModel) => {
  expect(lanes(text, signature, rewriteModel).open(TARGET).kind).toBe('byte')
})

it('other dialects: always the hub', () => {
  expect(lanes('Hello', undefined).open({ ...TARGET, lane: 'hub' }).kind).toBe('hub')
})

it('an envelope for another upstream is removed, and its loss reported', () => {
  const lane = lanes('Hello', 'slc1.encrypted.AAAA').open(TARGET)
  expect(lane.body.toString()).not.toContain('slc1.')
  expect(lane.body.toString()).toContain('Well.')
  expect(lane.losses.names).toEqual(['messages.content.thinking', 'messages.content.signature'])
})

it.each([
  ['default', false],
  ['fast', true],
] as const)('a tier is billed as %s when the upstream supports it: %s', (billed, speed) => {
  const body = { model: 'm', service_tier: 'fast', messages: [{ role: 'user', content: 'Hi' }] }
  const limits = { maxDepth: 20, maxKeys: 100 }
  const client = DIALECTS.chat
  const parsed = client.parseRequest(Buffer.from(JSON.stringify(body)), limits, {})
  const features = { ...featuresOf('messages', undefined), speed }
  const lane = lanesOf(
    {
      id: 'x',
      created: 1,
      inputTokens: 1,
      unsupported: 'Drop',
      defaultMaxOutputTokens: 10,
      client,
      parsed,
      envelopes: ENVELOPES,
      rewriteModel: false,
    },
    DIALECTS,
  ).open({ channel: 'd/c', lane: 'hub', api: 'messages', model: 'up', features, withoutCarriers: false })
  const answer = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'up',
    content: [{ type: 'text', text: 'Hello' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  }
  const read = lane.readAnswer(Buffer.from(JSON.stringify(answer)), false)
  expect('body' in read && (read.tier ?? parsed.head.tier)).toBe(billed)
})

it.each([
  [true, 'byte'],
  [false, 'hub'],
] as const)('an upstream that can compact gets the request: %s, %s', (compaction, kind) => {
  const input = [{ type: 'message', role: 'user', content: 'Hi' }, { type: 'compaction_trigger' }]
  const limits = { maxDepth: 20, maxKeys: 100 }
  const body = Buffer.from(JSON.stringify({ model: 'm', input }))
  const about = {
    client: DIALECTS.responses,
    parsed: DIALECTS.responses.parseRequest(body, limits, {}),
    envelopes: ENVELOPES,
    rewriteModel: false,
    id: 'x',
    created: 1,
    inputTokens: 1,
    unsupported: 'Drop',
    defaultMaxOutputTokens: 10,
  } as const
  const lane = lanesOf(about, DIALECTS).open({
    channel: 'd/c',
    lane: 'byte',
    api: 'responses',
    model: 'up',
    features: featuresOf('responses', undefined, { compaction }),
    withoutCarriers: false,
  })
  expect(lane.kind).toBe(kind)
})

const LIMITS = { maxDepth: 20, maxKeys: 100 }
const BODIES = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
  responses: { model: 'm', input: 'Hi', instructions: 'Be brief' },
  messages: { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] },
}

it.each(
  (['chat', 'responses', 'messages'] as const).flatMap((from) =>
    (['chat', 'responses', 'messages'] as const).map((to) => [from, to] as const),
  ),
)('a %s request is parsed once for %s, and its value does not outlive the first attempt', (from, to) => {
  const client = DIALECTS[from]
  const parse = vi.spyOn(JSON, 'parse')
  try {
    const parsed = client.parseRequest(Buffer.from(JSON.stringify(BODIES[from])), LIMITS, {})
    const before = parsed.value?.get()
    const about = {
      id: 'x',
      created: 1,
      inputTokens: 1,
      unsupported: 'Drop',
      defaultMaxOutputTokens: 10,
    } as const
    const lane = lanesOf(
      { ...about, client, parsed, envelopes: ENVELOPES, rewriteModel: false },
      DIALECTS,
    ).open({
      channel: 'd/c',
      lane: from === to ? 'byte' : 'hub',
      api: to,
      model: 'up',
      features: featuresOf('messages', undefined),
      withoutCarriers: false,
    })
    lane.observe(1_000)
    expect(parse).toHaveBeenCalledTimes(1)
    expect(parsed.value?.get()).not.toBe(before)
    expect(parsed.value?.get()).toEqual(before)
  } finally {
    parse.mockRestore()
  }
})
