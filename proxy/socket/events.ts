/** The messages that the gateway sends: the events of a responses stream, and errors in the form with a status. */

import { isRecord } from '../dialects/core/json/value.ts'
import { sseEvents } from '../dialects/core/sse/events.ts'
import { CATALOGUE, type ErrorCode, GatewayError } from '../errors.ts'
import type { StreamName } from './frames.ts'

/** One message of an answer. */
interface AnswerFrame {
  text: string
  /** The message is an error that ended the answer. */
  error: boolean
}

const FAILED = 'response.failed'

/** Turns whole Server-Sent Events into messages. */
export function framesOf(events: Buffer, stream: StreamName): AnswerFrame[] {
  return sseEvents(events).flatMap(({ event, data }): AnswerFrame[] => {
    if (event === 'error') return [{ text: errorFrame(errorOf(data), stream), error: true }]
    const text = named(data, stream)
    return text === undefined ? [] : [{ text, error: event === FAILED }]
  })
}

/**
 * An error with a numeric status. Without the status, or in the flat form of Server-Sent Events, codex waits until its
 * idle time-out.
 */
export function errorFrame(error: GatewayError, stream: StreamName): string {
  const { code, entry, message, param, status, retryAfterSeconds: wait } = error
  return JSON.stringify({
    type: 'error',
    status,
    ...(stream !== undefined && { stream_id: stream }),
    error: {
      type: entry.openaiType,
      code,
      message,
      param: param ?? null,
      ...(wait !== undefined && { headers: { 'retry-after': String(Math.ceil(wait)) } }),
    },
  })
}

/** The answer to a steer, with the input that the client sent. */
export function steerFailedFrame(previous: unknown, input: unknown, stream: StreamName): string {
  const { code, message, entry } = new GatewayError(
    'steering_not_supported',
    'A running response cannot be steered; send response.create when it has ended.',
  )
  return JSON.stringify({
    type: 'response.steer.failed',
    sequence_number: 0,
    ...(stream !== undefined && { stream_id: stream }),
    error: { type: entry.openaiType, code, message },
    steer: { previous_response_id: previous ?? null, input: input ?? null },
  })
}

/** The event with the name of its stream; undefined when it is not an object, like the `[DONE]` of some upstreams. */
function named(data: string, stream: StreamName): string | undefined {
  const [open, close] = /^\s*\{\s*(\}?)/.exec(data) ?? []
  if (open === undefined) return undefined
  if (stream === undefined) return data
  const member = `"stream_id":${JSON.stringify(stream)}`
  return close === '}' ? `{${member}}` : `{${member},${data.slice(open.length)}`
}

/** Reads the flat error event, which has a code but no status. The pipeline writes it, so its text is safe to show. */
function errorOf(data: string): GatewayError {
  const { code, message, param } = fieldsOf(data)
  return new GatewayError(
    isCode(code) ? code : 'upstream_error',
    typeof message === 'string' ? message : 'The answer was broken off.',
    typeof param === 'string' ? { param } : {},
  )
}

function fieldsOf(data: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(data)
    return isRecord(value) ? value : {}
  } catch {
    return {}
  }
}

function isCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(CATALOGUE, code)
}
