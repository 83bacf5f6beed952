/** What an upstream can do, as the spec of a Channel and the records describe it. */
import { z } from 'zod'

/** Reasoning effort levels, weakest first. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

/**
 * How requests ask for reasoning. None: the model does not reason. Effort: an effort level. Budget: messages'
 * `thinking.budget_tokens`, for older models. Adaptive: messages' `thinking: adaptive` with an effort level.
 */
const REASONINGS = ['None', 'Effort', 'Budget', 'Adaptive'] as const

/** Which reasoning of earlier turns a chat upstream accepts as `reasoning_content`. */
const REASONING_HISTORIES = ['None', 'CurrentTurn', 'All'] as const

const feature = (description: string) => z.boolean().meta({ description })

export const features = z.object({
  streamUsage: feature('Reports usage in a stream when stream_options.include_usage is set (chat).'),
  finishReason: feature(
    'Ends every choice of a stream with a finish_reason (chat). Set it to false only for an upstream that never ' +
      'does; [DONE] then ends an answer.',
  ),
  embeddings: feature('Also serves /embeddings (chat, responses).'),
  images: feature(
    'Also serves /images/generations and /images/edits (chat, responses). Without it, responses channels generate ' +
      'images with the tool image_generation.',
  ),
  maxCompletionTokens: feature('Expects max_completion_tokens instead of max_tokens (chat).'),
  developerRole: feature('Expects instructions in the role developer instead of system (chat, responses).'),
  sampling: feature('Accepts temperature, top_p and (messages) top_k.'),
  reasoning: z.enum(REASONINGS).meta({
    description:
      'How requests ask for reasoning. None: the models do not reason. Effort: with an effort level. Budget: with ' +
      'thinking.budget_tokens, for older models (messages). Adaptive: with thinking adaptive and an effort level ' +
      '(messages).',
  }),
  efforts: z.array(z.enum(EFFORTS)).min(1).max(EFFORTS.length).meta({
    description:
      'Effort levels of the models; others are mapped to the nearest. With none, reasoning can be switched off.',
  }),
  reasoningHistory: z.enum(REASONING_HISTORIES).meta({
    description:
      'Which reasoning of earlier turns is sent back as reasoning_content (chat): none, that of the current ' +
      'turn, or all.',
  }),
  structuredOutput: feature('Can force an answer to match a JSON Schema.'),
  customTools: feature('Accepts custom tools (chat, responses). Without it, they are wrapped in functions.'),
  webSearch: feature('Has web search as a hosted tool of its API.'),
  systemTurns: feature(
    'Accepts system messages in the middle of a conversation (messages). Without it, they become user text.',
  ),
  prefill: feature('Continues an assistant message at the end (messages).'),
  cacheMarks: feature('Accepts cache markers: prompt_cache_breakpoint, cache_control.'),
  nullContent: feature(
    'Accepts null as the content of an assistant message with tool calls (chat). Without it, an empty text is sent.',
  ),
  speed: feature('Accepts speed: fast (messages).'),
  compaction: feature(
    'Compacts conversations itself, with /responses/compact and compaction_trigger (responses). Without it, the ' +
      'gateway asks for a summary.',
  ),
})
export type Features = z.output<typeof features>
