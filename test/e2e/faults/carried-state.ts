/** Answers with vendor state, and conversations that return it. */
import assert from 'node:assert/strict'
import { isRecord } from '../../../proxy/dialects/core/json/value.ts'
import { type DialectName, UPSTREAM_FIXTURES } from '../../fixtures/faults/index.ts'
import { requestOf } from './bench.ts'

type Json = Record<string, unknown>

/** Readable only by the upstream that made it. */
export const STATE = 'vendor-state-0123456789'

/** Answers with reasoning that carries vendor state, and a text. */
export const THINKING: Record<'responses' | 'messages', object> = {
  responses: {
    ...UPSTREAM_FIXTURES.responses.whole(),
    output: [
      {
        id: 'rs_1',
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'T' }],
        encrypted_content: STATE,
      },
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Hi', annotations: [], logprobs: [] }],
      },
    ],
  },
  messages: {
    ...UPSTREAM_FIXTURES.messages.whole(),
    content: [
      { type: 'thinking', thinking: 'T', signature: STATE },
      { type: 'text', text: 'Hi' },
    ],
  },
}

/** A second turn that contains the first answer as the client received it. */
export function nextTurn(client: DialectName, first: Json, streamed: boolean): Json {
  const plain: Json = { ...requestOf(client, streamed) }
  const user = { role: 'user', content: 'Go on' }
  if (client === 'responses') {
    assert(Array.isArray(first.output))
    return { ...plain, input: [{ role: 'user', content: 'Hello' }, ...first.output, user] }
  }
  const answer =
    client === 'messages'
      ? { role: 'assistant', content: first.content }
      : Array.isArray(first.choices) && isRecord(first.choices[0])
        ? first.choices[0].message
        : undefined
  return { ...plain, messages: [{ role: 'user', content: 'Hello' }, answer, user] }
}
