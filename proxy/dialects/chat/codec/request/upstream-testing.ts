/** Helpers for the tests of requests from other dialects. */
import type { ApiName } from '../../../../../contract/apis.ts'
import type { AssistantPart, Carrier, ModelRequest, Turn, UserPart } from '../../../core/neutral/types.ts'
import { encode, foreign } from '../testing.ts'

export const text = (t: string) => ({ type: 'text' as const, text: t })
export const user = (...parts: UserPart[]): Turn => ({ role: 'user', parts })
export const assistant = (...parts: AssistantPart[]): Turn => ({ role: 'assistant', parts })
export const call = (callId: string, input = '{}'): AssistantPart => ({
  type: 'tool-call',
  callId,
  name: 'f',
  kind: 'function',
  input,
})
export const SIGNED: Carrier = { dialect: 'messages', kind: 'signature', value: 'SIG' }

export function messagesOf(turns: Turn[], overrides = {}, profile: Parameters<typeof encode>[1] = 'generic') {
  const { body, losses } = encode(foreign({ turns }), profile, overrides)
  return { messages: body.messages, losses }
}

export function refused(fields: Partial<ModelRequest>, source?: ApiName, overrides = {}): unknown {
  try {
    encode(foreign(fields, source), 'generic', overrides)
  } catch (error) {
    return error
  }
  return undefined
}
