/** Reads a whole answer of an upstream. */

import { present } from '../../../../../kit/present.ts'
import type { UpstreamFailure } from '../../../../errors.ts'
import { readFailure } from '../../../core/errors/read.ts'
import { contentList, readable } from '../../../core/errors/unreadable.ts'
import { type Fields, isRecord, isText, listOf, textOf } from '../../../core/json/value.ts'
import type { AssistantPart, ModelAnswer, TextPart, ToolCallPart } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { readUsage } from '../../usage.ts'
import { detailText, PARAGRAPH } from '../reasoning.ts'
import { extraCarrier } from '../request/decode-messages.ts'
import { readAnnotations } from './annotations.ts'
import { detailsCarrier, readImages, readPieces } from './answer-parts.ts'
import { readCallBody } from './call-body.ts'
import { isFailure, readFinish } from './finish.ts'

export function decodeAnswer(value: unknown, request: ParsedRequest): ModelAnswer | UpstreamFailure {
  const read = readable(() => readAnswer(value, request))
  return 'parts' in read ? read : { ...read, status: 200 }
}

function readAnswer(value: unknown, request: ParsedRequest): ModelAnswer | UpstreamFailure {
  if (isRecord(value) && value.error) return readFailure(value, request, 'error_in_answer')
  const choice = isRecord(value) && Array.isArray(value.choices) ? firstChoice(value.choices) : undefined
  if (!isRecord(value) || choice === undefined) return { class: 'unknown', detail: 'no_answer' }
  if (choice.error || isFailure(choice.finish_reason)) {
    return readFailure(choice, request, 'error_in_answer')
  }
  const message = isRecord(choice.message) ? choice.message : {}
  if (callsOf(message).some(isNameless)) return { class: 'unknown', detail: 'nameless_tool_call' }
  const parts = readMessage(message, choice.logprobs, textOf(value.id))
  const hasCalls = parts.some((part) => part.type === 'tool-call')
  return {
    parts,
    finish: readFinish(choice.finish_reason, hasCalls),
    ...present({ usage: readUsage(value.usage), tier: text(value.service_tier) }),
  }
}

function callsOf({ tool_calls: calls }: Fields): Fields[] {
  return contentList(calls).filter(isRecord)
}

/** True for a call that no client can run. An entirely empty entry does not count as a call. */
function isNameless(call: Fields): boolean {
  const { name, input } = readCallBody(call)
  return name === '' && (text(call.id) !== undefined || input !== '')
}

function firstChoice(choices: unknown[]): Fields | undefined {
  const records = choices.filter(isRecord)
  return records.find((choice) => choice.index === 0) ?? records[0]
}

function text(value: unknown): string | undefined {
  return isText(value) ? value : undefined
}

function readMessage(message: Fields, logprobs: unknown, id: string): AssistantPart[] {
  const parts: AssistantPart[] = []
  readThoughts(message, parts)
  for (const piece of readPieces(message.content)) {
    if (piece.type === 'text') parts.push({ type: 'text', text: piece.text })
    else parts.push({ type: 'reasoning', texts: [piece.text] })
  }
  addToText(message, logprobs, parts)
  const refused = text(message.refusal)
  if (refused !== undefined) parts.push({ type: 'refusal', text: refused })
  parts.push(...readImages(message.images))
  callsOf(message).forEach((call, i) => {
    const part = readCall(call, `call_${id}_${i}`)
    if (part !== undefined) parts.push(part)
  })
  if (isRecord(message.function_call)) {
    const part = readCall({ function: message.function_call }, `call_${id}`)
    if (part !== undefined) parts.push(part)
  }
  return parts
}

/** Adds citations and token probabilities to the text that they belong to. */
function addToText(message: Fields, logprobs: unknown, parts: AssistantPart[]): void {
  const annotations = readAnnotations(message.annotations)
  const tokens = isRecord(logprobs) ? listOf(logprobs.content) : []
  if (annotations.length === 0 && tokens.length === 0) return
  let last = parts.findLast((part): part is TextPart => part.type === 'text')
  if (last === undefined) {
    last = { type: 'text', text: '' }
    parts.push(last)
  }
  if (annotations.length > 0) last.annotations = annotations
  if (tokens.length > 0) last.logprobs = tokens
}

function readThoughts(message: Fields, parts: AssistantPart[]): void {
  const details = listOf(message.reasoning_details).filter(isRecord)
  const plain = text(message.reasoning_content) ?? text(message.reasoning)
  const thought = plain ?? details.flatMap(detailText).join(PARAGRAPH)
  const carrier = detailsCarrier(details)
  if (thought === '' && carrier === undefined) return
  parts.push({ type: 'reasoning', texts: thought === '' ? [] : [thought], ...(carrier && { carrier }) })
}

function readCall(call: Fields, madeUpId: string): ToolCallPart | undefined {
  const body = readCallBody(call)
  if (body.name === '') return undefined
  const extra = isRecord(call.extra_content) ? extraCarrier(call.extra_content) : undefined
  return {
    type: 'tool-call',
    callId: text(call.id) ?? madeUpId.replace(/[^\w-]/g, '_'),
    ...body,
    ...(extra && { carrier: extra }),
  }
}
