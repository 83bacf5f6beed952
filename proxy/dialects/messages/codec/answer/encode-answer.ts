/** Writes a whole message for a client. */
import type { ClientView } from '../../../core/codec.ts'
import type { ModelAnswer } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'
import { writePart } from './block-write.ts'
import { writeCounts } from './message-counts.ts'
import { writeFinish } from './stop-reason.ts'

/** Fields that only this vendor's upstreams set. */
export const NOTHING = { container: null, diagnostics: null } satisfies Partial<wire.Message>

export function encodeAnswer(answer: ModelAnswer, client: ClientView): wire.Message {
  return {
    id: `msg_${client.id}`,
    type: 'message',
    role: 'assistant',
    model: client.request.model,
    content: answer.parts.flatMap((part, index) => writePart(part, index, client)),
    ...writeFinish(
      answer.finish,
      answer.parts.some((part) => part.type === 'refusal'),
    ),
    ...NOTHING,
    usage: writeCounts(answer.usage, answer.tier, client),
  }
}
