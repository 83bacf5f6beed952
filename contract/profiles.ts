/**
 * What an upstream can do, beyond its type. A Channel names a profile and may override single features; a route may
 * name another profile for a model. Code depends on features, never on a model's name.
 */
import { z } from 'zod'
import type { ChannelType } from './api/channel.ts'
import { CHANNEL_TYPE_FACTS } from './channel-types.ts'

export const PROFILES = ['generic', 'openai', 'openai-reasoning', 'anthropic', 'anthropic-adaptive'] as const
export type Profile = (typeof PROFILES)[number]

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

/** What an upstream can do, as the spec of a Channel and the records describe it. */
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

const GENERIC: Features = {
  streamUsage: true,
  finishReason: true,
  embeddings: true,
  images: true,
  maxCompletionTokens: false,
  developerRole: false,
  sampling: true,
  reasoning: 'Effort',
  efforts: [...EFFORTS],
  reasoningHistory: 'CurrentTurn',
  structuredOutput: true,
  customTools: false,
  webSearch: false,
  systemTurns: false,
  prefill: false,
  cacheMarks: false,
  nullContent: true,
  speed: false,
  compaction: false,
}

const OPENAI: Partial<Features> = {
  maxCompletionTokens: true,
  reasoning: 'None',
  reasoningHistory: 'None',
  customTools: true,
}
const ANTHROPIC: Partial<Features> = { embeddings: false, images: false, webSearch: true, cacheMarks: true }

const OF_PROFILE: Record<Profile, Partial<Features>> = {
  generic: {},
  openai: OPENAI,
  'openai-reasoning': { ...OPENAI, reasoning: 'Effort', developerRole: true, sampling: false },
  anthropic: {
    ...ANTHROPIC,
    sampling: true,
    prefill: true,
    reasoning: 'Budget',
    efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
  },
  'anthropic-adaptive': {
    ...ANTHROPIC,
    sampling: false,
    prefill: false,
    systemTurns: true,
    reasoning: 'Adaptive',
    efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
  },
}

/** Single features that replace those of a profile. */
export type Overrides = { [K in keyof Features]?: Features[K] | undefined }

/** The features of a channel of this type with this profile (default generic) and these overrides. */
export function featuresOf(
  type: ChannelType,
  profile: Profile | undefined,
  overrides: Overrides = {},
): Features {
  const features = { ...GENERIC, ...CHANNEL_TYPE_FACTS[type].features, ...OF_PROFILE[profile ?? 'generic'] }
  const set = Object.entries(overrides).filter(([, value]) => value !== undefined)
  return Object.assign(features, Object.fromEntries(set))
}
