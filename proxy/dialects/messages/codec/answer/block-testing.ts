/** Helpers for the tests of answers and streams. */
import { GatewayError } from '../../../../errors.ts'
import type { ClientView } from '../../../core/codec.ts'
import { BodyValue } from '../../../core/json/body-value.ts'
import type { Carrier, ModelAnswer, StreamPart } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { noLosses } from '../../../testing.ts'
import { decodeAnswer } from './decode-answer.ts'
import { MessagesStreamDecoder } from './decode-stream.ts'
import { encodeAnswer } from './encode-answer.ts'
import { MessagesStreamEncoder } from './encode-stream.ts'

const FIELDS = { model: 'client-model', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }
const BODY = Buffer.from(JSON.stringify(FIELDS))

export const REQUEST: ParsedRequest = {
  head: {
    model: 'client-model',
    stream: true,
    choices: 1,
    wantsStreamUsage: false,
    input: { textBytes: 2, images: 0, audioBytes: 0, fileBytes: 0, tools: 0 },
  },
  body: BODY,
  value: new BodyValue(BODY, FIELDS),
  headers: {},
  own: undefined,
}

/** A readable envelope. */
export function sealed(carrier: Carrier): string {
  return `slc1.${carrier.kind}.${carrier.value}`
}

export function newClient(): ClientView {
  return {
    request: { model: 'client-model', stream: true, turns: [], tools: [] },
    parsed: REQUEST,
    id: 'X1',
    created: 1_700_000_000,
    inputTokens: 7,
    envelopes: { seal: sealed, open: () => 'foreign' },
    losses: noLosses('messages'),
  }
}

export function read(message: unknown): ModelAnswer {
  const answer = decodeAnswer(message, REQUEST)
  if ('class' in answer) throw new Error(`a failure: ${answer.detail}`)
  return answer
}

/** The message as parsed JSON, and the losses. */
export function write(answer: ModelAnswer): { message: Record<string, unknown>; losses: string[] } {
  const client = newClient()
  const message: Record<string, unknown> = JSON.parse(JSON.stringify(encodeAnswer(answer, client)))
  return { message, losses: client.losses.names }
}

interface Decoded {
  parts: StreamPart[]
  finished: boolean
  done: boolean
  failure: unknown
}

/** Decodes a stream of event data, with each event named after its type. */
export function decodeEvents(events: readonly object[]): Decoded {
  return decodeRaw(events.map((data) => ['type' in data ? String(data.type) : '', JSON.stringify(data)]))
}

export function decodeRaw(events: readonly (readonly [event: string, data: string])[]): Decoded {
  const parts: StreamPart[] = []
  const decoder = new MessagesStreamDecoder((part) => parts.push(part), REQUEST)
  for (const [event, data] of events) decoder.event(event, data)
  decoder.end()
  return { parts, finished: decoder.finished, done: decoder.done, failure: decoder.failure }
}

/** Encodes a stream, taking the text after each part. */
export function encodeParts(parts: readonly StreamPart[]): { text: string; losses: string[] } {
  const client = newClient()
  const encoder = new MessagesStreamEncoder(client)
  const text = parts.map((part) => {
    encoder.part(part)
    return encoder.take()
  })
  return { text: text.join(''), losses: client.losses.names }
}

/** The data of each event in the text of a stream. */
export function dataOf(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)))
}

export const ERROR = new GatewayError('upstream_error', 'Busy.')

/** Events of a messages upstream. */
export const START = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'up',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 50, cache_read_input_tokens: 40, output_tokens: 1 },
  },
}
export const STOP = { type: 'message_stop' }
export const start = (index: unknown, content_block: object) => ({
  type: 'content_block_start',
  index,
  content_block,
})
export const delta = (index: unknown, piece: object) => ({ type: 'content_block_delta', index, delta: piece })
export const stop = (index: unknown) => ({ type: 'content_block_stop', index })
export const text = (index: unknown, piece: string) => delta(index, { type: 'text_delta', text: piece })
export const json = (index: unknown, piece: string) =>
  delta(index, { type: 'input_json_delta', partial_json: piece })
export const end = (stop_reason: unknown, more: object = {}) => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence: null },
  usage: { output_tokens: 30 },
  ...more,
})
export const TEXT = { type: 'text', text: '' }
export const CALL = { type: 'tool_use', id: 'call_9', name: 'f', input: {} }

/** A text part of a stream. */
export const textParts = (id: string, ...texts: string[]): StreamPart[] => [
  { type: 'text-start', id },
  ...texts.map((text): StreamPart => ({ type: 'text-delta', id, text })),
  { type: 'text-end', id },
]
/** A call of a stream, with its input in several deltas. */
export const call = (id: string, ...texts: string[]): StreamPart[] => [
  { type: 'tool-call-start', id, callId: `call_${id}`, name: 'f', kind: 'function' },
  ...texts.map((text): StreamPart => ({ type: 'tool-call-delta', id, text })),
  { type: 'tool-call-end', id },
]
