import { describe, expect, it } from 'vitest'
import { ephemeralKeyRing } from '../../../../../store/sealing.ts'
import { createEnvelopes } from '../../../core/hub/envelope.ts'
import type { Envelopes } from '../../../core/neutral/types.ts'
import { DIALECTS } from '../../../index.ts'
import { parseRequest } from '../../request.ts'
import { decodeRequest } from './decode-request.ts'
import { encode } from './testing.ts'

const ring = ephemeralKeyRing()
const ours = createEnvelopes(ring, 'account-a', DIALECTS)
const USER = { role: 'user', content: 'Hi' }
const LIMITS = { maxDepth: 64, maxKeys: 1000 }

const sealed = (envelopes: Envelopes = ours) =>
  envelopes.seal({ dialect: 'responses', kind: 'compaction', value: 'Goal: ship it.' })
const compaction = (encrypted_content: unknown) => ({ type: 'compaction', id: 'cmp_1', encrypted_content })

function parse(fields: object) {
  return parseRequest(Buffer.from(JSON.stringify({ model: 'm', ...fields })), LIMITS)
}
const decode = (fields: object) => decodeRequest(parse(fields), ours)

describe('a compaction of the gateway', () => {
  it('is read as a user message, in its place', () => {
    const answer = { role: 'assistant', content: 'Yes.' }
    const { turns } = decode({ input: [USER, answer, compaction(sealed()), answer, USER] })
    expect(turns.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user'])
    expect(turns[2]).toEqual({
      role: 'user',
      parts: [{ type: 'text', text: expect.stringMatching(/^The beginning .*\n\nGoal: ship it\.$/s) }],
    })
  })

  const flipped = sealed().replace(/.{9}$/, (end) => (end[0] === 'A' ? 'B' : 'A') + end.slice(1))
  it.each([
    ['forged', 'slc1.compaction.Zm9yZ2Vk'],
    ['changed', flipped],
    ["another account's", sealed(createEnvelopes(ring, 'account-b', DIALECTS))],
    ['under other keys', sealed(createEnvelopes(ephemeralKeyRing(), 'account-a', DIALECTS))],
    ['something else', ours.seal({ dialect: 'messages', kind: 'signature', value: 'S' })],
  ])('that is %s is refused by its name', (_, encrypted) => {
    expect(() => decode({ input: [USER, compaction(encrypted)] })).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        param: 'input[1].encrypted_content',
        message: 'input[1].encrypted_content is not a compaction that this gateway made for this account.',
      }),
    )
  })

  it('is not encrypted reasoning', () => {
    const { turns } = decode({
      input: [USER, { type: 'reasoning', summary: [], encrypted_content: sealed() }],
    })
    expect(turns[1]).toMatchObject({ role: 'assistant', parts: [{ type: 'reasoning', lostCarrier: true }] })
    expect(JSON.stringify(turns)).not.toContain('ship it')
  })

  it('is never written as encrypted reasoning, even if a client sends it as such', () => {
    const carrier = { dialect: 'responses', kind: 'compaction', value: 'Goal' } as const
    const turn = {
      role: 'assistant' as const,
      parts: [
        { type: 'reasoning' as const, texts: [], carrier },
        { type: 'text' as const, text: 'Yes.' },
      ],
    }
    const { body, losses } = encode({ turns: [turn] }, { source: 'messages' })
    expect(JSON.stringify(body)).not.toContain('Goal')
    expect(losses).toEqual(['messages.content.signature'])
  })
})

it.each([['gAAAAAB'], [7], [undefined]])('any other compaction is unchanged: %j', (encrypted) => {
  const item = compaction(encrypted)
  const { turns } = decode({ input: [item] })
  expect(turns).toEqual([
    { role: 'assistant', parts: [expect.objectContaining({ type: 'hosted', name: 'compaction' })] },
  ])
})

describe('a trigger', () => {
  const trigger = { type: 'compaction_trigger', id: 't' }

  it('at the end requests a compaction, and is not part of the conversation', () => {
    const request = parse({ input: [USER, trigger] })
    expect(request.compacts).toBe(true)
    const { compact, turns } = decodeRequest(request, ours)
    expect(compact).toBe(true)
    expect(turns).toEqual([expect.objectContaining({ role: 'user' })])
    expect(decode({ input: [trigger] })).toMatchObject({ compact: true, turns: [] })
  })

  it('elsewhere is refused by its name', () => {
    const request = parse({ input: [USER, trigger, USER] })
    expect(request.compacts).toBeUndefined()
    expect(() => decodeRequest(request, ours)).toThrow(
      expect.objectContaining({ code: 'invalid_request', param: 'input[1]' }),
    )
  })

  it.each([{ input: 'Hi' }, { input: [USER] }])('is absent: %j', (fields) => {
    expect(parse(fields).compacts).toBeUndefined()
    expect(decode(fields)).not.toHaveProperty('compact')
    expect(decodeRequest({ ...parse(fields), compacts: true }, ours)).toMatchObject({ compact: true })
  })
})
