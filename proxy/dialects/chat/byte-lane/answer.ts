/** Reads whole chat completions, and converts them to streams for upstreams that ignore `stream: true`. */
import type { Delivered } from '../../../../contract/sizes.ts'
import type { UpstreamFailure } from '../../../errors.ts'
import type { Answer } from '../../core/byte-lane.ts'
import { errorInAnswer } from '../../core/errors/read.ts'
import { badAnswer } from '../../core/errors/unreadable.ts'
import { isEmpty, isRecord, listOf, tryParse, unlessTooDeep } from '../../core/json/value.ts'
import type { FieldsOf } from '../../core/json/wire.ts'
import { addText } from '../../core/neutral/delivered.ts'
import type { ParsedRequest } from '../../core/request.ts'
import { brokenChoice } from '../codec/answer/finish.ts'
import { readUsage } from '../usage.ts'
import type * as wire from '../wire.ts'

/** Fields of a completion that every chunk of its stream repeats. */
const REPEATED = ['id', 'created', 'model', 'service_tier', 'system_fingerprint'] as const
/** Fields of a message that a stream carries first, in this order. */
const FIRST_DELTAS: (keyof wire.Delta)[] = ['reasoning_content', 'reasoning', 'content', 'refusal']

export function readAnswer(
  body: Buffer,
  request: ParsedRequest,
  asStream: boolean,
): Answer | UpstreamFailure {
  const value = tryParse(body.toString('utf8'))
  if (isRecord(value) && value.error) return errorInAnswer(value, request)
  if (!isRecord(value) || !Array.isArray(value.choices)) return badAnswer('no_answer')
  const choices = value.choices.filter(isRecord)
  const broken = brokenChoice(choices)
  if (broken !== undefined) return errorInAnswer(broken, request)
  if (!choices.some(({ message }) => isRecord(message))) return badAnswer('no_answer')
  const bytes = asStream ? toStream(value, choices, request.head.wantsStreamUsage) : body
  if (bytes === undefined) return badAnswer('answer_too_deep')
  return {
    body: bytes,
    usage: readUsage(value.usage),
    tier: typeof value.service_tier === 'string' ? value.service_tier : undefined,
    delivered: countMessages(choices),
  }
}

function countMessages(choices: Record<string, unknown>[]): Delivered {
  const delivered: Delivered = { deltas: 0, bytes: 0 }
  const add = (text: unknown) => addText(delivered, text)
  for (const { message } of choices) {
    if (!isRecord(message)) continue
    for (const field of FIRST_DELTAS) add(message[field])
    if (isRecord(message.function_call)) add(message.function_call.arguments)
    for (const call of listOf(message.tool_calls)) {
      if (!isRecord(call)) continue
      if (isRecord(call.function)) add(call.function.arguments)
      if (isRecord(call.custom)) add(call.custom.input)
    }
  }
  return delivered
}

/** The completion as a stream; undefined when it nests too deep for JSON.stringify. */
function toStream(
  completion: Record<string, unknown>,
  choices: Record<string, unknown>[],
  wantsUsage: boolean,
): Buffer | undefined {
  const base: FieldsOf<wire.Chunk> = { object: 'chat.completion.chunk' }
  for (const field of REPEATED) if (field in completion) base[field] = completion[field]
  const chunk = (more: FieldsOf<wire.Chunk>) => ({ ...base, ...more })
  const usage = wantsUsage ? null : undefined
  const chunks = choices.flatMap((choice, i) =>
    choiceChunks(choice, i).map((part) => chunk({ choices: [part], usage })),
  )
  if (wantsUsage && isRecord(completion.usage)) chunks.push(chunk({ choices: [], usage: completion.usage }))
  return unlessTooDeep(() => {
    const events = [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]']
    return Buffer.from(events.map((data) => `data: ${data}\n\n`).join(''))
  })
}

/** One choice as the chunks of a stream: the role, each field of the message, the finish. */
function choiceChunks(choice: Record<string, unknown>, position: number): FieldsOf<wire.ChunkChoice>[] {
  const message = isRecord(choice.message) ? choice.message : {}
  const index = choice.index ?? position
  const chunk = (delta: FieldsOf<wire.Delta>): FieldsOf<wire.ChunkChoice> => {
    return { index, delta, logprobs: null, finish_reason: null }
  }
  const isFirst = (field: string) => FIRST_DELTAS.some((first) => first === field)
  const others = Object.keys(message).filter((field) => field !== 'role' && !isFirst(field))
  const deltas = [...FIRST_DELTAS, ...others]
    .filter((field) => !isEmpty(message[field]))
    .map((field) => chunk({ [field]: field === 'tool_calls' ? indexed(message[field]) : message[field] }))
  return [
    chunk({ role: 'assistant', content: '', refusal: null }),
    ...deltas,
    { index, delta: {}, logprobs: choice.logprobs ?? null, finish_reason: choice.finish_reason ?? 'stop' },
  ]
}

/** Adds the position, which streamed calls carry, and the type, which the SDKs require and a few upstreams omit. */
function indexed(calls: unknown): unknown {
  if (!Array.isArray(calls)) return calls
  return calls.map((call: unknown, index) =>
    isRecord(call) ? { type: 'custom' in call ? 'custom' : 'function', ...call, index } : call,
  )
}
