/** Reads the messages of a request as the turns of a conversation. */

import { listAt, nameAt, oneOf, optional, recordAt, stringAt } from '../../../core/json/checks.ts'
import { refusal } from '../../../core/json/fields.ts'
import type { Fields } from '../../../core/json/value.ts'
import { inside, keep } from '../../../core/neutral/keep.ts'
import type {
  AssistantPart,
  AssistantTurn,
  Carrier,
  Envelopes,
  ToolCallPart,
  ToolResult,
  Turn,
  UserPart,
} from '../../../core/neutral/types.ts'
import { decodeReasoning, REASONING_FIELDS } from '../reasoning.ts'
import { decodeContent } from './decode-content.ts'

const at = (place: string) => ({ dialect: 'chat', at: place }) as const
const HERE = at('messages')
const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const
const PLAIN = new Set(['role', 'content'])
const RESULT = new Set(['role', 'content', 'tool_call_id', 'name'])
const ASSISTANT = new Set(['role', 'content', 'refusal', 'tool_calls', 'function_call', ...REASONING_FIELDS])
const CALL = new Set(['id', 'type', 'function', 'custom', 'extra_content'])
const FUNCTION = new Set(['name', 'arguments'])
const CUSTOM = new Set(['name', 'input'])

export function decodeMessages(messages: unknown[], envelopes: Envelopes): Turn[] {
  const turns: Turn[] = []
  // Calls in `function_call` have no ids; the next function message answers each of them.
  let legacyCalls = 0
  messages.forEach((value, i) => {
    const path = `messages[${i}]`
    const message = recordAt(value, path)
    const role = oneOf(ROLES)(message.role, `${path}.role`)
    optional(message.name, `${path}.name`, stringAt)
    switch (role) {
      case 'system':
      case 'developer':
        turns.push(decodeSystem(message, path))
        break
      case 'user':
        turns.push(decodeUser(message, path))
        break
      case 'assistant': {
        const called = optional(message.function_call, `${path}.function_call`, recordAt)
        if (called !== undefined) legacyCalls++
        turns.push(decodeAssistant(message, path, envelopes, `call_legacy_${legacyCalls}`))
        break
      }
      default: {
        const result = decodeResult(message, role, path, `call_legacy_${legacyCalls}`)
        const last = turns.at(-1)
        if (last?.role === 'tool') last.results.push(result)
        else turns.push({ role: 'tool', results: [result] })
      }
    }
  })
  return turns
}

function decodeSystem(message: Fields, path: string): Turn {
  const parts = decodeContent(message, `${path}.content`)
  const texts = parts.map((part, i) => {
    if (part.type !== 'text') throw refusal(`${path}.content[${i}].type`, 'must be text')
    return part
  })
  return {
    role: 'system',
    placement: 'message',
    parts: texts,
    ...keep(HERE, message, PLAIN),
  }
}

function decodeUser(message: Fields, path: string): Turn {
  const parts = decodeContent(message, `${path}.content`)
  const userParts = parts.map((part, i): UserPart => {
    if (part.type === 'refusal')
      throw refusal(`${path}.content[${i}].type`, 'must not be refusal in a user message')
    return part
  })
  return { role: 'user', parts: userParts, ...keep(HERE, message, PLAIN) }
}

function decodeResult(
  message: Fields,
  role: 'tool' | 'function',
  path: string,
  legacyId: string,
): ToolResult {
  const parts = decodeContent(message, `${path}.content`)
  const legacy = role === 'function'
  const callId = legacy ? legacyId : nameAt(message.tool_call_id, `${path}.tool_call_id`)
  return {
    callId,
    ...(legacy && { kind: 'function' as const }),
    parts: parts.map((part, i) => {
      if (part.type === 'text' || part.type === 'image' || part.type === 'file') return part
      throw refusal(`${path}.content[${i}].type`, 'must be text')
    }),
    ...keep(HERE, message, RESULT),
  }
}

function decodeAssistant(
  message: Fields,
  path: string,
  envelopes: Envelopes,
  legacyId: string,
): AssistantTurn {
  const content = decodeContent(message, `${path}.content`)
  const reasoning = decodeReasoning(message, path, envelopes)
  const parts: AssistantPart[] = [...reasoning, ...content]
  const refused = optional(message.refusal, `${path}.refusal`, stringAt)
  if (refused !== undefined) parts.push({ type: 'refusal', text: refused })
  const calls = optional(message.tool_calls, `${path}.tool_calls`, listAt) ?? []
  calls.forEach((call, i) => {
    parts.push(decodeCall(call, `${path}.tool_calls[${i}]`))
  })
  const legacy = optional(message.function_call, `${path}.function_call`, recordAt)
  if (legacy !== undefined) parts.push(decodeFunctionCall(legacy, `${path}.function_call`, legacyId))
  return { role: 'assistant', parts, ...keep(HERE, message, ASSISTANT) }
}

function decodeCall(value: unknown, path: string): ToolCallPart {
  const call = recordAt(value, path)
  const callId = nameAt(call.id, `${path}.id`)
  const kind = optional(call.type, `${path}.type`, oneOf(['function', 'custom'])) ?? 'function'
  const inner = recordAt(call[kind], `${path}.${kind}`)
  const field = kind === 'function' ? 'arguments' : 'input'
  const extra = optional(call.extra_content, `${path}.extra_content`, recordAt)
  return {
    type: 'tool-call',
    callId,
    name: nameAt(inner.name, `${path}.${kind}.name`),
    kind,
    input: stringAt(inner[field], `${path}.${kind}.${field}`),
    ...(extra !== undefined && { carrier: extraCarrier(extra) }),
    ...keep(
      at('messages.tool_calls'),
      call,
      CALL,
      inside(kind, inner, kind === 'function' ? FUNCTION : CUSTOM),
    ),
  }
}

/** The carrier for state that some chat upstreams attach to a call. */
export function extraCarrier(extra: Fields): Carrier {
  return { dialect: 'chat', kind: 'extra_content', value: JSON.stringify(extra) }
}

function decodeFunctionCall(call: Fields, path: string, callId: string): ToolCallPart {
  return {
    type: 'tool-call',
    callId,
    name: nameAt(call.name, `${path}.name`),
    kind: 'function',
    input: stringAt(call.arguments, `${path}.arguments`),
    ...keep(at('messages.function_call'), call, FUNCTION),
  }
}
