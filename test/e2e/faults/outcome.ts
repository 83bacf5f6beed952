/** Judges how an answer ended, as a strict client of its dialect would. */
import assert from 'node:assert/strict'
import { isRecord, tryParse } from '../../../proxy/dialects/core/json/value.ts'
import { sumStream } from '../../conformance/dialects/loose.ts'
import { specEvents } from '../../conformance/dialects/sse.ts'
import { readStrictly } from '../../conformance/dialects/strict.ts'
import { assertComplete } from '../../conformance/dialects/strict-responses.ts'
import { type View, viewOf } from '../../conformance/dialects/views.ts'
import type { DialectName } from '../../fixtures/faults/index.ts'
import type { Answer } from '../../harness/http.ts'

export type Outcome =
  /** An error status. */
  | { kind: 'refused'; status: number; code: string }
  /** A stream that ends with an error event. */
  | { kind: 'broken'; code: string }
  /** Byte lane: upstream bytes that the client cannot parse. */
  | { kind: 'unreadable' }
  | { kind: 'answer'; view: View }

export interface Expected {
  dialect: DialectName
  stream: boolean
  /** True on the byte lane, where the gateway is not responsible for the upstream's quirks. */
  bytes: boolean
}

/** The content that a lenient client reads from an answer that looks complete. */
export function readLeniently({ text }: Answer, { dialect, stream }: Expected): View | undefined {
  if (!stream) return viewOf(dialect, tryParse(text))
  const { answer, end } = sumStream(dialect, text)
  return end === 'complete' ? viewOf(dialect, answer) : undefined
}

/** Throws if the answer is neither a valid error of the dialect nor complete. */
export function outcomeOf({ status, headers, text }: Answer, { dialect, stream, bytes }: Expected): Outcome {
  if (status !== 200) {
    assert.equal(headers['content-type'], 'application/json')
    return { kind: 'refused', status, code: errorCode(dialect, tryParse(text)) }
  }
  if (!stream) {
    assert.equal(headers['content-type'], 'application/json')
    const value = tryParse(text)
    assert(isRecord(value), 'the answer is not JSON')
    if (!bytes) checkComplete(dialect, value)
    return { kind: 'answer', view: viewOf(dialect, value) }
  }
  assert.match(String(headers['content-type']), /^text\/event-stream/)
  return outcomeOfStream(dialect, text, bytes)
}

function outcomeOfStream(dialect: DialectName, text: string, bytes: boolean): Outcome {
  const events = specEvents(text)
  const last = tryParse(events.at(-1)?.data ?? '')
  const code = isRecord(last) ? eventError(dialect, last) : undefined
  if (code !== undefined) {
    const before = events.slice(0, -1)
    assert(!before.some(({ data }) => isTerminal(data)), 'an error after the end')
    if (!bytes) for (const { data } of before) assert(isRecord(tryParse(data)), `not JSON: ${data}`)
    if (!bytes) checkUntilError(dialect, text, last)
    return { kind: 'broken', code }
  }
  if (!bytes) {
    // The request asked for usage, but the upstream may not report any.
    const usage = text.includes('"choices":[]') ? 'yes' : 'unknown'
    return { kind: 'answer', view: viewOf(dialect, readStrictly(dialect, text, usage)) }
  }
  if (events.some(({ data }) => data !== '[DONE]' && tryParse(data) === undefined))
    return { kind: 'unreadable' }
  const { answer, end } = sumStream(dialect, text)
  assert.equal(end, 'complete', `a stream that is ${end}`)
  assert(isTerminal(events.at(-1)?.data ?? ''), 'events after the end')
  return { kind: 'answer', view: viewOf(dialect, answer) }
}

/** Asserts that a strict client accepts everything before the error. */
function checkUntilError(dialect: DialectName, text: string, last: unknown): void {
  if (dialect === 'responses') {
    if (isRecord(last) && last.type === 'response.failed') readStrictly(dialect, text)
    return
  }
  const whole = dialect === 'chat' ? `${text}data: [DONE]\n\n` : text
  assert.throws(
    () => readStrictly(dialect, whole, 'unknown'),
    /^AssertionError.*: (?:an error event|unexpected event error|error before message_start|error after message_delta)/,
  )
}

function isTerminal(data: string): boolean {
  if (data === '[DONE]') return true
  const value = tryParse(data)
  const type = isRecord(value) ? value.type : undefined
  return type === 'message_stop' || type === 'response.completed' || type === 'response.incomplete'
}

/** The code of an error event; undefined for other events. */
function eventError(dialect: DialectName, event: Record<string, unknown>): string | undefined {
  if (dialect !== 'responses') {
    return event.error === undefined ? undefined : errorCode(dialect, event)
  }
  const error = isRecord(event.response) ? event.response.error : event
  if (event.type !== 'error' && event.type !== 'response.failed') return undefined
  assert(isRecord(error) && typeof error.code === 'string' && typeof error.message === 'string')
  assert.equal(typeof event.sequence_number, 'number')
  return error.code
}

/** The code in an error body of the dialect. Throws if the body is not one. */
export function errorCode(dialect: DialectName, body: unknown): string {
  assert(isRecord(body) && isRecord(body.error), 'not an error body')
  const { message, type, code } = body.error
  assert(typeof message === 'string' && /^\S.*\S$/.test(message), 'message of an error')
  assert(typeof type === 'string' && typeof code === 'string', 'type and code of an error')
  if (dialect === 'messages') {
    assert.equal(body.type, 'error')
    assert.equal(typeof body.request_id, 'string')
  } else assert('param' in body.error, 'param of an error')
  return code
}

/** Asserts that an answer has the fields that the SDKs' types require. */
function checkComplete(dialect: DialectName, answer: Record<string, unknown>): void {
  if (dialect === 'responses') {
    assertComplete(answer)
    assert(Array.isArray(answer.output))
    for (const item of answer.output) assert(isRecord(item) && typeof item.type === 'string')
    return
  }
  assert.equal(typeof answer.id, 'string')
  assert.equal(typeof answer.model, 'string')
  if (dialect === 'messages') {
    assert.deepEqual([answer.type, answer.role], ['message', 'assistant'])
    assert(Array.isArray(answer.content) && typeof answer.stop_reason === 'string')
    for (const block of answer.content) {
      assert(isRecord(block))
      if (block.type === 'text') assert.equal(typeof block.text, 'string')
      if (block.type === 'tool_use') {
        assert(isRecord(block.input) && block.id && block.name, 'a call that no client can run')
      }
    }
    const { usage } = answer
    assert(isRecord(usage) && Number.isInteger(usage.input_tokens) && Number.isInteger(usage.output_tokens))
    return
  }
  assert(Array.isArray(answer.choices) && answer.choices.length === 1)
  const [choice] = answer.choices
  assert(isRecord(choice) && isRecord(choice.message) && typeof choice.finish_reason === 'string')
  assert.equal(choice.message.role, 'assistant')
  const { content } = choice.message
  assert(content === null || typeof content === 'string', 'content')
}
