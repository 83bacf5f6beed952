/** Requests of this dialect's clients, decoded and encoded. */
import { describe, expect, test } from 'vitest'
import { featuresOf } from '../../../../../contract/profiles.ts'
import { completenessOfRequest } from '../../../../../test/conformance/dialects/laws.ts'
import { addExtLosses } from '../../../core/neutral/losses.ts'
import type { Carrier, Envelopes, ModelRequest } from '../../../core/neutral/types.ts'
import { noLosses } from '../../../testing.ts'
import { parseRequest } from '../../request.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeRequest } from './encode-request.ts'

export const OPENAI: Carrier = { dialect: 'responses', kind: 'encrypted', value: 'E', id: 'rs_1' }
const ENVELOPES: Envelopes = {
  seal: () => 'sealed',
  open: (text) => (text === 'ours' ? OPENAI : text === 'forged' ? 'broken' : 'foreign'),
}

export function decode(fields: object, headers = {}): ModelRequest {
  const body = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }], ...fields }
  const bytes = Buffer.from(JSON.stringify(body))
  return decodeRequest(parseRequest(bytes, { maxDepth: 64, maxKeys: 10_000 }, headers), ENVELOPES)
}
function encode(request: ModelRequest) {
  const losses = noLosses('messages')
  const features = featuresOf('messages', 'generic', { cacheMarks: false, webSearch: false })
  const target = { model: 'm', features, defaultMaxOutputTokens: 8192, losses }
  return { ...encodeRequest(request, target), losses: losses.names }
}
function lossesElsewhere(request: ModelRequest): string[] {
  const losses = noLosses('messages')
  addExtLosses(request, 'chat', losses)
  return losses.names.sort()
}

export const user = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
export const assistant = (...content: object[]) => ({
  messages: [
    { role: 'user', content: 'Q' },
    { role: 'assistant', content },
  ],
})
export const TOOL = { name: 't', input_schema: { type: 'object' } }
export const CACHE = { cache_control: { type: 'ephemeral', ttl: '1h' } }
export const PNG = { type: 'base64', media_type: 'image/png', data: 'AAAA' }

/** A valid body, and its losses in another dialect. */
export type Legal = [name: string, fields: object, lost: string[]]

/** Tests that each body is complete in the neutral form, and its losses in another dialect. */
export function testCompleteness(legal: Legal[]): void {
  describe.each(legal)('%s', (_, fields, lost) => {
    test('is complete in the neutral form', () => {
      const messages = [{ role: 'user', content: 'Hi' }]
      completenessOfRequest('messages', { model: 'm', max_tokens: 10, messages, ...fields })
    })

    test('loses only these fields in another dialect', () => {
      expect(lossesElsewhere(decode(fields))).toEqual(lost)
    })

    test('does not change under its own encoder', () => {
      const request = decode(fields)
      const before = structuredClone(request)
      encode(request)
      expect(request).toEqual(before)
    })
  })
}
