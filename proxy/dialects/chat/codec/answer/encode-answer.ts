/** Writes a whole answer for a client. */
import type { ClientView } from '../../../core/codec.ts'
import { type Fields, tryParse } from '../../../core/json/value.ts'
import type { TypedField } from '../../../core/neutral/losses.ts'
import { markdownImage } from '../../../core/neutral/media.ts'
import type { AssistantPart, ModelAnswer, ToolCallPart } from '../../../core/neutral/types.ts'
import { writeUsage } from '../../usage.ts'
import { detailsOf, PARAGRAPH } from '../reasoning.ts'
import { isLegacy } from '../request/tools.ts'
import { writeAnnotation } from './annotations.ts'
import { writeImage } from './answer-parts.ts'
import { writeFinish } from './finish.ts'

export function encodeAnswer(answer: ModelAnswer, client: ClientView): object {
  const { request } = client
  const legacy = isLegacy(request)
  const message = encodeMessage(answer, legacy, client)
  const tokens = answer.parts.flatMap((part) => (part.type === 'text' ? (part.logprobs ?? []) : []))
  const choice = {
    index: 0,
    message,
    logprobs: tokens.length > 0 ? { content: tokens, refusal: null } : null,
    finish_reason: writeFinish(answer.finish, legacy),
  }
  return {
    id: `chatcmpl-${client.id}`,
    object: 'chat.completion',
    created: client.created,
    model: request.model,
    choices: [choice],
    ...(answer.usage && { usage: writeUsage(answer.usage) }),
    ...(answer.tier !== undefined && { service_tier: answer.tier }),
  }
}

function encodeMessage({ parts, finish }: ModelAnswer, legacy: boolean, client: ClientView): Fields {
  const lose = (field: TypedField) => client.losses.lose(field)
  let content: string | null = null
  let refusal: string | null = null
  const annotations: Fields[] = []
  const calls: ToolCallPart[] = []
  /** Images for a client that requested JSON, whose text they would make invalid. */
  const images: Fields[] = []
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
  return {
    role: 'assistant',
    content,
    refusal,
    ...encodeThoughts(parts, client),
    ...(annotations.length > 0 && { annotations }),
    ...(images.length > 0 && { images }),
    ...encodeCalls(calls, legacy),
  }
}

function encodeThoughts(parts: AssistantPart[], client: ClientView): Fields {
  const thoughts = parts.filter((part) => part.type === 'reasoning')
  const text = thoughts.flatMap((part) => part.texts).join(PARAGRAPH)
  const details = thoughts.flatMap(({ carrier, texts }) =>
    carrier === undefined ? [] : detailsOf(carrier, texts.join(PARAGRAPH), client.envelopes),
  )
  return {
    ...(text !== '' && { reasoning_content: text }),
    ...(details.length > 0 && { reasoning_details: details }),
  }
}

function encodeCalls(calls: ToolCallPart[], legacy: boolean): Fields {
  const [first] = calls
  if (first === undefined) return {}
  if (legacy) return { function_call: { name: first.name, arguments: first.input || '{}' } }
  return {
    tool_calls: calls.map(({ callId, name, kind, input, carrier }) => {
      // Clients parse empty arguments too.
      const body = kind === 'function' ? { name, arguments: input || '{}' } : { name, input }
      const extra = carrier?.kind === 'extra_content' ? tryParse(carrier.value) : undefined
      return { id: callId, type: kind, [kind]: body, ...(extra !== undefined && { extra_content: extra }) }
    }),
  }
}
