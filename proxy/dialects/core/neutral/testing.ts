/**
 * Generated conversations and answers for tests: valid, without ext, and with unique texts, so that a test finds each of
 * them wherever a conversion puts it.
 */

import fc from 'fast-check'
import type { Usage } from '../../../../contract/usage.ts'
import type { SourcedRequest } from '../../testing.ts'
import type {
  AssistantPart,
  DialectName,
  Finish,
  ModelAnswer,
  ModelRequest,
  ReasoningPart,
  Tool,
  ToolCallPart,
  ToolChoice,
  ToolResult,
  Turn,
  UserPart,
} from './types.ts'

/** Makes unique texts: the word, a number and the generated text. */
type Label = (word: string, rest?: string) => string

/** A value whose texts are not numbered yet. */
type Recipe<T> = (label: Label) => T

/** Answers that any dialect can express, with carriers of the given dialect. */
export function answerOf(dialect: DialectName): fc.Arbitrary<ModelAnswer> {
  return fc
    .record({
      reasoning: fc.array(reasoning(dialect), { maxLength: 1 }),
      body: fc.array(fc.oneof(text, annotated), { maxLength: 2 }),
      calls: fc.array(call(dialect), { maxLength: 3 }),
      finish: fc.constantFrom<Finish['reason']>('stop', 'length', 'content-filter'),
      usage: fc.option(usage, { nil: undefined }),
    })
    .map(({ reasoning, body, calls, finish, usage }) => {
      const label = labels()
      const answer: ModelAnswer = {
        parts: [...reasoning, ...body, ...calls].map((recipe) => recipe(label)),
        finish: { reason: calls.length > 0 ? 'tool-calls' : finish },
      }
      if (usage !== undefined) answer.usage = usage
      return answer
    })
}

export const anyAnswer: fc.Arbitrary<ModelAnswer> = fc
  .constantFrom<DialectName>('chat', 'responses', 'messages')
  .chain(answerOf)

/** Requests that a client of the given dialect can make: calls have results in their order, tools are declared. */
export function requestOf(source: DialectName): fc.Arbitrary<SourcedRequest> {
  return fc
    .record({
      system: fc.array(rest, { maxLength: 1 }),
      rounds: fc.array(round(source), { minLength: 1, maxLength: 3 }),
      endsInResults: fc.boolean(),
      last: userPart,
      tools: fc.boolean(),
      choice: fc.nat({ max: 4 }),
      scalars: scalars(source),
    })
    .map(({ system, rounds, endsInResults, last, tools, choice, scalars }) => {
      const label = labels()
      const turns: Turn[] = system.map((rest) => ({
        role: 'system',
        placement: source === 'chat' ? 'message' : 'top',
        parts: [{ type: 'text', text: label('system', rest) }],
      }))
      for (const recipe of rounds) turns.push(...recipe(label))
      if (endsInResults && turns.at(-2)?.role === 'tool') turns.pop()
      else turns.push({ role: 'user', parts: [last(label)] })
      const called = turns.flatMap((turn) => (turn.role === 'assistant' ? turn.parts : []))
      const calls = called.filter((part) => part.type === 'tool-call')
      const declared = calls.map((part) => declaration(part, label))
      if (tools) declared.push(declaration({ kind: 'function', name: label('tool') }, label))
      const request: SourcedRequest = {
        source,
        model: label('model'),
        stream: false,
        turns,
        tools: declared,
        maxOutputTokens: 4096,
        ...scalars,
      }
      const first = declared[0]
      if (first !== undefined) {
        const toolChoice = choiceOf(choice, first)
        if (toolChoice !== undefined) request.toolChoice = toolChoice
      }
      return request
    })
}

export const anyRequest: fc.Arbitrary<SourcedRequest> = fc
  .constantFrom<DialectName>('chat', 'responses', 'messages')
  .chain(requestOf)

// --- Parts ------------------------------------------------------------------------------------------------------------

/** Characters that escaping, framing and counting get wrong. */
const rest = fc.string({
  unit: fc.constantFrom(
    'a',
    'Z',
    ' ',
    '"',
    '\\',
    '\n',
    '\r',
    '\t',
    '<',
    '&',
    'é',
    '漢',
    '😀',
    '\u2028',
    '{',
    '}',
  ),
  maxLength: 12,
})

const text: fc.Arbitrary<Recipe<AssistantPart & { type: 'text' }>> = rest.map((rest) => (label) => ({
  type: 'text',
  text: label('text', rest),
}))

const annotated: fc.Arbitrary<Recipe<AssistantPart>> = text.map((recipe) => (label) => ({
  ...recipe(label),
  annotations: [{ type: 'url', url: `https://example.com/${label('page')}`, title: label('title') }],
}))

function reasoning(dialect: DialectName): fc.Arbitrary<Recipe<ReasoningPart>> {
  const paragraphs = fc.array(rest, { minLength: 1, maxLength: dialect === 'responses' ? 3 : 1 })
  return paragraphs.map((paragraphs) => (label) => {
    const part: ReasoningPart = {
      type: 'reasoning',
      texts: paragraphs.map((rest) => label('thought', rest)),
    }
    if (dialect === 'messages') part.carrier = { dialect, kind: 'signature', value: label('signature') }
    if (dialect === 'responses') {
      part.carrier = { dialect, kind: 'encrypted', value: label('encrypted'), id: label('rs_') }
    }
    return part
  })
}

function call(dialect: DialectName): fc.Arbitrary<Recipe<ToolCallPart>> {
  const kinds = dialect === 'messages' ? (['function'] as const) : (['function', 'custom'] as const)
  return fc.tuple(fc.constantFrom(...kinds), rest).map(([kind, rest]) => (label) => ({
    type: 'tool-call',
    callId: label('call_'),
    name: label('tool_'),
    kind,
    input: kind === 'custom' ? label('input', rest) : JSON.stringify({ argument: label('argument', rest) }),
  }))
}

const userPart: fc.Arbitrary<Recipe<UserPart>> = fc.tuple(fc.nat({ max: 4 }), rest).map(([kind, rest]) => {
  const makers: Recipe<UserPart>[] = [
    (label) => ({ type: 'text', text: label('text', rest) }),
    (label) => ({ type: 'text', text: label('text', rest) }),
    (label) => ({ type: 'image', source: { kind: 'url', url: `https://example.com/${label('image')}.png` } }),
    (label) => ({ type: 'image', source: { kind: 'data', mediaType: 'image/png', base64: png(label) } }),
    (label) => ({
      type: 'file',
      name: `${label('name')}.pdf`,
      source: { kind: 'data', mediaType: 'application/pdf', base64: base64(`%PDF-1.7 ${label('pdf')}`) },
    }),
  ]
  return makers[kind] ?? ((label) => ({ type: 'text', text: label('text', rest) }))
})

/** A user turn, and the model's turns up to its answer. */
function round(source: DialectName): fc.Arbitrary<Recipe<Turn[]>> {
  return fc
    .record({
      user: fc.array(userPart, { minLength: 1, maxLength: 3 }),
      reasoning: fc.array(reasoning(source), { maxLength: 1 }),
      texts: fc.array(text, { maxLength: 1 }),
      calls: fc.array(call(source), { maxLength: 3 }),
      outputs: fc.array(rest, { minLength: 3, maxLength: 3 }),
      isError: fc.boolean(),
      answer: text,
    })
    .map((given) => (label) => {
      const turns: Turn[] = [{ role: 'user', parts: given.user.map((recipe) => recipe(label)) }]
      const calls = given.calls.map((recipe) => recipe(label))
      const before = [...given.reasoning, ...given.texts].map((recipe) => recipe(label))
      if (calls.length > 0) {
        const results = calls.map(({ callId, kind }, index): ToolResult => {
          const result: ToolResult = {
            callId,
            parts: [{ type: 'text', text: label('output', given.outputs[index]) }],
          }
          if (source === 'responses') result.kind = kind
          if (source === 'messages' && given.isError) result.isError = true
          return result
        })
        turns.push({ role: 'assistant', parts: [...before, ...calls] }, { role: 'tool', results })
        turns.push({ role: 'assistant', parts: [given.answer(label)] })
      } else turns.push({ role: 'assistant', parts: [...before, given.answer(label)] })
      return turns
    })
}

// --- The rest ---------------------------------------------------------------------------------------------------------

const count = fc.nat({ max: 1000 })

const usage: fc.Arbitrary<Usage> = fc
  .record({ input: count, cachedInput: count, cacheWrite: count, text: count, reasoning: count })
  .map(({ text, reasoning, ...input }) => ({
    ...input,
    cacheWriteLong: 0,
    output: text + reasoning,
    reasoning,
    images: 0,
  }))

function scalars(source: DialectName): fc.Arbitrary<Partial<ModelRequest>> {
  const some: Record<string, fc.Arbitrary<unknown>> = {
    temperature: fc.constantFrom(0, 0.5, 1),
    topP: fc.constantFrom(0.1, 0.9),
    parallelToolCalls: fc.constant(false),
    reasoning: fc.constantFrom('low', 'medium', 'high').map((effort) => ({ effort })),
    format: fc.constant({
      type: 'schema',
      schema: {
        type: 'object',
        properties: { answer: { type: 'string' } },
        required: ['answer'],
        additionalProperties: false,
      },
      ...(source !== 'messages' && { name: 'reply', strict: true }),
    }),
    user: fc.constant('an-end-user'),
  }
  if (source !== 'responses') some.stop = fc.constantFrom(['END'], ['\n\nHuman:', 'STOP'])
  if (source === 'messages') some.topK = fc.constantFrom(1, 40)
  if (source === 'chat') some.seed = fc.constant(7)
  return fc.record(some, { requiredKeys: [] })
}

function declaration({ kind, name }: Pick<ToolCallPart, 'kind' | 'name'>, label: Label): Tool {
  if (kind === 'custom') return { type: 'custom', name, description: label('description') }
  const parameters = {
    type: 'object',
    properties: { argument: { type: 'string', description: label('parameter') } },
    required: ['argument'],
  }
  return { type: 'function', name, description: label('description'), parameters }
}

function choiceOf(choice: number, tool: Tool): ToolChoice | undefined {
  if (choice === 1) return { type: 'auto' }
  if (choice === 2) return { type: 'none' }
  if (choice === 3) return { type: 'required' }
  if (choice !== 4 || (tool.type !== 'function' && tool.type !== 'custom')) return undefined
  return { type: 'tool', kind: tool.type, name: tool.name }
}

function labels(): Label {
  let count = 0
  return (word, rest = '') => `${word}${String(++count).padStart(3, '0')}${rest === '' ? '' : ` ${rest}.`}`
}

/** A PNG signature, which is all that the gateway reads. */
function png(label: Label): string {
  return Buffer.from(`\x89PNG\r\n\x1a\n${label('png')}`, 'latin1').toString('base64')
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
