/** Every request from another dialect must be encoded to a valid body. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Features } from '../../../../../contract/features.ts'
import { featuresOf } from '../../../../../contract/profiles.ts'
import { GatewayError } from '../../../../errors.ts'
import { requestOf } from '../../../core/neutral/testing.ts'
import { noLosses, type SourcedRequest } from '../../../testing.ts'
import { parseRequest } from '../../request.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeRequest } from './encode-request.ts'

interface Message {
  role: string
  content: string | { type: string; text?: string; cache_control?: object }[]
}

const ENVELOPES = { seal: () => '', open: () => 'foreign' as const }
const features: fc.Arbitrary<Features> = fc
  .record({
    profile: fc.constantFrom('generic', 'anthropic', 'anthropic-adaptive'),
    sampling: fc.boolean(),
    structuredOutput: fc.boolean(),
    systemTurns: fc.boolean(),
    prefill: fc.boolean(),
    cacheMarks: fc.boolean(),
    reasoning: fc.constantFrom('None', 'Effort', 'Budget', 'Adaptive'),
  })
  .map(({ profile, ...overrides }) => featuresOf('messages', profile, overrides))

/** Undefined for a request that is refused with the name of a field. */
function encode(request: SourcedRequest, features: Features): Record<string, unknown> | undefined {
  try {
    const target = { model: 'M', features, defaultMaxOutputTokens: 8192, losses: noLosses(request.source) }
    return encodeRequest(request, target).body
  } catch (error) {
    if (error instanceof GatewayError && error.param !== undefined) return undefined
    throw error
  }
}

const foreign = fc.oneof(requestOf('chat'), requestOf('responses'))

test('messages alternate, start with the user, do not end with the assistant, and have no empty text', () => {
  fc.assert(
    fc.property(foreign, features, (request, features) => {
      const body = encode(request, features)
      if (body === undefined) return
      const messages = body.messages as Message[]
      expect(messages[0]?.role).toBe('user')
      if (!features.prefill) expect(messages.at(-1)?.role).not.toBe('assistant')
      messages.forEach(({ role, content }, i) => {
        expect(role).not.toBe(messages[i - 1]?.role)
        if (role === 'system') expect(features.systemTurns).toBe(true)
        if (typeof content === 'string') return
        expect(content.length).toBeGreaterThan(0)
        for (const block of content) expect(block.text).not.toBe('')
        const lastResult = content.findLastIndex(({ type }) => type === 'tool_result')
        const firstOther = content.findIndex(({ type }) => type !== 'tool_result')
        if (lastResult >= 0 && firstOther >= 0) expect(lastResult).toBeLessThan(firstOther)
      })
      const { thinking, max_tokens } = body as { thinking?: { budget_tokens?: number }; max_tokens: number }
      if (thinking?.budget_tokens !== undefined) {
        expect(thinking.budget_tokens).toBeGreaterThanOrEqual(1024)
        expect(thinking.budget_tokens).toBeLessThan(max_tokens)
      }
    }),
  )
})

test('an encoded request decodes to the same request, and encodes to the same body', () => {
  fc.assert(
    fc.property(foreign, features, (request, features) => {
      const body = encode(request, features)
      if (body === undefined) return
      const parsed = parseRequest(Buffer.from(JSON.stringify(body)), { maxDepth: 64, maxKeys: 10_000 }, {})
      const again = decodeRequest(parsed, ENVELOPES)
      expect(encode({ ...again, source: 'messages' }, features)).toEqual(JSON.parse(JSON.stringify(body)))
    }),
  )
})
