/** Writes a whole message for a client. */
import type { ClientView } from '../../../core/codec.ts'
import type { ModelAnswer } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'
import { writePart } from './block-write.ts'
import { writeCounts } from './message-counts.ts'
import { writeFinish } from './stop-reason.ts'

export function encodeAnswer(answer: ModelAnswer, client: ClientView): wire.Message {
  const content = answer.parts.flatMap((part, index) => writePart(part, index, client))
  const refused = answer.parts.some((part) => part.type === 'refusal')
  return messageOf(content, writeFinish(answer.finish, refused), writeCounts(answer, client), client)
}

/** Only this vendor's upstreams set `container` and `diagnostics`. */
export function messageOf(
  content: wire.Block[],
  stop: wire.Stop,
  usage: wire.Usage,
  { id, request: { model } }: ClientView,
): wire.Message {
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content,
    ...stop,
    container: null,
    diagnostics: null,
    usage,
  }
}
