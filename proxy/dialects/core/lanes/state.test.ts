/** Vendor state that the gateway sealed, in requests whose upstream speaks the client's dialect. */
import { describe, expect, it } from 'vitest'
import { featuresOf } from '../../../../contract/profiles.ts'
import { ephemeralKeyRing } from '../../../../store/sealing.ts'
import { DIALECTS } from '../../index.ts'
import { createEnvelopes } from '../hub/envelope.ts'
import { lanesOf } from './index.ts'

const ENVELOPES = createEnvelopes(ephemeralKeyRing(), 'account', DIALECTS)
const SIGNATURE = ENVELOPES.seal({ dialect: 'messages', kind: 'signature', value: 'SIG/"1' })
const REDACTED = ENVELOPES.seal({ dialect: 'messages', kind: 'redacted', value: 'RED' })
const ENCRYPTED = ENVELOPES.seal({ dialect: 'responses', kind: 'encrypted', value: 'ENC' })
const SUMMARY = ENVELOPES.seal({ dialect: 'responses', kind: 'compaction', value: 'Goal' })
const BROKEN = 'slc1.signature.AAAA'

type Name = 'chat' | 'responses' | 'messages'

interface Options {
  withoutCarriers?: boolean
  unsupported?: 'Drop' | 'Reject'
}

/** The body for an upstream of the client's dialect. */
function sent(name: Name, text: string, { withoutCarriers = false, unsupported = 'Drop' }: Options = {}) {
  const client = DIALECTS[name]
  const parsed = client.parseRequest(Buffer.from(text), { maxDepth: 20, maxKeys: 100 }, {})
  const about = { client, parsed, id: 'x', created: 1, inputTokens: 1 }
  const settings = { envelopes: ENVELOPES, rewriteModel: false, defaultMaxOutputTokens: 10, unsupported }
  const lane = lanesOf({ ...about, ...settings }, DIALECTS).open({
    lane: 'byte',
    api: name,
    model: 'up',
    features: featuresOf(name === 'chat' ? 'chat_completion' : name, undefined),
    channel: 'd/c',
    withoutCarriers,
  })
  expect(lane.kind).toBe('byte')
  return { body: lane.body.toString(), losses: lane.losses.names, hasState: lane.hasState === true }
}

/** A client's own spaces and numbers, which must stay. */
const FRAMES: Record<Name, (inner: string) => string> = {
  messages: (blocks) =>
    `{"max_tokens": 9.0, "messages":[ {"role":"user","content":"Hi"} ,{"role":"assistant","content":[${blocks}]} , {"role":"user", "content":"Go"}],"model":"up", "x":1e400}`,
  responses: (items) => `{ "input" : [ {"role":"user","content":"Hi"}, ${items} ],"model":"up","x":1.0 }`,
  chat: (message) =>
    `{"messages":[ {"role":"user","content":"Hi"}, {"role":"assistant" ,${message}}],"model":"up","x":1.0 }`,
}

const thinking = (signature: string, text = 'T') =>
  `{ "type":"thinking","thinking":${JSON.stringify(text)}, "signature" : ${JSON.stringify(signature)} }`
const TEXT = '{"type":"text", "text":"Well \\u00e9"}'

describe('state from an upstream of the same dialect is returned unchanged', () => {
  it.each<[Name, string, string]>([
    ['messages', `${thinking(SIGNATURE)} , ${TEXT}`, `${thinking('SIG/"1')} , ${TEXT}`],
    [
      'messages',
      `{"type":"redacted_thinking","data":"${REDACTED}"},${TEXT}`,
      `{"type":"redacted_thinking","data":"RED"},${TEXT}`,
    ],
    [
      'responses',
      `{"type":"reasoning","id":"rs_1","summary":[ ],"encrypted_content":"${ENCRYPTED}"}`,
      '{"type":"reasoning","id":"rs_1","summary":[ ],"encrypted_content":"ENC"}',
    ],
    // A reader that takes the first of two values must find the new one.
    [
      'messages',
      `{"type":"thinking","thinking":"T","signature":"${BROKEN}","\\u0073ignature":"${SIGNATURE}"},${TEXT}`,
      `{"type":"thinking","thinking":"T","signature":"SIG/\\"1","\\u0073ignature":"SIG/\\"1"},${TEXT}`,
    ],
  ])('%s: %s', (name, given, expected) => {
    expect(sent(name, FRAMES[name](given))).toEqual({
      body: FRAMES[name](expected),
      losses: [],
      hasState: true,
    })
  })

  it('also with a renamed model', () => {
    const text = FRAMES.messages(`${thinking(SIGNATURE)},${TEXT}`).replace('"up"', '"mine"')
    expect(sent('messages', text).body).toBe(FRAMES.messages(`${thinking('SIG/"1')},${TEXT}`))
  })
})

describe('foreign and broken state is removed and reported', () => {
  it.each<[Name, string, string, string[]]>([
    ...[ENCRYPTED, BROKEN, REDACTED].map((envelope): [Name, string, string, string[]] => [
      'messages',
      `${thinking(envelope)} , ${TEXT}`,
      TEXT,
      ['messages.content.thinking', 'messages.content.signature'],
    ]),
    ['messages', `${TEXT}, ${thinking(BROKEN, '')}`, TEXT, ['messages.content.signature']],
    [
      'messages',
      `{"type":"redacted_thinking","data":"${ENCRYPTED}"},${TEXT}`,
      TEXT,
      ['messages.content.data'],
    ],
    [
      'responses',
      `{"type":"reasoning","summary":[],"encrypted_content":"${SIGNATURE}"}, {"type":"message","role":"user","content":"Go"}`,
      '{"type":"message","role":"user","content":"Go"}',
      ['input.encrypted_content'],
    ],
    [
      'chat',
      `"content":"Hi", "reasoning_details":[ {"type":"reasoning.text","text":"T","signature":"${SIGNATURE}"}, {"type":"x","n":1.0} ]`,
      '"content":"Hi", "reasoning_details":[ {"type":"x","n":1.0} ]',
      ['messages.reasoning_details'],
    ],
    [
      'chat',
      `"content":"Hi","thinking_blocks":[{"type":"thinking","thinking":"T","signature":"${SIGNATURE}"}]`,
      '"content":"Hi","thinking_blocks":[]',
      ['messages.thinking_blocks'],
    ],
  ])('%s: %s', (name, given, expected, losses) => {
    expect(sent(name, FRAMES[name](given))).toEqual({ body: FRAMES[name](expected), losses, hasState: true })
  })

  it('together with its message, if that would be empty', () => {
    const { body } = sent('messages', FRAMES.messages(thinking(ENCRYPTED)))
    expect(body).toBe(
      '{"max_tokens": 9.0, "messages":[ {"role":"user","content":"Hi"} , {"role":"user", "content":"Go"}],"model":"up", "x":1e400}',
    )
  })

  it('or refused by a route that rejects losses', () => {
    const body = FRAMES.messages(`${thinking(ENCRYPTED)},${TEXT}`)
    expect(() => sent('messages', body, { unsupported: 'Reject' })).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', param: 'messages.content.thinking' }),
    )
    const own = FRAMES.messages(`${thinking(SIGNATURE)},${TEXT}`)
    expect(sent('messages', own, { unsupported: 'Reject' }).losses).toEqual([])
  })
})

describe('an upstream that refused the state gets the request without any', () => {
  it.each<[Name, string, string]>([
    ['messages', `${thinking(SIGNATURE)},${thinking('of-the-vendor')},${TEXT}`, TEXT],
    [
      'responses',
      `{"type":"reasoning","encrypted_content":"${ENCRYPTED}"},{"type":"reasoning","encrypted_content":"E"}, {"type":"message","role":"user","content":"Go"}`,
      '{"type":"message","role":"user","content":"Go"}',
    ],
    [
      'chat',
      `"reasoning_details":[{"type":"reasoning.text","signature":"${SIGNATURE}"},{"type":"reasoning.encrypted","data":"D"}],"tool_calls":[{"id":"a", "extra_content":{"google":{}},"type":"function"}]`,
      '"reasoning_details":[],"tool_calls":[{"id":"a","type":"function"}]',
    ],
  ])('%s: %s', (name, given, expected) => {
    const { body, losses } = sent(name, FRAMES[name](given), { withoutCarriers: true })
    expect(body).toBe(FRAMES[name](expected))
    expect(losses.length).toBeGreaterThan(0)
  })

  it('a request without sealed state passes unchanged', () => {
    const body = FRAMES.messages(`${thinking('of-the-vendor')},${TEXT}`)
    expect(sent('messages', body, { withoutCarriers: true })).toEqual({ body, losses: [], hasState: false })
  })
})

describe('a compaction of the gateway', () => {
  it('becomes user text', () => {
    const item = `{"type":"compaction","encrypted_content":"${SUMMARY}"}`
    const { input } = JSON.parse(sent('responses', FRAMES.responses(item)).body)
    expect(input[1]).toMatchObject({ type: 'message', role: 'user' })
    expect(input[1].content[0].text).toMatch(/\n\nGoal$/)
  })

  it('that is broken is refused', () => {
    const item = `{"type":"compaction","encrypted_content":"${BROKEN}"}`
    const refused = expect.objectContaining({ code: 'invalid_request', param: 'input[1].encrypted_content' })
    expect(() => sent('responses', FRAMES.responses(item))).toThrow(refused)
  })
})

it.each([
  ['c2xjMS', true],
  [SIGNATURE, false],
])('an envelope is found in the form of its dialect: %s', (signature, found) => {
  const own = { sealed: 'c2xjMS', openState: () => [] }
  const client = { ...DIALECTS.messages, byteLane: { ...DIALECTS.messages.byteLane, ...own } }
  const text = FRAMES.messages(thinking(signature))
  const parsed = client.parseRequest(Buffer.from(text), { maxDepth: 20, maxKeys: 100 }, {})
  const about = { client, parsed, id: 'x', created: 1, inputTokens: 1, unsupported: 'Drop' } as const
  const lane = lanesOf(
    { ...about, envelopes: ENVELOPES, rewriteModel: false, defaultMaxOutputTokens: 10 },
    DIALECTS,
  ).open({
    lane: 'byte',
    api: 'messages',
    model: 'up',
    features: featuresOf('messages', undefined),
    channel: 'd/c',
    withoutCarriers: false,
  })
  expect(lane.hasState === true).toBe(found)
})
