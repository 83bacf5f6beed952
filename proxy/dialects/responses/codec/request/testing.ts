/** Requests of other dialects for the tests of the encoder. */

import type { Features } from '../../../../../contract/features.ts'
import { featuresOf } from '../../../../../contract/profiles.ts'
import type {
  AssistantPart,
  DialectName,
  FunctionTool,
  ModelRequest,
  ToolCallPart,
  Turn,
} from '../../../core/neutral/types.ts'
import { noLosses } from '../../../testing.ts'
import { encodeRequest } from './encode-request.ts'

export const USER: Turn = { role: 'user', parts: [{ type: 'text', text: 'Hi' }] }
export const USER_ITEM = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }
export const F: FunctionTool = { type: 'function', name: 'f' }

export interface Options {
  source?: DialectName
  features?: Partial<Features>
}

/** Drops `undefined` members, as JSON does. */
export function encode(fields: Partial<ModelRequest>, { source = 'chat', features = {} }: Options = {}) {
  const losses = noLosses(source)
  const request: ModelRequest = {
    model: 'client',
    stream: false,
    turns: [USER],
    tools: [],
    ...fields,
  }
  const { body } = encodeRequest(request, {
    model: 'm',
    features: featuresOf('responses', undefined, features),
    defaultMaxOutputTokens: 8192,
    losses,
  })
  const written: Record<string, unknown> = JSON.parse(JSON.stringify(body))
  return { body: written, losses: losses.names }
}

export const input = (turns: Turn[], options?: Options) => encode({ turns }, options).body.input
export const assistant = (...parts: AssistantPart[]): Turn => ({ role: 'assistant', parts })
export const CALL: ToolCallPart = {
  type: 'tool-call',
  callId: 'c',
  name: 'f',
  kind: 'function',
  input: '{}',
}
export const CALL_ITEM = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
