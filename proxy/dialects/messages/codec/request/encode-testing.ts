/** Requests from other dialects, encoded for this one. */

import type { Features } from '../../../../../contract/features.ts'
import { featuresOf } from '../../../../../contract/profiles.ts'
import type { EncodedRequest } from '../../../core/codec.ts'
import type { AssistantPart, Turn, UserPart } from '../../../core/neutral/types.ts'
import { noLosses, type SourcedRequest } from '../../../testing.ts'
import { encodeRequest } from './encode-request.ts'

const ADAPTIVE = featuresOf('messages', 'anthropic-adaptive')
export const BUDGET = featuresOf('messages', 'anthropic')
export const SCHEMA = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
}
export const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

export function encode(fields: Partial<SourcedRequest>, features: Partial<Features> = {}, base = ADAPTIVE) {
  const request: SourcedRequest = {
    source: 'chat',
    model: 'route',
    stream: false,
    turns: [{ role: 'user', parts: [{ type: 'text', text: 'Q' }] }],
    tools: [],
    ...fields,
  }
  const losses = noLosses(request.source)
  const target = { model: 'M', features: { ...base, ...features }, defaultMaxOutputTokens: 8192, losses }
  const { body, headers } = encodeRequest(request, target)
  return { body: sent(body), headers, losses: losses.names.sort() }
}
/** The body as JSON brings it to the upstream. */
function sent(body: EncodedRequest['body']): EncodedRequest['body'] {
  return JSON.parse(JSON.stringify(body))
}
export function user(...parts: UserPart[]): Turn {
  return { role: 'user', parts }
}
export function text(text: string): Turn {
  return user({ type: 'text', text })
}
export function system(text: string, placement: 'top' | 'message' = 'message'): Turn {
  return { role: 'system', placement, parts: [{ type: 'text', text }] }
}
export function assistant(...parts: AssistantPart[]): Turn {
  return { role: 'assistant', parts }
}
export const block = (text: string) => ({ type: 'text', text })
export const call = (callId: string, input = '{}'): AssistantPart => ({
  type: 'tool-call',
  kind: 'function',
  callId,
  name: 't',
  input,
})
export const result = (callId: string, text: string): Turn => ({
  role: 'tool',
  results: [{ callId, parts: text === '' ? [] : [{ type: 'text', text }] }],
})
