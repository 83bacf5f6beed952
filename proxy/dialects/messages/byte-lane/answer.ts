/** Reads whole messages, and converts them to streams for upstreams that ignore `stream: true`. */
import type { Delivered } from '../../../../contract/sizes.ts'
import { present } from '../../../../kit/present.ts'
import type { UpstreamFailure } from '../../../errors.ts'
import type { Answer } from '../../core/byte-lane.ts'
import { errorInAnswer } from '../../core/errors/read.ts'
import { badAnswer } from '../../core/errors/unreadable.ts'
import { type Fields, isRecord, listOf, tryParse, unlessTooDeep } from '../../core/json/value.ts'
import { addText } from '../../core/neutral/delivered.ts'
import type { ParsedRequest } from '../../core/request.ts'
import { eventText } from '../event.ts'
import { readTier, readUsage } from '../usage.ts'
import type * as wire from '../wire.ts'

/** The fields of a start that deltas complete. */
const NO_OUTPUT = { output_tokens: 0 } satisfies Partial<wire.Usage>
const NO_TEXT = { text: '' } satisfies Partial<wire.TextBlock>
const NO_THINKING = { thinking: '', signature: '' } satisfies Partial<wire.ThinkingBlock>

export function readAnswer(
  body: Buffer,
  request: ParsedRequest,
  asStream: boolean,
): Answer | UpstreamFailure {
  const value = tryParse(body.toString('utf8'))
  if (isRecord(value) && (value.error || value.type === 'error')) return errorInAnswer(value, request)
  if (!isRecord(value) || !Array.isArray(value.content)) return badAnswer('no_answer')
  const blocks = value.content.filter(isRecord)
  const answer = unlessTooDeep(() => ({
    body: asStream ? toStream(value, blocks) : body,
    ...present({ usage: readUsage(value.usage), tier: readTier(value.usage) }),
    delivered: countBlocks(blocks),
  }))
  return answer ?? badAnswer('answer_too_deep')
}

function countBlocks(blocks: Fields[]): Delivered {
  const delivered: Delivered = { deltas: 0, bytes: 0 }
  for (const block of blocks) {
    addText(delivered, block.text)
    addText(delivered, block.thinking)
    if (isRecord(block.input)) addText(delivered, JSON.stringify(block.input))
  }
  return delivered
}

/** The message as a stream. The deltas of each block add up to it. */
function toStream(message: Fields, blocks: Fields[]): Buffer {
  const { content: _content, stop_reason, stop_sequence = null, usage, ...head } = message
  const { stop_details, container, context_management, ...start } = head
  const events: wire.PassedEvent[] = [
    {
      type: 'message_start',
      message: {
        type: 'message',
        role: 'assistant',
        ...start,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: isRecord(usage) ? { ...usage, ...NO_OUTPUT } : undefined,
      },
    },
  ]
  blocks.forEach((block, index) => {
    const { skeleton, deltas } = dismantle(block)
    events.push({ type: 'content_block_start', index, content_block: skeleton })
    for (const delta of deltas) events.push({ type: 'content_block_delta', index, delta })
    events.push({ type: 'content_block_stop', index })
  })
  events.push({
    type: 'message_delta',
    delta: {
      stop_reason: stop_reason ?? 'end_turn',
      stop_sequence,
      stop_details,
      container,
    },
    usage,
    context_management,
  })
  events.push({ type: 'message_stop' })
  return Buffer.from(events.map(eventText).join(''))
}

/** Splits a block into its start and its deltas. A block whose type has no deltas starts whole. */
function dismantle(block: Fields): { skeleton: Fields; deltas: wire.Delta[] } {
  const deltas: wire.Delta[] = []
  if (typeof block.text === 'string' && block.type === 'text') {
    const { citations, ...rest } = block
    if (block.text !== '') deltas.push({ type: 'text_delta', text: block.text })
    for (const citation of listOf(citations)) deltas.push({ type: 'citations_delta', citation })
    return { skeleton: { ...rest, ...NO_TEXT, ...(citations === null && { citations }) }, deltas }
  }
  if (typeof block.thinking === 'string' && block.type === 'thinking') {
    const { thinking, signature } = block
    if (thinking !== '') deltas.push({ type: 'thinking_delta', thinking })
    if (typeof signature === 'string') deltas.push({ type: 'signature_delta', signature })
    return { skeleton: { ...block, ...NO_THINKING }, deltas }
  }
  if (isRecord(block.input) && String(block.type).endsWith('tool_use')) {
    deltas.push({ type: 'input_json_delta', partial_json: JSON.stringify(block.input) })
    return { skeleton: { ...block, input: {} } satisfies Pick<wire.ToolUseBlock, 'input'>, deltas }
  }
  return { skeleton: block, deltas }
}
