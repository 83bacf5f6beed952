/** Helpers for the tests of streams. */
import { expect } from 'vitest'
import type { StreamPart } from '../../../core/neutral/types.ts'
import { sseEvents } from '../../../core/sse/events.ts'
import { chat } from '../../index.ts'
import { chunk, clientOf } from '../testing.ts'

export const HELLO = chunk({ role: 'assistant', content: '' })
export const STOP = chunk({}, 'stop')
export const DONE = '[DONE]'
export const types = (parts: StreamPart[]) => parts.map((part) => part.type).join(' ')

/** The events that a client gets for these parts, and the losses. */
export function encodeParts(parts: StreamPart[], fields: object = {}) {
  const client = clientOf({ stream: true, ...fields })
  const encoder = chat.codec.encodeStream(client)
  for (const part of parts) encoder.part(part)
  const bytes = encoder.take()
  expect(encoder.take()).toBe('')
  const data = [...sseEvents(Buffer.from(bytes))].map((event) => event.data)
  return {
    bytes,
    data,
    chunks: data.filter((d) => d !== DONE).map((d) => JSON.parse(d)),
    losses: client.losses.names,
  }
}
