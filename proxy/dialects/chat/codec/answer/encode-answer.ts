/** Writes a whole answer for a client. */

import { present } from '../../../../../kit/present.ts'
import type { ClientView } from '../../../core/codec.ts'
import { markdownImage } from '../../../core/neutral/media.ts'
import type { TypedField } from '../../../core/neutral/typed-field.ts'
import type { ModelAnswer, ReasoningPart, ToolCallPart } from '../../../core/neutral/types.ts'
import { writeUsage } from '../../usage.ts'
import type * as wire from '../../wire.ts'
import { detailsOf, PARAGRAPH } from '../reasoning.ts'
import { isLegacy } from '../request/tools.ts'
import { writeAnnotation } from './annotations.ts'
import { writeImage } from './answer-parts.ts'
import { writeCall } from './call-body.ts'
import { writeFinish } from './finish.ts'

export function encodeAnswer(answer: ModelAnswer, client: ClientView): object {
  const { request } = client
  const legacy = isLegacy(request)
  const message = encodeMessage(answer, legacy, client)
  const tokens = answer.parts.flatMap((part) => (part.type === 'text' ? (part.logprobs ?? []) : []))
  const logprobs = tokens.length > 0 ? { content: tokens, refusal: null } : null
  return present({
    id: `chatcmpl-${client.id}`,
    object: 'chat.completion',
    created: client.created,
    model: request.model,
    choices: [{ index: 0, message, logprobs, finish_reason: writeFinish(answer.finish, legacy) }],
    usage: answer.usage && writeUsage(answer.usage),
    service_tier: answer.tier,
  } satisfies wire.Completion)
}

function encodeMessage({ parts, finish }: ModelAnswer, legacy: boolean, client: ClientView): wire.Answer {
  const lose = (field: TypedField) => client.losses.lose(field)
  let content: string | null = null
  let refusal: string | null = null
  const annotations: wire.AnyAnnotation[] = []
  const calls: ToolCallPart[] = []
  /** Images for a client that requested JSON, whose text they would make invalid. */
  const images: wire.Image[] = []
  for (const part of parts) {
    switch (part.type) {
      case 'text': {
        const offset = content?.length ?? 0
        for (const annotation of part.annotations ?? []) {
          const written = writeAnnotation(annotation, offset)
          if (written === undefined) lose('annotations')
          else annotations.push(written)
        }
        content = (content ?? '') + part.text
        break
      }
      case 'refusal':
        refusal = (refusal ?? '') + part.text
        break
      case 'tool-call':
        // Without this, clients that ignore the finish reason would run the call with half of its arguments.
        if (part.cut) lose('tools')
        else calls.push(part)
        break
      case 'image': {
        const markdown = markdownImage(part.source, client.request)
        const image = markdown === undefined ? writeImage(part) : undefined
        if (markdown !== undefined)
          content = content === null ? markdown : `${content}${PARAGRAPH}${markdown}`
        else if (image !== undefined) images.push(image)
        else lose('image')
        break
      }
      case 'reasoning':
        break
      default:
        lose(part.type)
    }
  }
  // A client with `functions` takes one call.
  if (legacy && calls.length > 1) lose('tools')
  if (finish.reason === 'content-filter') refusal ??= finish.explanation ?? null
  const [first] = calls
  const thoughts = parts.filter((part) => part.type === 'reasoning')
  return {
    role: 'assistant',
    content,
    refusal,
    reasoning_content: thoughts.flatMap((part) => part.texts).join(PARAGRAPH) || undefined,
    reasoning_details: filled(thoughts.flatMap((part) => encodeDetails(part, client))),
    annotations: filled(annotations),
    images: filled(images),
    // Clients parse empty arguments too.
    function_call: legacy && first ? { name: first.name, arguments: first.input || '{}' } : undefined,
    tool_calls: legacy ? undefined : filled(calls.map((call) => writeCall(call, '{}'))),
  }
}

function encodeDetails({ carrier, texts }: ReasoningPart, { envelopes }: ClientView): wire.Detail[] {
  return carrier === undefined ? [] : detailsOf(carrier, texts.join(PARAGRAPH), envelopes)
}

function filled<T>(list: T[]): T[] | undefined {
  return list.length > 0 ? list : undefined
}
