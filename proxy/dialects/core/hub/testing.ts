/** Tools, and requests adapted with them, for the tests of this folder. */
import { expect } from 'vitest'
import { typeOf } from '../../../../contract/channel-types.ts'
import type { Features } from '../../../../contract/features.ts'
import { featuresOf } from '../../../../contract/profiles.ts'
import { GatewayError } from '../../../errors.ts'
import { DIALECTS } from '../../index.ts'
import { noLosses, type SourcedRequest } from '../../testing.ts'
import type { ToolRules } from '../dialect.ts'
import { fold } from '../neutral/fold.ts'
import type {
  DialectName,
  Emit,
  FunctionTool,
  ModelAnswer,
  ModelRequest,
  StreamPart,
  Tool,
  ToolCallPart,
} from '../neutral/types.ts'
import { unfold } from '../neutral/unfold.ts'
import { readingOf } from './prepare.ts'
import { restoreCalls } from './tool-restore.ts'
import { adaptTools } from './tools.ts'

export const schema = { type: 'object', properties: { city: { type: 'string' } } }
export const weather: Tool = { type: 'function', name: 'get_weather', description: 'd', parameters: schema }
export const patch: Tool = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits files.',
  grammar: { syntax: 'lark', definition: 'start: "x"' },
}
export const files: FunctionTool = { type: 'function', name: 'read', namespace: 'files', parameters: schema }
export const hosted: Tool = { type: 'hosted', dialect: 'responses', name: 'mcp', tool: { type: 'mcp' } }
export const search: Tool = { type: 'web-search' }

export const wrappedSchema = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

export function toolRules(dialect: DialectName): ToolRules {
  const { conversation } = DIALECTS[dialect]
  if (conversation === undefined) throw new TypeError(`${dialect} takes no tools`)
  return conversation.tools
}

export function adapt(
  changes: Partial<SourcedRequest>,
  dialect: DialectName,
  overrides: Partial<Features> = {},
) {
  const request: SourcedRequest = {
    source: 'responses',
    model: 'm',
    stream: true,
    turns: [],
    tools: [],
    ...changes,
  }
  const losses = noLosses(request.source)
  const before = structuredClone(request)
  const features = featuresOf(typeOf(dialect), undefined, overrides)
  const adapted = adaptTools(request, { dialect, rules: toolRules(dialect), features }, losses)
  expect(request).toEqual(before)
  const { takesText } = readingOf({ ...adapted, stop: [] }, DIALECTS[dialect])
  const restore = adapted.restores ? (emit: Emit) => restoreCalls(adapted.names, emit) : undefined
  return { ...adapted, takesText, restore, losses: losses.names }
}

export function refusal(
  changes: Partial<SourcedRequest>,
  dialect: DialectName,
  overrides: Partial<Features> = {},
) {
  try {
    adapt(changes, dialect, overrides)
  } catch (error) {
    if (error instanceof GatewayError) return { code: error.code, param: error.param }
    throw error
  }
  return undefined
}

export function callPart(name: string, changes: Partial<ToolCallPart> = {}): ToolCallPart {
  return { type: 'tool-call', callId: `call_${name}`, name, kind: 'function', input: '{}', ...changes }
}

export const called = (...parts: ToolCallPart[]): ModelRequest['turns'] => [
  { role: 'assistant', parts },
  {
    role: 'tool',
    results: parts.map(({ callId, kind }) => ({
      callId,
      kind,
      parts: [{ type: 'text', text: 'ok' }],
    })),
  },
]

/** The parts of an answer with these calls, restored for the client. */
export function restored(
  adapted: ReturnType<typeof adapt>,
  ...calls: ToolCallPart[]
): ModelAnswer['parts'] | undefined {
  const parts: StreamPart[] = []
  const emit = (part: StreamPart) => void parts.push(part)
  unfold({ parts: calls, finish: { reason: 'tool-calls' } }, adapted.restore?.(emit) ?? emit)
  return fold(parts)?.parts
}
